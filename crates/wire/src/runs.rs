//! Runs: state, history and interventions.
//!
//! A run is named by its id, or by the id or name of its task: that is the task's newest run.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{HolderId, JobId, ProjectId, RunId, TaskId, TraceId};
use cynode_domain::question::{Answer, Question, Reply};
use cynode_domain::run::{RunState, RunVerb};
use cynode_domain::status::RunStatus;
use cynode_domain::verification::VerificationStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::page::PageQuery;

/// The longest comment on an answer.
pub const MAX_COMMENT_CHARS: usize = 1000;

/// One execution of a task's workflow.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RunView {
    /// The run's id.
    pub id: RunId,
    /// The task it executes.
    pub task_id: TaskId,
    /// The task's name.
    pub task_name: String,
    /// The project the task belongs to.
    pub project_id: ProjectId,
    /// Trace id, shared by the logs of all processes.
    pub trace_id: TraceId,
    /// Workflow status.
    pub status: RunStatus,
    /// State for people: status and what it waits for.
    pub state: RunState,
    /// Position in the graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceView>,
    /// Current lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    /// What it waits for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// Graph version; absent until a runner has claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_version: Option<u32>,
    /// Run and history row that this run is derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentView>,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// When a runner first claimed it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Position of a run in its graph.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PlaceView {
    /// Transitions so far.
    pub sequence: i64,
    /// The node that completed last.
    pub last_node: String,
    /// The edge taken out of it.
    pub edge: String,
    /// Current or next node; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Lease of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct LeaseView {
    /// The runner.
    pub holder_id: HolderId,
    /// The epoch of the lease.
    pub epoch: i64,
    /// When the lease expires unless renewed.
    pub expires_at: DateTime<Utc>,
}

/// Run and history row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ParentView {
    /// The run.
    pub run_id: RunId,
    /// Row of its history; 0 for the start.
    pub sequence: i64,
}

/// A run with its current details.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RunDetail {
    /// The run.
    #[serde(flatten)]
    pub run: RunView,
    /// Current step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepView>,
    /// Newest question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionView>,
    /// Summary of its task, once closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Verification of its task, once completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationStatus>,
}

/// Current step of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StepView {
    /// Index in the plan, from 0.
    pub index: u32,
    /// Number of steps.
    pub of: u32,
    /// Action.
    pub action: String,
    /// Number of the attempt.
    pub attempt: u32,
    /// Maximum attempts.
    pub max_attempts: u32,
    /// Its newest job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
}

/// A question of a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct QuestionView {
    /// The question.
    #[serde(flatten)]
    pub question: Question,
    /// The node that asks.
    pub asked_by: String,
    /// Timestamp.
    pub asked_at: DateTime<Utc>,
    /// Deadline for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_by: Option<DateTime<Utc>>,
    /// The answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// When it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<DateTime<Utc>>,
}

/// `GET /v1/runs`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only runs of this task, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Only runs of tasks of this project, by id or slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only runs in this state: queued, waiting, running, pausing, paused, `needs_answer`, completed,
    /// failed, canceled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl RunQuery {
    /// Paging parameters of the query.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// One item of a run's history: a transition, or an intervention of a person.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HistoryItem {
    /// A transition.
    Transition(HistoryRow),
    /// An intervention of a person.
    Act(ActView),
}

/// A transition and its changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct HistoryRow {
    /// Sequence number, from 1.
    pub sequence: i64,
    /// The node that completed.
    pub node: String,
    /// Edge that was taken.
    pub edge: String,
    /// Next node; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_node: Option<String>,
    /// Step, from 0.
    pub step_index: Option<u32>,
    /// Job.
    pub job_id: Option<JobId>,
    /// Changed fields of the state.
    pub changed: Vec<String>,
    /// How long the node took, in milliseconds.
    pub duration_ms: i64,
    /// When it was recorded.
    pub recorded_at: DateTime<Utc>,
}

/// An intervention of a person.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ActView {
    /// Transition it followed; 0 before the first.
    pub sequence: i64,
    /// Kind of intervention.
    pub verb: RunVerb,
    /// User.
    pub by: String,
    /// Details, by verb.
    pub detail: Value,
    /// Timestamp.
    pub recorded_at: DateTime<Utc>,
}

/// `GET /v1/runs/{run}/diff`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// First row; the row before `to` when absent, or the newest one if `with` is another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// Second row; the newest when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
    /// Run that `to` belongs to; the same run when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

/// Differences between the states at two rows.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DiffView {
    /// The first row.
    pub from: ParentView,
    /// The second row.
    pub to: ParentView,
    /// Differences by path.
    pub differences: Vec<DifferenceView>,
    /// Number of omitted differences.
    pub left_out: u32,
}

/// One value that differs.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DifferenceView {
    /// JSON Pointer into the state, such as `/plan/steps/0/action/line` (RFC 6901).
    pub path: String,
    /// The value at the first row; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value at the second row; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// One decision of a run: input, author and consequence.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DecisionView {
    /// Transition in or after which it was made.
    pub sequence: i64,
    /// The node, or `person`.
    pub node: String,
    /// Subject of the decision.
    pub about: String,
    /// Input of the decision.
    pub input: Vec<String>,
    /// Rule or person that decided.
    pub made_by: String,
    /// Consequence.
    pub led_to: String,
    /// Timestamp.
    pub recorded_at: DateTime<Utc>,
}

/// `POST /v1/runs/{run}/answer`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRun {
    /// The answer, in one of the forms that the question accepts.
    pub reply: Reply,
    /// Comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// `POST /v1/runs/{run}/retry`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRun {
    /// Node to start from; the failed node or step when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// `POST /v1/runs/{run}/fork`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkRun {
    /// History row to fork at.
    pub sequence: i64,
    /// Name of the new task; derived from the old name when absent. Numbered if taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// Idempotency key: requests of one user with the same key create one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}
