//! The transcript of an agent's job: its output has one JSON object in a line for each entry.
//!
//! The agent writes the lines, and `cynork task logs` renders them. A reader ignores fields that it does not know, and
//! treats every other line as plain output.

use serde::{Deserialize, Serialize};

/// One entry of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptLine {
    /// An action such as `run_command`, a kind of tool call such as `execute`, or one of [`MESSAGE`], [`THOUGHT`],
    /// [`PLAN`], [`PERMISSION`], [`OUTPUT`], [`AGENT`], [`STOP`], `instruction`, `malformed`,
    /// `format`, `compaction` and `tools`.
    pub kind: String,
    /// The subject of the entry: a command line, a path, the title of a tool call.
    pub subject: String,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub is_success: bool,
    /// One line: what the action returned.
    pub text: String,
    /// More lines: the whole message, the entries of a plan, a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A message of the agent.
pub const MESSAGE: &str = "message";
/// A part of the agent's reasoning.
pub const THOUGHT: &str = "thought";
/// The agent's plan, each time it changes.
pub const PLAN: &str = "plan";
/// A permission that the agent asked for, and the answer.
pub const PERMISSION: &str = "permission";
/// A line of output of the agent's program.
pub const OUTPUT: &str = "output";
/// A fact about the agent's program: its name, a request that is not supported, an invalid message.
pub const AGENT: &str = "agent";
/// Why the job ended.
pub const STOP: &str = "stop";
