//! Results of the `apmas_*` tools, in `snake_case` like every other result.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{Activity, Role};
use cynode_domain::ids::{AgentId, CheckpointId, MessageId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tasks::TaskView;
use crate::work::WorkUnitView;

/// State of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AgentView {
    /// Id of this agent instance.
    pub id: AgentId,
    /// Role of the agent on the task.
    pub role: Role,
    /// Status.
    pub status: String,
    /// Current activity.
    pub activity: Option<Activity>,
    /// Last reported progress.
    pub progress: Option<String>,
    /// Estimated context usage.
    pub context_usage: Option<i64>,
    /// Reported files.
    pub artifacts: Vec<String>,
    /// Time of its first message.
    pub started_at: DateTime<Utc>,
    /// Time of its last heartbeat.
    pub last_heartbeat_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// A message and its delivery state.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessageView {
    /// The message's id.
    pub id: MessageId,
    /// The task it is about.
    pub task_id: TaskId,
    /// Sender.
    pub sender: String,
    /// Recipient.
    pub recipient: String,
    /// Kind.
    pub kind: String,
    /// The type within its kind.
    #[serde(rename = "type")]
    pub subtype: String,
    /// The component it is about.
    pub component: Option<String>,
    /// The work unit it is about.
    pub work_unit_id: Option<String>,
    /// Text for people.
    pub content: String,
    /// Structured payload.
    pub payload: Value,
    /// When it was sent.
    pub created_at: DateTime<Utc>,
    /// When it was first delivered.
    pub delivered_at: Option<DateTime<Utc>>,
    /// When the recipient acknowledged it.
    pub acknowledged_at: Option<DateTime<Utc>>,
    /// When the project manager processed it.
    pub processed_at: Option<DateTime<Utc>>,
    /// Why the project manager stopped processing it; a person may answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_up: Option<String>,
    /// Why a person has to answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<String>,
    /// The handle of the person who answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
}

/// An instruction of the project manager to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct InstructionView {
    /// The instruction's id, for `acknowledge`.
    pub id: MessageId,
    /// Kind.
    pub instruction_type: String,
    /// The instructions.
    pub instructions: String,
    /// Structured details.
    pub context: Value,
    /// When it was given.
    pub created_at: DateTime<Utc>,
}

/// Response to a message of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct MessageReceiptView {
    /// Id of the stored message.
    pub message_id: MessageId,
    /// Whether the message was stored before.
    pub repeated: bool,
    /// Current status of the agent.
    pub agent_status: String,
    /// Newly delivered instructions of the project manager.
    pub instructions: Vec<InstructionView>,
    /// What becomes of the message, for the agent of a unit of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Response to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct HeartbeatView {
    /// Current status of the agent.
    pub agent_status: String,
    /// Without another heartbeat by then, another agent may take the role.
    pub deadline: DateTime<Utc>,
    /// Newly delivered instructions of the project manager.
    pub instructions: Vec<InstructionView>,
}

/// A checkpoint of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct AgentCheckpointView {
    /// The checkpoint's id.
    pub id: CheckpointId,
    /// Progress, in words.
    pub summary: String,
    /// Completed items.
    pub completed_items: Vec<String>,
    /// Pending items.
    pub pending_items: Vec<String>,
    /// Files it is working on.
    pub active_files: Vec<String>,
    /// Notes for its successor.
    pub notes: Option<String>,
    /// Such as `2/5 (40%)`.
    pub progress: String,
    /// When it was saved.
    pub created_at: DateTime<Utc>,
}

/// Response to a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct CheckpointSavedView {
    /// The checkpoint's id.
    pub checkpoint_id: CheckpointId,
    /// Such as `2/5 (40%)`.
    pub progress: String,
    /// Whether it equals the previous checkpoint, which was kept.
    pub repeated: bool,
    /// Newly delivered instructions of the project manager.
    pub instructions: Vec<InstructionView>,
}

/// Response to a completion report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct CompletedView {
    /// Id of the stored message.
    pub message_id: MessageId,
    /// Whether the message was stored before.
    pub repeated: bool,
    /// Current status of the agent.
    pub agent_status: String,
    /// Working time in seconds.
    pub elapsed_seconds: i64,
    /// What becomes of the message, for the agent of a unit of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Context of an agent.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct ContextView {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<TaskView>,
    /// Agents of the task, newest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<AgentView>>,
    /// Messages, newest first; an agent sees only those it sent or received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<MessageView>>,
    /// The paths of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<String>>,
    /// Work units; an agent sees only those of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_units: Option<Vec<WorkUnitView>>,
    /// Newest checkpoint of the agent, or of its predecessor in the same role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<AgentCheckpointView>,
    /// Instructions that the agent has not acknowledged.
    pub instructions: Vec<InstructionView>,
    /// Whether the response was truncated.
    pub truncated: bool,
}
