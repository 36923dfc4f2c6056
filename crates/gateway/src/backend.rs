//! What the gateway needs of the control plane, as one seam; the operations fill it.

use async_trait::async_trait;
use cynode_ops::agents::{AgentError, AgentTokens};
use cynode_ops::audit::{AuditLog, CallRecord, CallTicket, Outcome, RejectionSummary};
use cynode_ops::runs::{RunError, Runs};
use cynode_ops::tools::{Definition, ObservedTool, Registry, RegistryState};
use cynode_ops::{ProjectError, Projects, TaskError, Tasks};
use serde_json::{Map, Value};

use crate::identity::Identity;
use crate::pipeline::context::{Facts, Needed};
use crate::snapshot::{ServerRow, ToolRow, World};
use crate::upstream::SeenTool;

/// The control plane did not do as asked: the call is not made.
#[derive(Debug, thiserror::Error)]
#[error("the control plane does not answer")]
pub struct BackendError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl BackendError {
    /// Caused by this.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// A call whose beginning is on record.
#[async_trait]
pub trait OpenCall: Send {
    /// Puts its outcome on record. When this returns, the record is durable.
    async fn finish(self: Box<Self>, outcome: Outcome) -> Result<(), BackendError>;
}

/// The control plane, as the gateway needs it.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Who presents this token; nobody if it is not a good one.
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, BackendError>;

    /// What the registry holds.
    async fn world(&self) -> Result<World, BackendError>;

    /// The registry's revision.
    async fn revision(&self) -> Result<i64, BackendError>;

    /// What there is to know about ids that a token does not bind.
    async fn facts(&self, who: &Identity, needed: &Needed) -> Result<Facts, BackendError>;

    /// Puts on record that a call is let through. When this returns, the record is durable.
    async fn begin(&self, call: CallRecord) -> Result<Box<dyn OpenCall>, BackendError>;

    /// Puts on record that a call was refused. When this returns, the record is durable.
    async fn deny(&self, call: CallRecord) -> Result<(), BackendError>;

    /// Puts on record, in sum, requests that were rejected before there was a call. When this returns,
    /// the record is durable.
    async fn reject(&self, summaries: Vec<RejectionSummary>) -> Result<(), BackendError>;
}

/// The operations of this process.
#[derive(Clone)]
pub struct Operations {
    /// Tokens.
    pub agents: AgentTokens,
    /// Tools, servers, rules and settings.
    pub registry: Registry,
    /// The record of calls.
    pub audit: AuditLog,
    /// Tasks, to judge ids by.
    pub tasks: Tasks,
    /// Projects, to judge ids by.
    pub projects: Projects,
    /// Runs, to judge ids by.
    pub runs: Runs,
}

#[async_trait]
impl Backend for Operations {
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, BackendError> {
        match self.agents.authenticate(token).await {
            Ok(identity) => Ok(Some(identity)),
            Err(AgentError::Store(error)) => Err(BackendError::new(error)),
            Err(_) => Ok(None),
        }
    }

    async fn world(&self) -> Result<World, BackendError> {
        self.registry.load().await.map(world).map_err(BackendError::new)
    }

    async fn revision(&self) -> Result<i64, BackendError> {
        self.registry.revision().await.map_err(BackendError::new)
    }

    async fn facts(&self, who: &Identity, needed: &Needed) -> Result<Facts, BackendError> {
        let mut facts = Facts::default();
        if let Some(project) = needed.project {
            facts.project = match self.projects.get(&who.caller, &project.to_string()).await {
                Ok(found) => Some(found.id),
                Err(ProjectError::Store(error)) => return Err(BackendError::new(error)),
                Err(_) => None,
            };
        }
        if let Some(task) = needed.task {
            facts.task = seen(self.tasks.get(&who.caller, &task.to_string()).await)?
                .map(|task| task.project_id);
        }
        let job = match needed.job {
            Some(job) => seen(self.tasks.job(&who.caller, job).await)?,
            None => None,
        };
        if let Some(job) = job {
            let task = seen(self.tasks.get(&who.caller, &job.task_id.to_string()).await)?;
            facts.job = task.map(|task| (task.id, task.project_id));
        }
        let run = match needed.run {
            Some(run) => match self.runs.get(&who.caller, run).await {
                Ok(run) => Some(run),
                Err(RunError::Store(error)) => return Err(BackendError::new(error)),
                Err(_) => None,
            },
            None => None,
        };
        if let Some(run) = run {
            let task = seen(self.tasks.get(&who.caller, &run.task_id.to_string()).await)?;
            facts.run = task.map(|task| (task.id, task.project_id));
        }
        Ok(facts)
    }

