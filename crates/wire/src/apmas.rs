//! What agents and the project manager say to each other: the arguments and results of the
//! `apmas_*` tools.
//!
//! Arguments have the names that agents know (`agentRole`, `workUnitId`); `task_id` is ours.

mod views;

use cynode_domain::agent::{Activity, HelpKind, InstructionKind, NoteKind, Progress, Role};
use cynode_domain::ids::{MessageId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use views::*;

/// `apmas_heartbeat`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Heartbeat {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// What it does.
    pub status: Activity,
    /// How far it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// How much of its context is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_context_usage: Option<i64>,
    /// Instructions it has seen.
    #[serde(default)]
    pub acknowledge: Vec<MessageId>,
}

/// `apmas_checkpoint`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SaveAgentCheckpoint {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// How far it came, in words.
    pub summary: String,
    /// What is done.
    pub completed_items: Vec<String>,
    /// What is left.
    pub pending_items: Vec<String>,
    /// The files it works on.
    #[serde(default)]
    pub active_files: Vec<String>,
    /// What its successor should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// `apmas_report_to_pm`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportToPm {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// The type of report.
    pub message_type: String,
    /// The component it is about.
    pub component: String,
    /// Details, by type.
    pub payload: Value,
    /// The same key again is the same report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_report_status`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportStatus {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// How it is going.
    pub status: Progress,
    /// The same in words.
    pub message: String,
    /// Files worth looking at.
    #[serde(default)]
    pub artifacts: Vec<String>,
    /// Why it cannot go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// The work unit it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit_id: Option<String>,
    /// The same key again is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_send_message`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessage {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// To whom: the project manager.
    pub to: String,
    /// What kind of message.
    #[serde(rename = "type")]
    pub kind: NoteKind,
    /// The message.
    pub content: String,
    /// The same key again is the same message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_request_help`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestHelp {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// Whose help.
    pub help_type: HelpKind,
    /// What the matter is.
    pub issue: String,
    /// The agent whose help is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_agent: Option<Role>,
    /// What one must know to help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The same key again is the same question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_complete`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompleteAgent {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who speaks.
    pub agent_role: Role,
    /// What was done.
    pub summary: String,
    /// The files that show it.
    pub artifacts: Vec<String>,
    /// What others should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// `apmas_pm_instruct`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstructAgent {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Whom.
    pub to_agent: Role,
    /// What kind of instruction.
    pub instruction_type: InstructionKind,
    /// What to do.
    pub instructions: String,
    /// Details, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The same key again is the same instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `apmas_get_context`
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetContext {
    /// The task.
    #[serde(rename = "task_id")]
    pub task_id: TaskId,
    /// Who asks; it gets its instructions with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<Role>,
    /// What to show; everything when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<ContextPart>>,
    /// Only these agents.
    #[serde(default)]
    pub agent_roles: Vec<Role>,
    /// How many messages; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_limit: Option<u32>,
}

/// A part of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextPart {
    /// The task itself.
    Project,
    /// Who works on it.
    Agents,
    /// What was said.
    Messages,
    /// Its files.
    Artifacts,
    /// Its work units.
    Work,
}

/// `db.message.list`
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MessageQuery {
    /// From or to this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<cynode_domain::agent::MessageKind>,
    /// Only what waits for the project manager.
    #[serde(default)]
    pub unprocessed: bool,
    /// Only what waits for a person, on open tasks.
    #[serde(default)]
    pub waiting_for_person: bool,
    /// Oldest first, for whoever works through them.
    #[serde(default)]
    pub oldest_first: bool,
    /// How many items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Where the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
