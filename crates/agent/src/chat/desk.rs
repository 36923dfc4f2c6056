//! Tools, called in the sight of the person.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::teller::Teller;
use crate::AgentError;
use crate::tools::{self, Tools};

/// Tools, and the person who sees what is done with them.
pub(super) struct Desk<'a> {
    tools: &'a dyn Tools,
    teller: &'a Teller,
}

impl<'a> Desk<'a> {
    /// A desk for a conversation.
    pub(super) fn new(tools: &'a dyn Tools, teller: &'a Teller) -> Self {
        Self { tools, teller }
    }

    /// Looks something up.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<T, AgentError> {
        self.act(tool, arguments, "looked it up").await
    }

    /// Does something, and shows what.
    pub(super) async fn act<T: DeserializeOwned>(
        &self,
        tool: &str,
        arguments: Value,
        summary: &str,
    ) -> Result<T, AgentError> {
        let outcome = tools::call(self.tools, tool, arguments).await;
        match &outcome {
            Ok(_) => self.teller.tool(tool, Some(true), summary).await,
            // The name of the tool stands beside it.
            Err(AgentError::Tool { message, .. }) => {
                self.teller.tool(tool, Some(false), message).await;
            }
            Err(fault) => self.teller.tool(tool, Some(false), &fault.to_string()).await,
        }
        outcome
    }
}