    async fn begin(&self, call: CallRecord) -> Result<Box<dyn OpenCall>, BackendError> {
        let ticket = self.audit.begin(call).await.map_err(BackendError::new)?;
        Ok(Box::new(Recorded { audit: self.audit.clone(), ticket }))
    }

    async fn deny(&self, call: CallRecord) -> Result<(), BackendError> {
        self.audit.deny(call).await.map_err(BackendError::new)
    }

    async fn reject(&self, summaries: Vec<RejectionSummary>) -> Result<(), BackendError> {
        self.audit.record_rejections(summaries).await.map_err(BackendError::new)
    }
}

struct Recorded {
    audit: AuditLog,
    ticket: CallTicket,
}

#[async_trait]
impl OpenCall for Recorded {
    async fn finish(self: Box<Self>, outcome: Outcome) -> Result<(), BackendError> {
        self.audit.finish(self.ticket, outcome).await.map_err(BackendError::new)
    }
}

/// Not found is an answer; a database that does not answer is none.
fn seen<T>(found: Result<T, TaskError>) -> Result<Option<T>, BackendError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(TaskError::Store(error)) => Err(BackendError::new(error)),
        Err(_) => Ok(None),
    }
}

fn world(state: RegistryState) -> World {
    let tools = state.tools.into_iter().map(|tool| ToolRow {
        needs_review: !tool.is_approved(),
        name: tool.name,
        server: tool.server,
        scope: tool.scope,
        is_enabled: tool.enabled,
        definition: definition(tool.definition),
    });
    let servers = state.servers.into_iter().map(|server| ServerRow {
        id: server.id,
        slug: server.slug,
        is_enabled: server.enabled,
        updated_at: server.updated_at,
    });
    World {
        revision: state.revision,
        tools: tools.collect(),
        servers: servers.collect(),
        rules: state.rules,
        settings: state.settings,
    }
}

/// What a server says of a tool, as the registry keeps it. Every word counts for whether the tool is
/// still what was approved.
pub(crate) fn observed(tool: SeenTool) -> ObservedTool {
    let mut other = tool.definition.as_object().cloned().unwrap_or_default();
    other.remove("name");
    let text = |value: Value| value.as_str().map(str::to_owned);
    let definition = Definition {
        title: other.remove("title").and_then(text),
        description: other.remove("description").and_then(text).unwrap_or_default(),
        input_schema: other.remove("inputSchema").unwrap_or(Value::Bool(false)),
        output_schema: other.remove("outputSchema"),
        other,
    };
    ObservedTool { name: tool.name, definition }
}

/// A definition in the words of the protocol.
pub(crate) fn definition(definition: Definition) -> Value {
    let mut object: Map<String, Value> = definition.other;
    if let Some(title) = definition.title {
        object.insert("title".to_owned(), title.into());
    }
    object.insert("description".to_owned(), definition.description.into());
    object.insert("inputSchema".to_owned(), definition.input_schema);
    if let Some(schema) = definition.output_schema {
        object.insert("outputSchema".to_owned(), schema);
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_that_a_server_says_of_a_tool_is_lost_on_the_way_to_clients() {
        let said = json!({
            "title": "Read",
            "description": "reads",
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true },
            "_meta": { "a/b": 1 },
        });
        let mut named = said.clone();
        named["name"] = "read".into();

        let seen = observed(SeenTool { name: "read".to_owned(), definition: named });

        assert_eq!(definition(seen.definition), said);
    }
}
