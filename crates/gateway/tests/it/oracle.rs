//! A second opinion: the whole decision once more, naive, over plain data, compared with the
//! gateway's on random worlds.

use std::collections::BTreeMap;
use std::sync::Arc;

use cynode_domain::ids::{GroupId, JobId, ProjectId, RuleId, RunId, ServerId, TaskId, UserId};
use cynode_domain::policy::rules::{Conditions, Rule, Subject};
use cynode_domain::policy::{AgentType, Effect, Principal, ToolScope};
use cynode_gateway::snapshot::{ServerRow, ToolRow, World};
use cynode_gateway::{Gateway, GatewayOptions, Parts};
use cynode_runtime::clock::SystemClock;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::backend::{FakeBackend, identity};
use crate::harness::services;
use crate::upstream::FakeUpstreams;

/// Ids are small numbers here: 0 is one thing, 1 another of its kind.
type Small = u128;

const NAMES: [&str; 8] = [
    "db.task.get",
    "db.task.create",
    "db.finding.create",
    "artifact.put",
    "node.list",
    "sandbox.allowed_images.add",
    "shell.exec",
    "files.read",
];
const SETTING: &str = "agents.project_manager.sandbox.allow_add_to_allowed_images";

/// One rule, as plain data.
#[derive(Debug, Clone)]
struct PlainRule {
    subject: (&'static str, Small),
    action: &'static str,
    kind: &'static str,
    pattern: &'static str,
    allows: bool,
    priority: i64,
    only: Vec<&'static str>,
}

/// Everything a decision can depend on, as plain data.
#[derive(Debug, Clone)]
struct Plain {
    caller: &'static str,
    user: Small,
    group: Option<Small>,
    bound_task: Option<Small>,
    bound_job: Option<Small>,
    bound_run: Option<Small>,
    bound_project: Option<Small>,
    asked: &'static str,
    tool: &'static str,
    enabled: bool,
    changed: bool,
    scope: &'static str,
    server_enabled: bool,
    setting: Option<Value>,
    arguments: Vec<(&'static str, Value)>,
    /// The project of each visible task.
    tasks: BTreeMap<Small, Small>,
    /// The task of each job.
    jobs: BTreeMap<Small, Small>,
    projects: Vec<Small>,
    rules: Vec<PlainRule>,
}

/// The whole decision, read from top to bottom. Answers the stage that refuses.
#[expect(clippy::too_many_lines, reason = "its worth is that it is read in one piece")]
fn oracle(w: &Plain) -> Result<(), &'static str> {
    let installed = w.tool.starts_with("files.");
    if w.asked != w.tool {
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
        if ids.contains_key("run_id") && w.bound_run.is_none() {
            return Err("context");
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
        if let Some(given) = ids.get("job_id") {
            let is_own = w.bound_job == Some(*given)
                && (!ids.contains_key("task_id") || w.bound_task.is_some());
            if !is_own {
                let Some(its_task) = w.jobs.get(given) else { return Err("context") };
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
    let covers = |rule: &PlainRule| {
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
    };
    let covering: Vec<_> = w.rules.iter().filter(|rule| covers(rule)).collect();
    if covering.is_empty() || covering.iter().any(|rule| !rule.allows) {
        return Err("rules");
    }
    Ok(())
}

fn uuid(small: Small) -> Uuid {
    Uuid::from_u128(small)
}

fn small() -> impl Strategy<Value = Option<Small>> {
    prop_oneof![2 => Just(None), 2 => Just(Some(1_u128)), 1 => Just(Some(2_u128))]
}

/// Mostly yes: worlds in which everything is refused early compare little.
fn mostly() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.9)
}

fn plain_rule() -> impl Strategy<Value = PlainRule> {
    let subject = prop_oneof![
        4 => Just(("system", 0)),
        1 => (1_u128..3).prop_map(|id| ("user", id)),
        1 => (1_u128..3).prop_map(|id| ("group", id)),
        1 => (1_u128..3).prop_map(|id| ("project", id)),
        1 => (1_u128..3).prop_map(|id| ("task", id)),
        1 => select(&["pm", "pa", "sandbox"][..]).prop_map(|agent| (agent, 0)),
    ];
    let pattern = select(
        &["*", "db.*", "db.task.get", "artifact.*", "files.*", "files.read", "sandbox.*"][..],
    );
    let only = prop_oneof![3 => Just(vec![]), 1 => Just(vec!["user", "pm"])];
    let action = prop_oneof![9 => Just("mcp.tool.invoke"), 1 => Just("web.fetch")];
    let kind = prop_oneof![9 => Just("mcp.tool"), 1 => Just("web.domain")];
    (subject, action, kind, pattern, prop::bool::weighted(0.8), -2_i64..3, only).prop_map(
        |(subject, action, kind, pattern, allows, priority, only)| PlainRule {
            subject,
            action,
            kind,
            pattern,
            allows,
            priority,
            only,
        },
    )
}

fn id_argument() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        6 => Just(None),
        6 => (1_u128..4).prop_map(|id| Some(uuid(id).to_string().into())),
        1 => Just(Some("nonsense".into())),
        1 => Just(Some(7.into())),
    ]
}

fn arguments() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let text = prop_oneof![9 => Just(Some(json!("x"))), 1 => Just(Some(json!(7))), 1 => Just(None)];
    let extra = prop_oneof![19 => Just(None), 1 => Just(Some(json!(1)))];
    (text, extra, id_argument(), id_argument(), id_argument(), id_argument()).prop_map(
        |(text, extra, task, job, run, project)| {
            let all = [
                ("text", text),
                ("extra", extra),
                ("task_id", task),
                ("job_id", job),
                ("run_id", run),
                ("project_id", project),
            ];
            all.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
        },
    )
}

