//! The same inputs as the gateway stores them.

use cynode_domain::ids::{GroupId, JobId, ProjectId, RuleId, RunId, ServerId, TaskId, UserId};
use cynode_domain::policy::rules::{AccessRule, Conditions, RuleSubject};
use cynode_domain::policy::{AgentType, Effect, Principal, ToolScope};
use cynode_gateway::snapshot::RegistryData;
use cynode_gateway::snapshot::ServerRow;
use cynode_gateway::snapshot::ToolRow;
use serde_json::json;

use super::inputs::{DecisionInputs, DecisionRule, SETTING, SmallId};
use super::uuid;
use crate::backend::FakeBackend;

/// The registry.
fn registry_data(w: &DecisionInputs) -> RegistryData {
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
    let rule = |rule: &DecisionRule| AccessRule {
        id: RuleId::generate(),
        subject: match rule.subject {
            ("system", _) => RuleSubject::System,
            ("user", id) => RuleSubject::User(UserId::from(uuid(id))),
            ("group", id) => RuleSubject::Group(GroupId::from(uuid(id))),
            ("project", id) => RuleSubject::Project(ProjectId::from(uuid(id))),
            ("task", id) => RuleSubject::Task(TaskId::from(uuid(id))),
            (agent, _) => RuleSubject::Agent(agent.parse::<AgentType>().unwrap()),
        },
        action: rule.action.parse().unwrap(),
        resource_type: rule.kind.parse().unwrap(),
        resource: rule.pattern.parse().unwrap(),
        server: None,
        effect: if rule.allows { Effect::Allow } else { Effect::Deny },
        priority: rule.priority,
        conditions: Conditions {
            callers: rule.only.iter().map(|word| word.parse::<Principal>().unwrap()).collect(),
        },
    };
    let updated_at = chrono::DateTime::UNIX_EPOCH;
    RegistryData {
        profiles: vec![],
        revision: 1,
        tools: vec![tool],
        servers: vec![ServerRow {
            id: server,
            slug: "files".to_owned(),
            owner: UserId::generate(),
            is_system: true,
            is_enabled: w.server_enabled,
            updated_at,
        }],
        rules: w.rules.iter().map(rule).collect(),
        settings: w.setting.iter().map(|value| (SETTING.to_owned(), value.clone())).collect(),
    }
}

/// The control plane.
pub(super) fn backend(w: &DecisionInputs) -> FakeBackend {
    let backend = FakeBackend::default();
    *backend.world.lock().unwrap() = registry_data(w);
    let task = |id: &SmallId| TaskId::from(uuid(*id));
    let project = |id: &SmallId| ProjectId::from(uuid(*id));
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
