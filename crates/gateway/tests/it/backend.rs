//! A control plane of plain data that keeps every record.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use cynode_domain::ids::{
    JobId, ProfileId, ProjectId, RuleId, RunId, ServerId, TaskId, TokenId, UserId,
};
use cynode_domain::policy::rules::{AccessRule, Conditions, RuleSubject};
use cynode_domain::policy::{Effect, Principal, ToolScope};
use cynode_gateway::BackendError;
use cynode_gateway::GatewayBackend;
use cynode_gateway::Identity;
use cynode_gateway::OpenCallRecord;
use cynode_gateway::pipeline::context::FoundTask;
use cynode_gateway::pipeline::context::IdLookupResults;
use cynode_gateway::pipeline::context::IdLookups;
use cynode_gateway::snapshot::RegistryData;
use cynode_gateway::snapshot::ServerRow;
use cynode_gateway::snapshot::ToolRow;
use cynode_gateway::tools;
use cynode_resources::Caller;
use cynode_resources::{audit::RejectionSummary, audit::ToolCallOutcome, audit::ToolCallRecord};
use serde_json::{Value, json};
use std::sync::Arc;

/// The audit records, in order.
#[derive(Debug, Clone)]
pub(crate) enum Entry {
    Denied(ToolCallRecord),
    Begun(ToolCallRecord),
    Finished(ToolCallOutcome),
    Rejected(RejectionSummary),
}

#[derive(Default)]
pub(crate) struct FakeBackend {
    pub(crate) tokens: Mutex<HashMap<String, Identity>>,
    pub(crate) world: Mutex<RegistryData>,
    pub(crate) tasks: Mutex<HashMap<TaskId, ProjectId>>,
    /// The profiles of tasks that are not in the default one of their project.
    pub(crate) profiles: Mutex<HashMap<TaskId, ProfileId>>,
    pub(crate) jobs: Mutex<HashMap<JobId, TaskId>>,
    pub(crate) runs: Mutex<HashMap<RunId, TaskId>>,
    pub(crate) projects: Mutex<Vec<ProjectId>>,
    pub(crate) ledger: Arc<Mutex<Vec<Entry>>>,
    /// Whether recording fails.
    pub(crate) is_full: Arc<AtomicBool>,
    /// Whether recording of outcomes fails.
    pub(crate) forgets_outcomes: Arc<AtomicBool>,
}

impl FakeBackend {
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.ledger.lock().unwrap().clone()
    }

    fn write(&self, entry: Entry) -> Result<(), BackendError> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(BackendError::new("the disk is full"));
        }
        self.ledger.lock().unwrap().push(entry);
        Ok(())
    }
}

#[async_trait]
impl GatewayBackend for FakeBackend {
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, BackendError> {
        Ok(self.tokens.lock().unwrap().get(token).cloned())
    }

    async fn world(&self) -> Result<RegistryData, BackendError> {
        Ok(self.world.lock().unwrap().clone())
    }

    async fn revision(&self) -> Result<i64, BackendError> {
        Ok(self.world.lock().unwrap().revision)
    }

    async fn look_up_ids(
        &self,
        _: &Identity,
        needed: &IdLookups,
    ) -> Result<IdLookupResults, BackendError> {
        let tasks = self.tasks.lock().unwrap();
        let job = needed.job.and_then(|job| self.jobs.lock().unwrap().get(&job).copied());
        let run = needed.run.and_then(|run| self.runs.lock().unwrap().get(&run).copied());
        let profiles = self.profiles.lock().unwrap();
        let find = |task| {
            let project = *tasks.get(&task)?;
            let profile = profiles.get(&task).copied();
            let profile = profile.unwrap_or(ProfileId::default_of(project));
            Some(FoundTask { task, project, profile })
        };
        Ok(IdLookupResults {
            task: needed.task.and_then(find),
            job: job.and_then(find),
            run: run.and_then(find),
            project: needed
                .project
                .filter(|project| self.projects.lock().unwrap().contains(project)),
        })
    }