fn plain() -> impl Strategy<Value = Plain> {
    let who = (
        select(&["pm", "pa", "sandbox", "user"][..]),
        1_u128..3,
        small(),
        small(),
        small(),
        small(),
        small(),
    );
    let tool = (select(&NAMES[..]), select(&NAMES[..]), mostly(), mostly(), mostly(), mostly());
    let scope = prop_oneof![3 => Just("both"), 1 => Just("pm"), 1 => Just("sandbox")];
    let setting = prop_oneof![
        Just(None),
        Just(Some(json!(true))),
        Just(Some(json!(false))),
        Just(Some(json!("true")))
    ];
    let facts = (
        prop::collection::btree_map(1_u128..4, 1_u128..4, 0..4),
        prop::collection::btree_map(1_u128..4, 1_u128..4, 0..4),
        prop::collection::vec(1_u128..4, 0..3),
    );
    let rest = (scope, setting, arguments(), facts, prop::collection::vec(plain_rule(), 0..5));
    (who, tool, rest).prop_map(|(who, tool, rest)| {
        let (caller, user, group, bound_task, bound_job, bound_run, bound_project) = who;
        let (name, other, is_asked, enabled, is_unchanged, server_enabled) = tool;
        let (scope, setting, arguments, (tasks, jobs, projects), rules) = rest;
        Plain {
            caller,
            user,
            group,
            bound_task,
            bound_job,
            bound_run,
            bound_project,
            asked: if is_asked { name } else { other },
            tool: name,
            enabled,
            changed: !is_unchanged,
            scope,
            server_enabled,
            setting,
            arguments,
            tasks,
            jobs,
            projects,
            rules,
        }
    })
}

