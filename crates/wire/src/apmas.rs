//! Messages between agents and the project manager: arguments and results of the
//! `apmas_*` tools.
//!
//! Arguments have `camelCase` names, which agents expect (`agentRole`, `workUnitId`), except `task_id`.

mod views;

use cynode_domain::agent::{
    Activity, HelpKind, InstructionKind, MAX_ROLE_CHARS, NoteKind, Progress, Role,
};
use cynode_domain::ids::{MessageId, TaskId};
use cynode_domain::report::{MAX_ITEMS, MAX_LINE_BYTES, MAX_TEXT_BYTES, ReportKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::page::{MAX_CURSOR_CHARS, MAX_LIMIT};
use crate::tool_calls::tool_calls;
use crate::work::MAX_WORK_UNIT_ID_CHARS;

pub use views::*;

/// The longest idempotency key of a message.
pub const MAX_IDEMPOTENCY_KEY_CHARS: usize = 200;
/// The most messages in a context.
pub const MAX_CONTEXT_MESSAGES: u32 = 50;
/// The most agents that a request for a context names.
pub const MAX_CONTEXT_ROLES: usize = 50;

/// The member of a tool result's `_meta` with the instructions for the calling agent: its `role`, and `items`.
pub const INSTRUCTIONS_META: &str = "cynode/instructions";
/// The first line of the text item with the same instructions.
pub const INSTRUCTIONS_BEGIN: &str = "----- BEGIN INSTRUCTIONS OF THE PROJECT MANAGER -----";
/// The last line of that text item.
pub const INSTRUCTIONS_END: &str = "----- END INSTRUCTIONS OF THE PROJECT MANAGER -----";

tool_calls! {
    Heartbeat => "apmas_heartbeat",
    SaveAgentCheckpoint => "apmas_checkpoint",
    ReportToPm => "apmas_report_to_pm",
    ReportStatus => "apmas_report_status",
    SendMessage => "apmas_send_message",
    RequestHelp => "apmas_request_help",
    CompleteAgent => "apmas_complete",
    InstructAgent => "apmas_pm_instruct",
    GetContext => "apmas_get_context",
}

/// `apmas_heartbeat`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Heartbeat {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The role of the calling agent on the task, such as `developer` or `reviewer-2`; absent means the role of its token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<Role>,
    /// Current activity.
    pub status: Activity,
    /// Progress, in words.
    #[schemars(length(min = 1, max = MAX_LINE_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Tokens of its context that are used.
    #[schemars(range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_context_usage: Option<i64>,
    /// Ids of instructions it acknowledges.
    #[schemars(length(max = MAX_ITEMS))]
    #[serde(default)]
    pub acknowledge: Vec<MessageId>,
}

