//! Runs: where they stand, how they went, and what people do to them.
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
    /// Follows the run through logs of every process.
    pub trace_id: TraceId,
    /// Where its workflow stands.
    pub status: RunStatus,
    /// Where it stands for people: its status, and what it waits for.
    pub state: RunState,
    /// Where in the graph it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceView>,
    /// Who drives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseView>,
    /// What it waits for, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The version of the graph that drives it; absent until a runner took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_version: Option<u32>,
    /// The run and the row of it that this run went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentView>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When a runner first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Where in its graph a run is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PlaceView {
    /// Transitions so far.
    pub sequence: i64,
    /// The node that completed last.
    pub last_node: String,
    /// The edge taken out of it.
    pub edge: String,
    /// The node it is in, or will go on with; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Who drives a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct LeaseView {
    /// The runner.
    pub holder_id: HolderId,
    /// The epoch of the lease.
    pub epoch: i64,
    /// When the lease ends unless it is renewed.
    pub expires_at: DateTime<Utc>,
}

/// What a run went on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ParentView {
    /// The run.
    pub run_id: RunId,
    /// The row of its history after which this run went on; 0 for its beginning.
    pub sequence: i64,
}

/// A run with all that is known of it at this moment.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RunDetail {
    /// The run.
    #[serde(flatten)]
    pub run: RunView,
    /// The step it is at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepView>,
    /// The question that was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionView>,
    /// What came of its task, once that is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What was verified of its task, once that is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationStatus>,
}

/// The step that a run is at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StepView {
    /// Its place in the plan, from 0.
    pub index: u32,
    /// How many steps the plan has.
    pub of: u32,
    /// What it runs.
    pub action: String,
    /// How often it was dispatched.
    pub attempt: u32,
    /// How often it may be, if it fails.
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
    /// When.
    pub asked_at: DateTime<Utc>,
    /// Until when an answer is waited for.
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
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
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
    /// The pagination part.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// One line of a run's history: the workflow moved, or somebody did something to the run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HistoryItem {
    /// The workflow moved.
    Transition(HistoryRow),
    /// Somebody did something.
    Act(ActView),
}

/// A transition of a run, and what it changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct HistoryRow {
    /// Its number, from 1.
    pub sequence: i64,
    /// The node that completed.
    pub node: String,
    /// Which of its edges was taken.
    pub edge: String,
    /// Where that leads; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_node: Option<String>,
    /// The step it was about, from 0.
    pub step_index: Option<u32>,
    /// The job it was about.
    pub job_id: Option<JobId>,
    /// The parts of the state that it changed.
    pub changed: Vec<String>,
    /// How long the node took, in milliseconds.
    pub duration_ms: i64,
    /// When it was recorded.
    pub recorded_at: DateTime<Utc>,
}

/// What somebody did to a run.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ActView {
    /// After which transition; 0 before the first.
    pub sequence: i64,
    /// What.
    pub verb: RunVerb,
    /// Who.
    pub by: String,
    /// Details, by verb.
    pub detail: Value,
    /// When.
    pub recorded_at: DateTime<Utc>,
}

/// `GET /v1/runs/{run}/diff`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// The row of the run to compare from; the one before `to`, or the newest with another run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The row to compare with; the newest when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
    /// The run that `to` is a row of; the same run when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
}

/// What is different between the states at two rows.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DiffView {
    /// The first row.
    pub from: ParentView,
    /// The second row.
    pub to: ParentView,
    /// What is different, by path.
    pub differences: Vec<DifferenceView>,
    /// How many more differences there are than are shown.
    pub left_out: u32,
}

/// One value that differs.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DifferenceView {
    /// Where in the state, such as `/plan/steps/0/action/line` (RFC 6901).
    pub path: String,
    /// The value at the first row; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value at the second row; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// One decision of a run: what it was made from, by what, and what it led to.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DecisionView {
    /// The transition that it was made in, or after which.
    pub sequence: i64,
    /// The node, or `person`.
    pub node: String,
    /// What was to be decided.
    pub about: String,
    /// What was known.
    pub input: Vec<String>,
    /// The rule, or the person, that decided.
    pub made_by: String,
    /// What it led to.
    pub led_to: String,
    /// When.
    pub recorded_at: DateTime<Utc>,
}

/// `POST /v1/runs/{run}/answer`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRun {
    /// The answer, in one of the forms that the question accepts.
    pub reply: Reply,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// `POST /v1/runs/{run}/retry`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRun {
    /// The node to begin with, as it ran last; when absent, the one that failed, or the step that did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// `POST /v1/runs/{run}/fork`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkRun {
    /// The row of the history to go on from.
    pub sequence: i64,
    /// A name for the new task; made from the old one's when absent. Numbered if taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// Two requests of one user with the same key make one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}