/// The same world as the gateway knows it.
fn stored(w: &Plain) -> World {
    let server = ServerId::generate();
    let schema = json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, "task_id": {}, "job_id": {}, "run_id": {}, "project_id": {} },
        "required": ["text"],
        "additionalProperties": false,
    });
    let tool = ToolRow {
        name: w.tool.to_owned(),
        server: w.tool.starts_with("files.").then_some(server),
        scope: w.scope.parse::<ToolScope>().unwrap(),
        is_enabled: w.enabled,
        needs_review: w.changed,
        definition: json!({ "inputSchema": schema }),
    };
    let rule = |rule: &PlainRule| Rule {
        id: RuleId::generate(),
        subject: match rule.subject {
            ("system", _) => Subject::System,
            ("user", id) => Subject::User(UserId::from(uuid(id))),
            ("group", id) => Subject::Group(GroupId::from(uuid(id))),
            ("project", id) => Subject::Project(ProjectId::from(uuid(id))),
            ("task", id) => Subject::Task(TaskId::from(uuid(id))),
            (agent, _) => Subject::Agent(agent.parse::<AgentType>().unwrap()),
        },
        action: rule.action.parse().unwrap(),
        resource_type: rule.kind.parse().unwrap(),
        resource: rule.pattern.parse().unwrap(),
        effect: if rule.allows { Effect::Allow } else { Effect::Deny },
        priority: rule.priority,
        conditions: Conditions {
            callers: rule.only.iter().map(|word| word.parse::<Principal>().unwrap()).collect(),
        },
    };
    let updated_at = chrono::DateTime::UNIX_EPOCH;
    World {
        revision: 1,
        tools: vec![tool],
        servers: vec![ServerRow {
            id: server,
            slug: "files".to_owned(),
            is_enabled: w.server_enabled,
            updated_at,
        }],
        rules: w.rules.iter().map(rule).collect(),
        settings: w.setting.iter().map(|value| (SETTING.to_owned(), value.clone())).collect(),
    }
}

fn backend(w: &Plain) -> FakeBackend {
    let backend = FakeBackend::default();
    *backend.world.lock().unwrap() = stored(w);
    let task = |id: &Small| TaskId::from(uuid(*id));
    let project = |id: &Small| ProjectId::from(uuid(*id));
    backend.tasks.lock().unwrap().extend(w.tasks.iter().map(|(id, of)| (task(id), project(of))));
    backend
        .jobs
        .lock()
        .unwrap()
        .extend(w.jobs.iter().map(|(id, of)| (JobId::from(uuid(*id)), task(of))));
    backend.projects.lock().unwrap().extend(w.projects.iter().map(project));
    backend
}

#[test]
fn the_gateway_decides_as_a_naive_second_implementation_does() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let data = tempfile::tempdir().unwrap();
    let (services, _) = runtime.block_on(services(&data));
    let seen = std::cell::RefCell::new(BTreeMap::<&str, u32>::new());
    let config = Config { cases: 20_000, failure_persistence: None, ..Config::default() };

    TestRunner::new(config)
        .run(&plain(), |w| {
            let gateway = Gateway::new(Parts {
                options: GatewayOptions::default(),
                backend: Arc::new(backend(&w)),
                upstreams: Arc::new(FakeUpstreams::default()),
                services: services.clone(),
                clock: Arc::new(SystemClock),
            });
            let mut who = identity(w.caller.parse().unwrap());
            who.user = UserId::from(uuid(w.user));
            who.groups = w.group.iter().map(|id| GroupId::from(uuid(*id))).collect();
            who.task = w.bound_task.map(|id| TaskId::from(uuid(id)));
            who.job = w.bound_job.map(|id| JobId::from(uuid(id)));
            who.run = w.bound_run.map(|id| RunId::from(uuid(id)));
            who.project = w.bound_project.map(|id| ProjectId::from(uuid(id)));
            let object: serde_json::Map<_, _> = w
                .arguments
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect();
            let raw = RawValue::from_string(Value::Object(object).to_string()).unwrap();
            let decided = runtime.block_on(async {
                gateway.refresh().await.unwrap();
                gateway.decide(&who, w.asked, Some(&raw)).await
            });
            let decided = decided.map(|_| ()).map_err(|denial| denial.stage.as_str());
            *seen.borrow_mut().entry(decided.err().unwrap_or("allowed")).or_default() += 1;
            prop_assert_eq!(decided, oracle(&w));
            Ok(())
        })
        .unwrap();

    let seen = seen.into_inner();
    println!("{seen:?}");
    for stage in [
        "known",
        "enabled",
        "review",
        "allowlist",
        "scope",
        "setting",
        "arguments",
        "context",
        "rules",
        "allowed",
    ] {
        assert!(
            seen.get(stage).is_some_and(|count| *count >= 50),
            "too few worlds end at {stage}: {seen:?}"
        );
    }
}
