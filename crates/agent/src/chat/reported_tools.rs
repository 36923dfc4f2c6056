//! Tool calls that are reported to the user.

use cynode_wire::tool_calls::ToolCall;
use serde::de::DeserializeOwned;

use super::event_sender::ChatEventSender;
use crate::HandoffAgentError;
use crate::tools::{self, ToolClient};

/// Calls tools and reports each call as a chat event.
pub(super) struct ReportedTools<'a> {
    tools: &'a dyn ToolClient,
    events: &'a ChatEventSender,
}

impl<'a> ReportedTools<'a> {
    pub(super) fn new(tools: &'a dyn ToolClient, events: &'a ChatEventSender) -> Self {
        Self { tools, events }
    }

    /// Calls a read-only tool.
    pub(super) async fn read<C: ToolCall + Sync, T: DeserializeOwned>(
        &self,
        call: &C,
    ) -> Result<T, HandoffAgentError> {
        self.call(call, "read").await
    }

    /// Calls a tool and reports the outcome with `summary`.
    pub(super) async fn call<C: ToolCall + Sync, T: DeserializeOwned>(
        &self,
        call: &C,
        summary: &str,
    ) -> Result<T, HandoffAgentError> {
        let tool = C::NAME;
        let outcome = tools::call_tool(self.tools, call).await;
        match &outcome {
            Ok(_) => self.events.send_tool_call(tool, Some(true), summary).await,
            // The event names the tool already.
            Err(HandoffAgentError::Tool { message, .. }) => {
                self.events.send_tool_call(tool, Some(false), message).await;
            }
            Err(fault) => self.events.send_tool_call(tool, Some(false), &fault.to_string()).await,
        }
        outcome
    }
}
