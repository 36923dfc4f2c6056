//! Executes the tool calls of a model through the gateway.

use cynode_client::McpClientError;
use cynode_llm_wire::openai::{ChatMessage, ToolCall};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{ModelTurn, ModelTurnError, ModelTurnOutcome};
use crate::HandoffAgentError;
use crate::chat::functions::{FIND, FunctionTool, ToolFunctions};
use crate::context::untrusted;

/// The most tool calls of one message.
const MAX_CALLS: usize = 8;
/// The most bytes of a tool result in a request.
const RESULT_BYTES: usize = 16 * 1024;

impl ModelTurn<'_> {
    /// Executes all tool calls of a message concurrently; returns their results in order.
    pub(super) async fn execute_calls(
        &self,
        calls: &[ToolCall],
        functions: &mut ToolFunctions,
        ended: &mut ModelTurnOutcome,
    ) -> Result<Vec<ChatMessage>, ModelTurnError> {
        let mut made = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            made.push(self.execute_call(index, call, functions));
        }
        let mut results = Vec::new();
        let mut refused = None;
        for (call, outcome) in calls.iter().zip(join_all(made).await) {
            match outcome {
                Ok(ChatToolOutcome { text, change, found }) => {
                    functions.offer(found);
                    ended.has_shown |= change.is_some();
                    ended.changes.extend(change);
                    results.push(ChatMessage::tool_result(&call.id, text));
                }
                // The other calls of the message ran: their changes are still reported.
                Err(fault) => refused = refused.or(Some(fault)),
            }
        }
        refused.map_or(Ok(results), |fault| Err(ModelTurnError::Agent(fault)))
    }

    async fn execute_call(
        &self,
        index: usize,
        call: &ToolCall,
        functions: &ToolFunctions,
    ) -> Result<ChatToolOutcome, HandoffAgentError> {
        let Some(function) = &call.function else {
            return Ok(ChatToolOutcome::error("no function"));
        };
        if function.name == FIND {
            return Ok(ChatToolOutcome::search_tools(functions, &function.arguments));
        }
        let Some(FunctionTool { tool, is_read_only: only_looks }) =
            functions.tool_of(&function.name)
        else {
            return Ok(ChatToolOutcome::error("there is no such function"));
        };
        if index >= MAX_CALLS {
            return Ok(ChatToolOutcome::error("too many calls at once: call it again"));
        }
        let arguments =
            if function.arguments.trim().is_empty() { "{}" } else { &function.arguments };
        let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
            return Ok(ChatToolOutcome::error("the arguments are not valid JSON"));
        };
        match self.tools.call(tool, &arguments).await {
            Ok(result) => {
                let value = result.structured.unwrap_or_else(|| json!(result.text));
                let summary = summarize_call(tool, &value);
                self.events.send_tool_call(tool, Some(true), &summary).await;
                let text = untrusted::quote("tool result", &value.to_string(), RESULT_BYTES);
                let change = (!only_looks).then_some(summary);
                Ok(ChatToolOutcome { text, change, found: vec![] })
            }
            Err(error @ McpClientError::Refused { .. })
                if !error.is_about_arguments() && !cynode_fault::fault!("PMA-15") =>
            {
                self.events.send_tool_call(tool, Some(false), &error.to_string()).await;
                Err(HandoffAgentError::from_mcp(tool, error))
            }
            Err(error @ McpClientError::Unavailable(_)) => {
                Err(HandoffAgentError::from_mcp(tool, error))
            }
            Err(error) => {
                self.events.send_tool_call(tool, Some(false), &error.to_string()).await;
                Ok(ChatToolOutcome::error(&error.to_string()))
            }
        }
    }
}

/// The outcome of a tool call.
struct ChatToolOutcome {
    /// The result for the model.
    text: String,
    /// A summary for the user, if something changed.
    change: Option<String>,
    /// Indices of the tools to offer from now on.
    found: Vec<usize>,
}

impl ChatToolOutcome {
    fn error(why: &str) -> Self {
        Self { text: json!({ "error": why }).to_string(), change: None, found: vec![] }
    }

    fn search_tools(functions: &ToolFunctions, arguments: &str) -> Self {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let found = functions.search(arguments["query"].as_str().unwrap_or_default());
        Self { text: functions.describe_tools(&found).to_string(), change: None, found }
    }
}

/// Summarises a call in a line.
fn summarize_call(tool: &str, value: &Value) -> String {
    let name = ["task_name", "slug", "display_name", "name", "id"]
        .into_iter()
        .find_map(|field| value[field].as_str());
    name.map_or_else(|| tool.to_owned(), |name| format!("{tool}: {}", untrusted::inline(name)))
}
