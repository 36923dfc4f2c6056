//! The oracle: the whole decision, naive.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::inputs::{DecisionInputs, DecisionRule, SmallId};

/// The whole decision, from top to bottom. Returns the stage that denies.
#[expect(clippy::too_many_lines, reason = "its worth is that it is read in one piece")]
pub(super) fn naive_decision(w: &DecisionInputs) -> Result<(), &'static str> {
    let installed = w.tool.starts_with("files.");
    if w.request != w.tool {
        return Err("known");
    }
    if !w.enabled || (installed && !w.server_enabled) {
        return Err("enabled");
    }
    if w.changed {
        return Err("review");
    }
    let listed: &[&str] = match w.caller {
        "sandbox" => &["artifact.put"],
        "pa" => &["db.task.get", "db.finding.create"],
        _ => &[
            "db.task.get",
            "db.task.create",
            "db.finding.create",
            "artifact.put",
            "node.list",
            "sandbox.allowed_images.add",
        ],
    };
    if !installed && !listed.contains(&w.tool) {
        return Err("allowlist");
    }
    let side = if w.caller == "sandbox" { "sandbox" } else { "pm" };
    if w.scope != "both" && w.scope != side {
        return Err("scope");
    }
    if w.tool == "sandbox.allowed_images.add" && w.setting != Some(Value::Bool(true)) {
        return Err("setting");
    }
    // A call that no arguments could make allowed is denied before they are parsed.
    let bound = (w.bound_task, w.bound_project);
    let is_denied = |rule: &DecisionRule| !rule.allows && rule_covers(w, rule, bound);
    let could_allow = |rule: &DecisionRule| {
        let may_name = !installed;
        let named = match rule.subject {
            ("task", id) if may_name && w.bound_task.is_none() => (Some(id), w.bound_project),
            ("project", id) if may_name && w.bound_project.is_none() => (w.bound_task, Some(id)),
            _ => bound,
        };
        rule.allows && rule_covers(w, rule, named)
    };
    if w.rules.iter().any(is_denied) || !w.rules.iter().any(could_allow) {
        return Err("rules");
    }
    let argument =
        |name: &str| w.arguments.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    // The schema of every tool in this test: a required text, and nothing unknown.
    if !argument("text").is_some_and(Value::is_string) || argument("extra").is_some() {
        return Err("arguments");
    }
    let (mut task, mut project) = (w.bound_task, w.bound_project);
    if !installed {
        let mut ids = BTreeMap::new();
        for name in ["task_id", "job_id", "run_id", "project_id"] {
            match argument(name) {
                None => {}
                Some(value) => match value.as_str().and_then(|text| text.parse::<Uuid>().ok()) {
                    Some(id) => {
                        ids.insert(name, id.as_u128());
                    }
                    None => return Err("context"),
                },
            }
        }
        let bindings = [
            ("task_id", w.bound_task),
            ("job_id", w.bound_job),
            ("run_id", w.bound_run),
            ("project_id", w.bound_project),
        ];
        for (name, bound) in bindings {
            if bound.is_some() && ids.contains_key(name) && ids.get(name).copied() != bound {
                return Err("context");
            }
        }
        if let Some(given) = ids.get("project_id") {
            if w.bound_project.is_none() && !w.projects.contains(given) {
                return Err("context");
            }
            project = Some(*given);
        }
        if let Some(given) = ids.get("task_id") {
            if w.bound_task.is_none() {
                let Some(its_project) = w.tasks.get(given) else { return Err("context") };
                if project.is_some_and(|project| project != *its_project) {
                    return Err("context");
                }
                project = Some(*its_project);
            }
            task = Some(*given);
        }
        for (name, bound, known) in
            [("job_id", w.bound_job, &w.jobs), ("run_id", w.bound_run, &w.runs)]
        {
            let Some(given) = ids.get(name) else { continue };
            let is_own =
                bound == Some(*given) && (!ids.contains_key("task_id") || w.bound_task.is_some());
            if !is_own {
                let Some(its_task) = known.get(given) else { return Err("context") };
                let Some(its_project) = w.tasks.get(its_task) else { return Err("context") };
                if task.is_some_and(|task| task != *its_task)
                    || project.is_some_and(|project| project != *its_project)
                {
                    return Err("context");
                }
                (task, project) = (Some(*its_task), Some(*its_project));
            }
        }
    }
    let covering: Vec<_> =
        w.rules.iter().filter(|rule| rule_covers(w, rule, (task, project))).collect();
    if covering.is_empty() || covering.iter().any(|rule| !rule.allows) {
        return Err("rules");
    }
    Ok(())
}

/// Whether a rule matches a call for this task and project.
fn rule_covers(
    w: &DecisionInputs,
    rule: &DecisionRule,
    (task, project): (Option<SmallId>, Option<SmallId>),
) -> bool {
    let subject = match rule.subject {
        ("system", _) => true,
        ("user", id) => w.user == id,
        ("group", id) => w.group == Some(id),
        ("project", id) => project == Some(id),
        ("task", id) => task == Some(id),
        (agent, _) => w.caller == agent,
    };
    let pattern = match rule.pattern.strip_suffix('*') {
        Some(prefix) => w.tool.starts_with(prefix),
        None => w.tool == rule.pattern,
    };
    subject
        && pattern
        && (rule.only.is_empty() || rule.only.contains(&w.caller))
        && rule.action == "mcp.tool.invoke"
        && rule.kind == "mcp.tool"
}
