//! Tools of the MCP server that are granted to the job.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cynode_agent_job::bounded_text::{clip_end, one_line};
use cynode_agent_job::instruction_feed::InstructionFeed;
use cynode_client::{Client, ClientError, McpClientError, McpTool};
use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::apmas::{Heartbeat, InstructionView};
use cynode_wire::tool_calls::ToolCall as _;
use serde_json::{Map, Value};

use crate::action::CallTool;
use crate::observation::Observation;

/// The most bytes of a tool's line in the prompt.
const TOOL_LINE_BYTES: usize = 300;
/// The most bytes of the list of tools in the prompt.
const CATALOGUE_BYTES: usize = 3_000;
/// The path of the server, which the client appends itself.
const MCP_PATH: &str = "/mcp";

/// Why tools cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrantError {
    #[error("the address of the tool server must end with {MCP_PATH}")]
    Address,
    #[error("the tool server's address cannot be used")]
    Client(#[from] ClientError),
    #[error("the tools cannot be listed")]
    List(#[from] McpClientError),
}

/// The tools of the server, and the ids that are filled in for the model.
#[derive(Debug)]
pub(crate) struct GrantedTools {
    client: Client,
    tools: Vec<McpTool>,
    task: TaskId,
    job: JobId,
    /// Instructions that came with replies and were not taken yet.
    instructions: Mutex<Vec<InstructionView>>,
}

impl GrantedTools {
    /// Lists the tools of the server at `url`.
    pub(crate) async fn connect(url: &str, task: TaskId, job: JobId) -> Result<Self, GrantError> {
        let base = url.trim_end_matches('/').strip_suffix(MCP_PATH).ok_or(GrantError::Address)?;
        let client = Client::anonymous(base)?;
        let tools = client.mcp_tools().await?;
        Ok(Self { client, tools, task, job, instructions: Mutex::default() })
    }

    /// The tools for the prompt: name, arguments and description, without the arguments that are filled in.
    pub(crate) fn describe(&self) -> String {
        let lines: Vec<String> = self.tools.iter().map(describe_tool).collect();
        clip_end(&lines.join("\n"), CATALOGUE_BYTES)
    }

    /// Calls a tool. Fails if the gateway rejects the call for a reason other than its arguments.
    pub(crate) async fn call(&self, call: &CallTool) -> Result<Observation, McpClientError> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.name) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let message = format!("there is no such tool; the tools are {}", names.join(", "));
            return Ok(Observation::failed(message));
        };
        let mut arguments = call.arguments.clone();
        for (name, value) in self.injected_arguments() {
            if argument_schemas(tool).is_some_and(|schemas| schemas.contains_key(name)) {
                arguments.insert(name.to_owned(), Value::String(value));
            }
        }
        let mut called = self.client.mcp_call(&tool.name, &Value::Object(arguments)).await;
        if let Ok(result) = &mut called {
            self.instructions().append(&mut result.instructions);
        }
        match called {
            Ok(result) if result.text.is_empty() => {
                let structured = result.structured.map(|it| it.to_string()).unwrap_or_default();
                Ok(Observation::succeeded("the tool succeeded").with_data(structured))
            }
            Ok(result) => Ok(Observation::succeeded("the tool succeeded").with_data(result.text)),
            Err(error) if error.is_about_arguments() => Ok(Observation::failed(error.to_string())),
            Err(error @ McpClientError::Refused { .. }) => Err(error),
            Err(McpClientError::ToolFailed { message, .. }) => {
                Ok(Observation::failed("the tool failed").with_data(message))
            }
            Err(error @ McpClientError::Unavailable(_)) => {
                Ok(Observation::failed(error.to_string()))
            }
        }
    }

    /// The feed of instructions, if the agent may send heartbeats.
    pub(crate) fn instruction_feed(&self, interval: Duration) -> Option<InstructionFeed> {
        let has_heartbeat = self.tools.iter().any(|tool| tool.name == Heartbeat::NAME);
        let feed = || InstructionFeed::with_client(self.client.clone(), self.task, interval);
        has_heartbeat.then(feed)
    }

    /// Takes the instructions that came with replies.
    pub(crate) fn take_instructions(&self) -> Vec<InstructionView> {
        std::mem::take(&mut self.instructions())
    }

    fn instructions(&self) -> MutexGuard<'_, Vec<InstructionView>> {
        self.instructions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn injected_arguments(&self) -> [(&'static str, String); 2] {
        [("task_id", self.task.to_string()), ("job_id", self.job.to_string())]
    }
}

fn argument_schemas(tool: &McpTool) -> Option<&Map<String, Value>> {
    tool.input_schema.get("properties")?.as_object()
}

fn describe_tool(tool: &McpTool) -> String {
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|it| it.iter().any(|it| it == name));
    let arguments: Vec<String> = argument_schemas(tool)
        .into_iter()
        .flat_map(Map::keys)
        .filter(|name| !["task_id", "job_id"].contains(&name.as_str()))
        .map(|name| if is_required(name) { name.clone() } else { format!("{name}?") })
        .collect();
    let line = format!("- {} {{{}}}: ", tool.name, arguments.join(", "));
    format!("{line}{}", one_line(&tool.description, TOOL_LINE_BYTES.saturating_sub(line.len())))
}