/// `apmas_checkpoint`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SaveAgentCheckpoint {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The role of the calling agent on the task, such as `developer` or `reviewer-2`.
    pub agent_role: Role,
    /// Progress, in words.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub summary: String,
    /// Completed items.
    #[schemars(length(max = MAX_ITEMS), inner(length(max = MAX_LINE_BYTES)))]
    pub completed_items: Vec<String>,
    /// Pending items.
    #[schemars(length(max = MAX_ITEMS), inner(length(max = MAX_LINE_BYTES)))]
    pub pending_items: Vec<String>,
    /// Files it is working on.
    #[schemars(length(max = MAX_ITEMS), inner(length(max = MAX_LINE_BYTES)))]
    #[serde(default)]
    pub active_files: Vec<String>,
    /// Notes for its successor.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// `apmas_report_to_pm`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportToPm {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The role of the calling agent on the task, such as `developer` or `reviewer-2`.
    pub agent_role: Role,
    /// The type of report.
    #[schemars(with = "ReportKind")]
    pub message_type: String,
    /// The component it is about.
    #[schemars(length(min = 1, max = MAX_LINE_BYTES))]
    pub component: String,
    /// Details, by type.
    #[schemars(with = "Map<String, Value>")]
    pub payload: Value,
    /// Idempotency key: a report with the same key is stored once.
    #[schemars(length(min = 1, max = MAX_IDEMPOTENCY_KEY_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_report_status`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportStatus {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The role of the calling agent on the task, such as `developer` or `reviewer-2`.
    pub agent_role: Role,
    /// Progress status.
    pub status: Progress,
    /// Status message.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub message: String,
    /// Relevant files.
    #[schemars(length(max = MAX_ITEMS), inner(length(max = MAX_LINE_BYTES)))]
    #[serde(default)]
    pub artifacts: Vec<String>,
    /// Why it is blocked.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// The work unit it is about.
    #[schemars(length(min = 1, max = MAX_WORK_UNIT_ID_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit_id: Option<String>,
    /// Idempotency key: a message with the same key is stored once.
    #[schemars(length(min = 1, max = MAX_IDEMPOTENCY_KEY_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_send_message`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessage {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The role of the calling agent on the task, such as `developer` or `reviewer-2`.
    pub agent_role: Role,
    /// Recipient: `pm`, the project manager.
    #[schemars(length(min = 1, max = MAX_ROLE_CHARS))]
    pub to: String,
    /// Message kind.
    #[serde(rename = "type")]
    pub kind: NoteKind,
    /// The message.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub content: String,
    /// Idempotency key: a message with the same key is stored once.
    #[schemars(length(min = 1, max = MAX_IDEMPOTENCY_KEY_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_request_help`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestHelp {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The role of the calling agent on the task, such as `developer` or `reviewer-2`.
    pub agent_role: Role,
    /// Kind of help that is requested.
    pub help_type: HelpKind,
    /// Description of the problem.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub issue: String,
    /// Role of the agent whose help is requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent: Option<Role>,
    /// Background information.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Idempotency key: a question with the same key is stored once.
    #[schemars(length(min = 1, max = MAX_IDEMPOTENCY_KEY_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_complete`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompleteAgent {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// The role of the calling agent on the task, such as `developer` or `reviewer-2`.
    pub agent_role: Role,
    /// Summary of the work.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub summary: String,
    /// Files with the result.
    #[schemars(length(max = MAX_ITEMS), inner(length(max = MAX_LINE_BYTES)))]
    pub artifacts: Vec<String>,
    /// Notes for other agents.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// `apmas_pm_instruct`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstructAgent {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Role of the receiving agent.
    pub to_agent: Role,
    /// Instruction type.
    pub instruction_type: InstructionKind,
    /// The instructions.
    #[schemars(length(min = 1, max = MAX_TEXT_BYTES))]
    pub instructions: String,
    /// Structured details.
    #[schemars(with = "Map<String, Value>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// Idempotency key: an instruction with the same key is stored once.
    #[schemars(length(min = 1, max = MAX_IDEMPOTENCY_KEY_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_get_context`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetContext {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Role of the caller; its pending instructions are part of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<Role>,
    /// Parts to include; all when absent.
    #[schemars(extend("uniqueItems" = true))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<ContextPart>>,
    /// Only agents with these roles.
    #[schemars(length(max = MAX_CONTEXT_ROLES))]
    #[serde(default)]
    pub agent_roles: Vec<Role>,
    /// Maximum number of messages; 50 when absent.
    #[schemars(range(min = 1, max = MAX_CONTEXT_MESSAGES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_limit: Option<u32>,
}

/// A part of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextPart {
    /// The task itself.
    Project,
    /// Its agents.
    Agents,
    /// Its messages.
    Messages,
    /// Its files.
    Artifacts,
    /// Its work units.
    Work,
}

/// `db.message.list`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageQuery {
    /// Only messages from or to this role.
    #[schemars(length(min = 1, max = MAX_ROLE_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Only messages of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<cynode_domain::agent::MessageKind>,
    /// Only messages that the project manager has not processed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unprocessed: bool,
    /// Only messages on open tasks that wait for a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waiting_for_person: bool,
    /// Oldest first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub oldest_first: bool,
    /// Page size.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    #[schemars(length(min = 1, max = MAX_CURSOR_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
