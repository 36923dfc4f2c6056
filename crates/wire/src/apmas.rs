//! What agents and the project manager say to each other: the arguments and results of the
//! `apmas_*` tools.
//!
//! Arguments have the names that agents know (`agentRole`, `workUnitId`); `task_id` is ours.
//! Results are spelt like every other result.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{Activity, HelpKind, InstructionKind, NoteKind, Progress, Role};
use cynode_domain::ids::{AgentId, CheckpointId, MessageId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tasks::TaskView;
use crate::work::WorkUnitView;

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
    pub progress: Option<String>,
    /// How much of its context is used.
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
    pub blocked_reason: Option<String>,
    /// The work unit it is about.
    pub work_unit_id: Option<String>,
    /// The same key again is the same message.
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
    pub target_agent: Option<Role>,
    /// What one must know to help.
    pub context: Option<String>,
    /// The same key again is the same question.
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
    pub context: Option<Value>,
    /// The same key again is the same instruction.
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
    pub agent_role: Option<Role>,
    /// What to show; everything when absent.
    pub include: Option<Vec<ContextPart>>,
    /// Only these agents.
    #[serde(default)]
    pub agent_roles: Vec<Role>,
    /// How many messages; 50 when absent.
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

/// Where an agent stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AgentView {
    /// The life's id.
    pub id: AgentId,
    /// The agent's name on the task.
    pub role: Role,
    /// Where it stands.
    pub status: String,
    /// What it does.
    pub activity: Option<Activity>,
    /// What it last said of its progress.
    pub progress: Option<String>,
    /// How much of its context is used.
    pub context_usage: Option<i64>,
    /// The files it named.
    pub artifacts: Vec<String>,
    /// When it first spoke.
    pub started_at: DateTime<Utc>,
    /// When it last gave a sign of life.
    pub last_heartbeat_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// A message and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct MessageView {
    /// The message's id.
    pub id: MessageId,
    /// The task it is about.
    pub task_id: TaskId,
    /// Who sent it.
    pub sender: String,
    /// Who gets it.
    pub recipient: String,
    /// What kind it is.
    pub kind: String,
    /// The type within its kind.
    #[serde(rename = "type")]
    pub subtype: String,
    /// The component it is about.
    pub component: Option<String>,
    /// The work unit it is about.
    pub work_unit_id: Option<String>,
    /// What it says, for people.
    pub content: String,
    /// What it says, for programs.
    pub payload: Value,
    /// When it was sent.
    pub created_at: DateTime<Utc>,
    /// When its recipient first got it.
    pub delivered_at: Option<DateTime<Utc>>,
    /// When its recipient said so.
    pub acknowledged_at: Option<DateTime<Utc>>,
    /// When the project manager was done with it.
    pub processed_at: Option<DateTime<Utc>>,
}

/// Something the project manager wants of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct InstructionView {
    /// The instruction's id, for `acknowledge`.
    pub id: MessageId,
    /// What kind it is.
    pub instruction_type: String,
    /// What to do.
    pub instructions: String,
    /// Details, for programs.
    pub context: Value,
    /// When it was given.
    pub created_at: DateTime<Utc>,
}

/// The answer to an agent that said something.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct SaidView {
    /// The message as it is kept.
    pub message_id: MessageId,
    /// Whether it was said before.
    pub repeated: bool,
    /// Where the agent stands now.
    pub agent_status: String,
    /// What the project manager wants of it, told for the first time.
    pub instructions: Vec<InstructionView>,
}

/// The answer to a sign of life.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct HeartbeatView {
    /// Where the agent stands now.
    pub agent_status: String,
    /// Without another sign of life until then, its role is free for others.
    pub deadline: DateTime<Utc>,
    /// What the project manager wants of it, told for the first time.
    pub instructions: Vec<InstructionView>,
}

/// How far an agent came.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AgentCheckpointView {
    /// The checkpoint's id.
    pub id: CheckpointId,
    /// How far it came, in words.
    pub summary: String,
    /// What is done.
    pub completed_items: Vec<String>,
    /// What is left.
    pub pending_items: Vec<String>,
    /// The files it works on.
    pub active_files: Vec<String>,
    /// What its successor should know.
    pub notes: Option<String>,
    /// Such as `2/5 (40%)`.
    pub progress: String,
    /// When it was saved.
    pub created_at: DateTime<Utc>,
}

/// The answer to a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct CheckpointSavedView {
    /// The checkpoint's id.
    pub checkpoint_id: CheckpointId,
    /// Such as `2/5 (40%)`.
    pub progress: String,
    /// Whether it is the same as the one before, which was kept.
    pub repeated: bool,
    /// What the project manager wants of the agent, told for the first time.
    pub instructions: Vec<InstructionView>,
}

/// The answer to an agent that is done.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct CompletedView {
    /// The message as it is kept.
    pub message_id: MessageId,
    /// Whether it was said before.
    pub repeated: bool,
    /// Where the agent stands now.
    pub agent_status: String,
    /// How long it worked.
    pub elapsed_seconds: i64,
}

/// What an agent should know.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ContextView {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<TaskView>,
    /// Who works on it, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<AgentView>>,
    /// What was said, newest first; to an agent only what it said or was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<MessageView>>,
    /// The paths of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<String>>,
    /// Its work units; to an agent only those of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_units: Option<Vec<WorkUnitView>>,
    /// How far the agent, or the one before it in its role, came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<AgentCheckpointView>,
    /// What the project manager wants of the agent and it has not acknowledged.
    pub instructions: Vec<InstructionView>,
    /// Whether something was left out because the answer would be too long.
    pub truncated: bool,
}

/// `db.message.list`
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MessageQuery {
    /// From or to this role.
    pub role: Option<String>,
    /// Of this kind.
    pub kind: Option<cynode_domain::agent::MessageKind>,
    /// Only what waits for the project manager.
    #[serde(default)]
    pub unprocessed: bool,
    /// Oldest first, for whoever works through them.
    #[serde(default)]
    pub oldest_first: bool,
    /// How many items.
    pub limit: Option<u32>,
    /// Where the page begins.
    pub cursor: Option<String>,
}
