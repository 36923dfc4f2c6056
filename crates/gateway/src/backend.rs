//! The control plane as the gateway needs it; implemented by the operations.

use async_trait::async_trait;
use cynode_execution::TaskService;
use cynode_execution::tasks::IdInTask;
use cynode_resources::{ProjectError, Projects};
use cynode_resources::{agents::AgentTokenError, agents::AgentTokens};
use cynode_resources::{
    audit::AuditLog, audit::CallTicket, audit::RejectionSummary, audit::ToolCallOutcome,
    audit::ToolCallRecord,
};
use cynode_resources::{
    tools::McpToolDefinition, tools::ObservedTool, tools::RegistryState, tools::ToolRegistry,
};
use serde_json::{Map, Value};

use crate::identity::Identity;
use crate::pipeline::context::FoundTask;
use crate::pipeline::context::IdLookupResults;
use crate::pipeline::context::IdLookups;
use crate::snapshot::RegistryData;
use crate::snapshot::ServerRow;
use crate::snapshot::ToolRow;
use cynode_upstream::ListedTool;

/// The control plane failed: the call is not executed.
#[derive(Debug, thiserror::Error)]
#[error("the control plane does not answer")]
pub struct BackendError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl BackendError {
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// A call whose start is recorded.
#[async_trait]
pub trait OpenCallRecord: Send {
    /// Records the outcome. The record is durable when this returns.
    async fn finish(self: Box<Self>, outcome: ToolCallOutcome) -> Result<(), BackendError>;
}

/// The control plane, as the gateway needs it.
#[async_trait]
pub trait GatewayBackend: Send + Sync {
    /// The identity of a token; `None` if the token is not valid.
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, BackendError>;

    /// Loads the registry.
    async fn world(&self) -> Result<RegistryData, BackendError>;

    /// The registry's revision.
    async fn revision(&self) -> Result<i64, BackendError>;

    /// Looks up ids that the token does not bind.
    async fn look_up_ids(
        &self,
        identity: &Identity,
        needed: &IdLookups,
    ) -> Result<IdLookupResults, BackendError>;

    /// Records that a call is allowed. The record is durable when this returns.
    async fn begin(&self, call: ToolCallRecord) -> Result<Box<dyn OpenCallRecord>, BackendError>;

    /// Records that a call is denied. The record is durable when this returns.
    async fn record_denial(&self, call: ToolCallRecord) -> Result<(), BackendError>;

    /// Records, in aggregate, requests that were rejected before there was a call. The record is
    /// durable when this returns.
    async fn record_rejections(&self, summaries: Vec<RejectionSummary>)
    -> Result<(), BackendError>;
}

/// The operations of this process.
#[derive(Clone)]
pub struct GatewayOperations {
    pub agents: AgentTokens,
    pub registry: ToolRegistry,
    pub audit: AuditLog,
    /// For id lookups.
    pub tasks: TaskService,
    /// For id lookups.
    pub projects: Projects,
}

#[async_trait]
impl GatewayBackend for GatewayOperations {
    async fn authenticate(&self, token: &str) -> Result<Option<Identity>, BackendError> {
        match self.agents.authenticate(token).await {
            Ok(identity) => Ok(Some(identity)),
            Err(AgentTokenError::Store(error)) => Err(BackendError::new(error)),
            Err(_) => Ok(None),
        }
    }

    async fn world(&self) -> Result<RegistryData, BackendError> {
        self.registry.load().await.map(registry_data).map_err(BackendError::new)
    }

    async fn revision(&self) -> Result<i64, BackendError> {
        self.registry.revision().await.map_err(BackendError::new)
    }

    async fn look_up_ids(
        &self,
        identity: &Identity,
        needed: &IdLookups,
    ) -> Result<IdLookupResults, BackendError> {
        let mut facts = IdLookupResults::default();
        if let Some(project) = needed.project {
            facts.project = match self.projects.get_own(&identity.caller, &project.into()).await {
                Ok(found) => Some(found.id),
                Err(ProjectError::Store(error)) => return Err(BackendError::new(error)),
                Err(_) => None,
            };
        }
        if let Some(task) = needed.task {
            facts.task = self.find_task(identity, IdInTask::Task(task)).await?;
        }
        if let Some(job) = needed.job {
            facts.job = self.find_task(identity, IdInTask::Job(job)).await?;
        }
        if let Some(run) = needed.run {
            facts.run = self.find_task(identity, IdInTask::Run(run)).await?;
        }
        Ok(facts)
    }

    async fn begin(&self, call: ToolCallRecord) -> Result<Box<dyn OpenCallRecord>, BackendError> {
        let ticket = self.audit.begin(call).await.map_err(BackendError::new)?;
        Ok(Box::new(AuditedOpenCall { audit: self.audit.clone(), ticket }))
    }

    async fn record_denial(&self, call: ToolCallRecord) -> Result<(), BackendError> {
        self.audit.record_denial(call).await.map_err(BackendError::new)
    }

    async fn record_rejections(
        &self,
        summaries: Vec<RejectionSummary>,
    ) -> Result<(), BackendError> {
        self.audit.record_rejections(summaries).await.map_err(BackendError::new)
    }
}

struct AuditedOpenCall {
    audit: AuditLog,
    ticket: CallTicket,
}

#[async_trait]
impl OpenCallRecord for AuditedOpenCall {
    async fn finish(self: Box<Self>, outcome: ToolCallOutcome) -> Result<(), BackendError> {
        self.audit.finish(self.ticket, outcome).await.map_err(BackendError::new)
    }
}

impl GatewayOperations {
    async fn find_task(
        &self,
        identity: &Identity,
        id: IdInTask,
    ) -> Result<Option<FoundTask>, BackendError> {
        let found = self.tasks.scope(&identity.caller, id).await.map_err(BackendError::new)?;
        Ok(found.map(|scope| FoundTask {
            task: scope.task,
            project: scope.project,
            profile: scope.profile,
        }))
    }
}

fn registry_data(state: RegistryState) -> RegistryData {
    let tools = state.tools.into_iter().map(|tool| ToolRow {
        needs_review: !tool.is_approved(),
        is_enabled: tool.is_enabled(),
        name: tool.name,
        server: tool.server,
        scope: tool.scope,
        definition: definition(tool.definition),
    });
    let servers = state.servers.into_iter().map(|server| ServerRow {
        id: server.id,
        slug: server.slug,
        owner: server.owner,
        is_system: server.is_system,
        is_enabled: server.enabled,
        updated_at: server.updated_at,
    });
    RegistryData {
        revision: state.revision,
        tools: tools.collect(),
        servers: servers.collect(),
        rules: state.rules,
        settings: state.settings,
        profiles: state.profiles,
    }
}

/// A listed tool as the registry stores it. Every member counts for the review of changed
/// definitions.
pub(crate) fn to_observed_tool(tool: ListedTool) -> ObservedTool {
    let mut other = tool.definition.as_object().cloned().unwrap_or_default();
    other.remove("name");
    let text = |value: Value| value.as_str().map(str::to_owned);
    let definition = McpToolDefinition {
        title: other.remove("title").and_then(text),
        description: other.remove("description").and_then(text).unwrap_or_default(),
        input_schema: other.remove("inputSchema").unwrap_or(Value::Bool(false)),
        output_schema: other.remove("outputSchema"),
        other,
    };
    ObservedTool { name: tool.name, definition }
}

/// A definition as the protocol represents it.
pub(crate) fn definition(definition: McpToolDefinition) -> Value {
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

        let seen = to_observed_tool(ListedTool { name: "read".to_owned(), definition: named });

        assert_eq!(definition(seen.definition), said);
    }
}
