//! What the `apmas_*` tools answer. Results are spelt like every other result.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{Activity, Role};
use cynode_domain::ids::{AgentId, CheckpointId, MessageId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tasks::TaskView;
use crate::work::WorkUnitView;

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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
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
    /// Why the project manager does not deal with it: a person may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<String>,
    /// Why a person has to answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<String>,
    /// The handle of the person who answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
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
