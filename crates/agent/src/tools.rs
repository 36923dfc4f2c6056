//! The gateway's tools, as an agent calls them: the one way to the state of the control plane.

use async_trait::async_trait;
use cynode_client::{Client, McpError, McpResult, McpTool};
use cynode_domain::policy::ErrorKind;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::debug;

use crate::AgentError;

/// Whoever lists and calls tools.
#[async_trait]
pub(crate) trait Tools: Send + Sync {
    /// Every tool that may be called.
    async fn list(&self) -> Result<Vec<McpTool>, McpError>;

    /// What a tool answers.
    async fn call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpError>;
}

#[async_trait]
impl Tools for Client {
    async fn list(&self) -> Result<Vec<McpTool>, McpError> {
        self.mcp_tools().await
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Result<McpResult, McpError> {
        debug!(tool.name = tool, "calls {tool}");
        self.mcp_call(tool, arguments).await
    }
}

/// Calls a tool of ours and reads its answer as a `T`.
pub(crate) async fn call<T: DeserializeOwned>(
    tools: &dyn Tools,
    tool: &str,
    arguments: Value,
) -> Result<T, AgentError> {
    let failed = |error| AgentError::of(tool, error);
    let result = tools.call(tool, &arguments).await.map_err(failed)?;
    let value = result.structured.unwrap_or(Value::Null);
    T::deserialize(value).map_err(|error| AgentError::Tool {
        tool: tool.to_owned(),
        kind: ErrorKind::BadResponse,
        message: format!("its answer cannot be read: {error}"),
    })
}
