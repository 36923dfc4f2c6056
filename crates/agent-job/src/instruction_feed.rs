//! Instructions of the project manager for the agent of this job.
//!
//! Replies of tools carry them; an agent that calls no tools gets them with a heartbeat. Each is acknowledged with the heartbeat
//! after it was shown, so that one that a crash hides is delivered again.

use std::fmt::Write as _;

use std::collections::HashSet;
use std::time::Duration;

use cynode_client::{Client, McpClientError, McpResult};
use cynode_domain::agent::Activity;
use cynode_domain::ids::{MessageId, TaskId};
use cynode_wire::apmas::{Heartbeat, HeartbeatView, InstructionView};
use cynode_wire::tool_calls::ToolCall as _;
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::bounded_text::clip_middle;

/// How often a working agent asks for instructions.
pub const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// The path of the server, which the client appends itself.
const MCP_PATH: &str = "/mcp";
/// How long an agent waits for the reply to a heartbeat.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Failures in a row after which an agent asks no more: its tools may be denied.
const MAX_FAILURES: u32 = 3;
/// The most bytes of instructions in one prompt.
const TEXT_BYTES: usize = 6_000;

/// Asks for instructions and acknowledges those that were shown.
#[derive(Debug)]
pub struct InstructionFeed {
    client: Client,
    task: TaskId,
    interval: Duration,
    last_poll: Instant,
    failures: u32,
    shown: HashSet<MessageId>,
    unacknowledged: Vec<MessageId>,
}

impl InstructionFeed {
    /// The feed of a task, from the MCP server at `url`; `None` if the address cannot be used.
    pub fn new(url: &str, task: TaskId, interval: Duration) -> Option<Self> {
        let base = url.trim_end_matches('/').strip_suffix(MCP_PATH)?;
        let client = Client::anonymous(base).ok()?;
        Some(Self::with_client(client, task, interval))
    }

    pub fn with_client(client: Client, task: TaskId, interval: Duration) -> Self {
        let (shown, unacknowledged) = (HashSet::new(), Vec::new());
        let last_poll = Instant::now();
        Self { client, task, interval, last_poll, failures: 0, shown, unacknowledged }
    }

    /// Asks for new instructions if the last time is long enough ago.
    pub async fn poll_if_due(&mut self) -> Vec<InstructionView> {
        if self.last_poll.elapsed() < self.interval { Vec::new() } else { self.poll().await }
    }

    /// Asks for new instructions. A failure is none: the next heartbeat gets them.
    pub async fn poll(&mut self) -> Vec<InstructionView> {
        if self.failures >= MAX_FAILURES {
            return Vec::new();
        }
        self.last_poll = Instant::now();
        let heartbeat = Heartbeat {
            task_id: self.task,
            agent_role: None,
            status: Activity::Working,
            progress: None,
            estimated_context_usage: None,
            acknowledge: self.unacknowledged.clone(),
        };
        let arguments = json!(heartbeat);
        let reply = self.client.mcp_call(Heartbeat::NAME, &arguments);
        match timeout(REPLY_TIMEOUT, reply).await {
            Ok(Ok(result)) => {
                self.failures = 0;
                self.unacknowledged.clear();
                self.select_new(read_instructions(result))
            }
            Ok(Err(McpClientError::Unavailable(_))) | Err(_) => Vec::new(),
            Ok(Err(McpClientError::Refused { .. } | McpClientError::ToolFailed { .. })) => {
                self.failures += 1;
                Vec::new()
            }
        }
    }

    /// Keeps the instructions that were not shown before. All are acknowledged with the next heartbeat.
    pub fn select_new(&mut self, mut instructions: Vec<InstructionView>) -> Vec<InstructionView> {
        self.unacknowledged.extend(instructions.iter().map(|instruction| instruction.id));
        instructions.retain(|instruction| self.shown.insert(instruction.id));
        instructions
    }
}

fn read_instructions(result: McpResult) -> Vec<InstructionView> {
    let reply = result.structured.and_then(|it| serde_json::from_value::<HeartbeatView>(it).ok());
    let mut all = reply.map(|reply| reply.instructions).unwrap_or_default();
    all.extend(result.instructions);
    all
}

/// The instructions in words, for an agent.
pub fn render_instructions(instructions: &[InstructionView]) -> String {
    let mut text = "Instructions of the project manager, oldest first. They take precedence over the request:\n".to_owned();
    for InstructionView { instruction_type, instructions, context, .. } in instructions {
        let _ = writeln!(text, "- {instruction_type}: {instructions}");
        if context.as_object().is_some_and(|details| !details.is_empty()) {
            let _ = writeln!(text, "  {context}");
        }
    }
    clip_middle(text.trim_end(), TEXT_BYTES)
}
