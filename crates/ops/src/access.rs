//! Whether somebody could call a tool, and why: the question without the call.

use async_trait::async_trait;
use cynode_wire::tools::ExplainView;
use serde_json::Value;

use crate::agents::AgentIdentity;

/// What decides tool calls, asked without calling. The gateway is the one that knows.
#[async_trait]
pub trait Explain: Send + Sync {
    /// What each stage would say if `identity` called `tool`; nothing is called and no record
    /// written. Without arguments the stages that look at them are passed over.
    async fn explain(
        &self,
        identity: &AgentIdentity,
        tool: &str,
        arguments: Option<&Value>,
    ) -> ExplainView;
}
