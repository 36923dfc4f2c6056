//! The gateway's tools: an agent's only access to the control plane.

use async_trait::async_trait;
use cynode_client::{Client, McpClientError, McpResult, McpTool};
use cynode_domain::policy::ErrorKind;
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
