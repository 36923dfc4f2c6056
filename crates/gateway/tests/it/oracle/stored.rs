//! The same world as the gateway knows it.

use cynode_domain::ids::{GroupId, JobId, ProjectId, RuleId, RunId, ServerId, TaskId, UserId};
use cynode_domain::policy::rules::{Conditions, Rule, Subject};
use cynode_domain::policy::{AgentType, Effect, Principal, ToolScope};
use cynode_gateway::snapshot::{ServerRow, ToolRow, World};
use serde_json::json;

use super::plain::{Plain, PlainRule, SETTING, Small};
use super::uuid;
use crate::backend::FakeBackend;

/// The registry.
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

/// The control plane.
pub(super) fn backend(w: &Plain) -> FakeBackend {
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
    backend
        .runs
        .lock()
        .unwrap()
        .extend(w.runs.iter().map(|(id, of)| (RunId::from(uuid(*id)), task(of))));
    backend.projects.lock().unwrap().extend(w.projects.iter().map(project));
    backend
}
