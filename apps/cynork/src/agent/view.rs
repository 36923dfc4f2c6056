//! Agent profiles as people see them.

use cynode_wire::agent_jobs::AgentProgramSpec;
use cynode_wire::agent_profiles::{
    AgentProfileView, CanaryCheck, CanaryOutcome, CanaryStatus, NodeCanaryView,
};
use serde_json::{Value, json};

use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

pub(super) fn render_profiles(profiles: &[AgentProfileView], ctx: RenderContext) -> String {
    let rows = profiles.iter().map(|profile| {
        vec![
            profile.name.to_string(),
            profile.revision.to_string(),
            format_program(&profile.program),
            format_nodes(&profile.nodes),
            profile.description.clone(),
        ]
    });
    table::render_table(
        &["PROFILE", "REVISION", "PROGRAM", "CANARY RUNS", "DESCRIPTION"],
        rows,
        ctx,
    )
}

pub(super) fn render_profile(profile: &AgentProfileView, ctx: RenderContext) -> String {
    let env = profile.program.env().iter().map(|(name, value)| format!("{name}={value}"));
    let (mode, model) = match &profile.program {
        AgentProgramSpec::Acp { mode, model, .. } => (mode.clone(), model.clone()),
        AgentProgramSpec::Command { .. } => (None, None),
    };
    let canaries: Vec<_> =
        profile.nodes.iter().map(|node| render_canary(node, ctx).join("\n")).collect();
    let pairs = [
        ("profile", Some(profile.name.to_string())),
        ("revision", Some(profile.revision.to_string())),
        ("description", Some(profile.description.clone())),
        ("program", Some(format_program(&profile.program))),
        ("environment", Some(env.collect::<Vec<_>>().join("\n"))),
        ("mode", mode),
        ("model", model),
        ("permissions", format_permissions(&profile.program)),
        ("hosts", Some(profile.hosts.join("\n"))),
        ("canary runs", Some(canaries.join("\n"))),
        ("changed", Some(relative_time::format_relative(ctx.now, profile.updated_at))),
    ];
    table::render_pairs(&pairs, ctx)
}

/// Whether no node may run the profile yet.
pub(super) fn needs_canary(profile: &AgentProfileView) -> bool {
    profile.nodes.iter().all(|node| node.status != CanaryStatus::Passed)
}

/// The canary run on a node: its outcome, and one line for each check.
pub(super) fn render_canary(node: &NodeCanaryView, ctx: RenderContext) -> Vec<String> {
    let mut head = format!("{}: {}", node.node, describe_status(node.status));
    if let Some(agent) = &node.agent {
        head = format!("{head}, {agent}");
    }
    if let Some(when) = node.reported_at {
        head = format!("{head}, {}", relative_time::format_relative(ctx.now, when));
    }
    let mut lines = vec![table::sanitize(&head)];
    lines.extend(node.checks.iter().map(render_check));
    lines
}

fn render_check(check: &CanaryCheck) -> String {
    let mark = match check.outcome {
        CanaryOutcome::Passed => '✓',
        CanaryOutcome::Failed => '✗',
        CanaryOutcome::NotApplicable => '–',
    };
    let (kind, detail) = (word(&json!(check.kind)), check.detail.trim());
    let line = if detail.is_empty() { kind } else { format!("{kind}: {detail}") };
    format!("  {mark} {}", table::sanitize(&line))
}

const fn describe_status(status: CanaryStatus) -> &'static str {
    match status {
        CanaryStatus::Passed => "passed",
        CanaryStatus::Failed => "failed",
        CanaryStatus::NotRun => "not run",
        CanaryStatus::NotSupported => "not supported",
    }
}

/// The names of the nodes by outcome, without those that cannot run profiles.
fn format_nodes(nodes: &[NodeCanaryView]) -> String {
    let shown = [CanaryStatus::Passed, CanaryStatus::Failed, CanaryStatus::NotRun];
    let parts = shown.into_iter().filter_map(|status| {
        let names = nodes.iter().filter(|node| node.status == status);
        let names: Vec<&str> = names.map(|node| node.node.as_str()).collect();
        (!names.is_empty()).then(|| format!("{}: {}", describe_status(status), names.join(", ")))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { "no node can run it".to_owned() } else { parts.join("; ") }
}

fn format_program(program: &AgentProgramSpec) -> String {
    let kind = match program {
        AgentProgramSpec::Acp { .. } => "acp",
        AgentProgramSpec::Command { .. } => "command",
    };
    let words = program.command().iter().map(|word| {
        let quoted = shlex::try_quote(word).unwrap_or(std::borrow::Cow::Borrowed(word));
        // Placeholders read better without quotes.
        if word.starts_with('{') && word.ends_with('}') {
            word.clone()
        } else {
            quoted.into_owned()
        }
    });
    format!("{kind}: {}", words.collect::<Vec<_>>().join(" "))
}

fn format_permissions(program: &AgentProgramSpec) -> Option<String> {
    let AgentProgramSpec::Acp { permissions, .. } = program else { return None };
    let kinds = permissions.kinds.iter();
    let mut rules: Vec<_> = kinds
        .map(|(kind, answer)| format!("{}={}", word(&json!(kind)), word(&json!(answer))))
        .collect();
    rules.push(format!("default={}", word(&json!(permissions.default))));
    Some(rules.join(" "))
}

/// A word as it is in JSON.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