    async fn begin(&self, call: ToolCallRecord) -> Result<Box<dyn OpenCallRecord>, BackendError> {
        self.write(Entry::Begun(call))?;
        let (ledger, forgets) = (Arc::clone(&self.ledger), Arc::clone(&self.forgets_outcomes));
        Ok(Box::new(FakeOpenCall { ledger, forgets }))
    }

    async fn record_denial(&self, call: ToolCallRecord) -> Result<(), BackendError> {
        self.write(Entry::Denied(call))
    }

    async fn record_rejections(
        &self,
        summaries: Vec<RejectionSummary>,
    ) -> Result<(), BackendError> {
        summaries.into_iter().try_for_each(|summary| self.write(Entry::Rejected(summary)))
    }
}

struct FakeOpenCall {
    ledger: Arc<Mutex<Vec<Entry>>>,
    forgets: Arc<AtomicBool>,
}

#[async_trait]
impl OpenCallRecord for FakeOpenCall {
    async fn finish(self: Box<Self>, outcome: ToolCallOutcome) -> Result<(), BackendError> {
        if self.forgets.load(Ordering::SeqCst) {
            return Err(BackendError::new("the disk is full"));
        }
        self.ledger.lock().unwrap().push(Entry::Finished(outcome));
        Ok(())
    }
}

pub(crate) fn identity(agent: Principal) -> Identity {
    let user = UserId::generate();
    Identity {
        token_id: TokenId::generate(),
        agent,
        user,
        caller: Caller::on_behalf_of(user, "ada".to_owned(), false),
        groups: vec![],
        roles: vec![],
        project: None,
        task: None,
        run: None,
        job: None,
        session: None,
        origin: cynode_resources::agents::TokenOrigin::default(),
        job_agent: cynode_resources::agents::JobAgent::default(),
        profile_id: None,
        expires_at: None,
    }
}

pub(crate) fn rule(effect: Effect, resource: &str) -> AccessRule {
    AccessRule {
        id: RuleId::generate(),
        subject: RuleSubject::System,
        action: "mcp.tool.invoke".parse().unwrap(),
        resource_type: "mcp.tool".parse().unwrap(),
        resource: resource.parse().unwrap(),
        server: None,
        effect,
        priority: 0,
        conditions: Conditions::default(),
    }
}

fn row(name: &str, server: Option<ServerId>, scope: ToolScope, definition: Value) -> ToolRow {
    ToolRow {
        name: name.to_owned(),
        server,
        scope,
        is_enabled: true,
        needs_review: false,
        definition,
    }
}

/// The built-in tools, one server `files`, and a rule that allows everything.
pub(crate) fn world() -> RegistryData {
    let builtins = tools::all().into_iter().map(|tool| {
        let definition = json!({
            "title": tool.title,
            "description": tool.description,
            "inputSchema": (tool.input)(),
            "outputSchema": (tool.output)(),
            "annotations": tool.to_registry_tool().definition.other["annotations"],
        });
        row(tool.name, None, tool.scope, definition)
    });
    let id = ServerId::generate();
    let of_files = ["echo", "progress", "ask", "hang", "fail", "die", "big", "wrong"]
        .into_iter()
        .map(|name| {
            let mut definition = json!({
                "description": name,
                "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
            });
            if name == "wrong" {
                definition["outputSchema"] = json!({ "type": "object", "required": ["answer"] });
            }
            row(&format!("files.{name}"), Some(id), ToolScope::Both, definition)
        });
    let updated_at = chrono::DateTime::UNIX_EPOCH;
    RegistryData {
        profiles: vec![],
        revision: 1,
        tools: builtins.chain(of_files).collect(),
        servers: vec![ServerRow {
            id,
            slug: "files".to_owned(),
            owner: UserId::generate(),
            is_system: true,
            is_enabled: true,
            updated_at,
        }],
        rules: vec![rule(Effect::Allow, "*")],
        settings: std::collections::BTreeMap::new(),
    }
}
