//! The gateway's tools: an agent's only access to the control plane.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use cynode_client::{Client, McpClientError, McpResult, McpTool};
use cynode_domain::policy::ErrorKind;
use cynode_domain::trace::{TraceEntry, TraceEventKind, TraceField};
use cynode_runtime::trace_recorder::TraceRecorder;
use cynode_wire::tool_calls::ToolCall;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::debug;

use crate::HandoffAgentError;

/// Lists and calls tools.
#[async_trait]
pub(crate) trait ToolClient: Send + Sync {
    /// Lists the tools that the handoff may call.
    async fn list(&self) -> Result<Vec<McpTool>, McpClientError>;

    /// Calls a tool by name.
    async fn call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpClientError>;
}

#[async_trait]
impl ToolClient for Client {
    async fn list(&self) -> Result<Vec<McpTool>, McpClientError> {
        self.mcp_tools().await
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpClientError> {
        debug!(tool.name = tool, "tool called");
        self.mcp_call(tool, arguments).await
    }
}

/// Records the connection to the tools, once they answer.
pub(crate) struct RecordedTools {
    tools: Arc<dyn ToolClient>,
    trace: TraceRecorder,
    is_connected: AtomicBool,
}

impl RecordedTools {
    pub(crate) fn new(tools: Arc<dyn ToolClient>, trace: TraceRecorder) -> Self {
        Self { tools, trace, is_connected: AtomicBool::new(false) }
    }

    fn note<T>(&self, answer: Result<T, McpClientError>) -> Result<T, McpClientError> {
        let is_unreachable = matches!(answer, Err(McpClientError::Unavailable(_)));
        if !is_unreachable && !self.is_connected.swap(true, Ordering::Relaxed) {
            let connected = TraceEntry::new(TraceEventKind::BackendConnected);
            let connected = connected.with(TraceField::Backend, "mcp");
            self.trace.record(connected.with(TraceField::BackendPurpose, "tools"));
        }
        answer
    }
}

#[async_trait]
impl ToolClient for RecordedTools {
    async fn list(&self) -> Result<Vec<McpTool>, McpClientError> {
        self.note(self.tools.list().await)
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpClientError> {
        self.note(self.tools.call(tool, arguments).await)
    }
}

/// Calls a built-in tool and deserialises its structured result.
pub(crate) async fn call_tool<C: ToolCall + Sync, T: DeserializeOwned>(
    tools: &dyn ToolClient,
    call: &C,
) -> Result<T, HandoffAgentError> {
    let failed = |error| HandoffAgentError::from_mcp(C::NAME, error);
    let result = tools.call(C::NAME, &json!(call)).await.map_err(failed)?;
    let value = result.structured.unwrap_or(Value::Null);
    T::deserialize(value).map_err(|error| HandoffAgentError::Tool {
        tool: C::NAME.to_owned(),
        kind: ErrorKind::BadResponse,
        message: format!("its answer cannot be read: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use cynode_client::ClientError;
    use cynode_domain::ids::TraceId;
    use cynode_domain::trace::TraceActor;

    use super::*;
    use crate::script::{ScriptedTools, tool_error};

    fn unreachable() -> McpClientError {
        let reason = "not JSON".to_owned();
        McpClientError::Unavailable(ClientError::InvalidResponse { url: "u".to_owned(), reason })
    }

    #[tokio::test]
    async fn the_connection_to_the_tools_is_recorded_once_and_only_if_they_answer() {
        let list = "db.task.list";
        let scripted =
            ScriptedTools::new([(list, Err(unreachable())), (list, Err(tool_error("no")))]);
        let trace = TraceRecorder::new(TraceId::generate(), TraceActor::ProjectManager);
        let tools = RecordedTools::new(scripted, trace.clone());

        tools.call(list, &json!({})).await.unwrap_err();
        assert!(trace.take().is_empty(), "nothing answered");
        tools.call(list, &json!({})).await.unwrap_err();
        tools.list().await.unwrap();

        let [event] = &trace.take().into_events()[..] else { panic!("not one event") };
        let connected = TraceEntry::new(TraceEventKind::BackendConnected)
            .with(TraceField::Backend, "mcp")
            .with(TraceField::BackendPurpose, "tools");
        assert_eq!((event.actor, &event.entry), (TraceActor::ProjectManager, &connected));
    }
}
