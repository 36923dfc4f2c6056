//! Tasks: creating them, looking at them, stopping them.

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{JobId, ProjectId, RunId, TaskId};
use cynode_domain::job::Limits;
use cynode_domain::plan::{InputMode, StepCriterion};
use cynode_domain::status::ShownTaskStatus;
use cynode_domain::verification::VerificationStatus;
use serde::{Deserialize, Serialize};

use crate::checks::StepChecksView;
use crate::jobs::JobView;
use crate::page::PageQuery;

/// `POST /v1/tasks`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTask {
    /// How the task says what is to be done.
    #[serde(default = "prompt_mode")]
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    #[serde(default)]
    pub prompt: String,
    /// The command lines, in `commands` mode.
    #[serde(default)]
    pub commands: Vec<String>,
    /// A name for the task; made from the request when absent. Normalised, and numbered if taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// The project, by id or slug; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// What must be true of the result.
    #[serde(default)]
    pub acceptance_criteria: Vec<Criterion>,
    /// What must be true of the result of single commands before the next one starts; only in `commands`
    /// mode, where each command is a step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Artifact paths the last step must leave behind.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
    /// Tasks that must complete first, by id or name.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Files to place in the workspace under `attachments/`.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// The bounds of each job.
    #[serde(default)]
    pub limits: Limits,
    /// Whether a step may run again after it was interrupted, up to 3 times in all or `max_attempts` if
    /// that is more: only for commands that are safe to repeat.
    #[serde(default)]
    pub retry_interrupted: bool,
    /// How often a failing step may run in all, 1 to 10; when absent, the preference
    /// `workflow.max_step_retries` decides, and without it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Whether a person must agree to the plan before anything runs: `POST /v1/runs/{run}/answer`.
    #[serde(default)]
    pub approve_plan: bool,
    /// How long a question of the task's run waits for an answer, in seconds, 60 to 31536000; then the
    /// task fails. For ever when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within_s: Option<u32>,
    /// The worker node that all of it runs on, by name or id. When absent the project manager chooses
    /// one where several could, and rules without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Two requests of one user with the same key create one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

fn prompt_mode() -> InputMode {
    InputMode::Prompt
}

/// `PATCH /v1/tasks/{task}`: what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTask {
    /// A new name for the task. Normalised; refused if another task of its creator has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// What must be true of the result from now on, in the place of all criteria so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Vec<Criterion>>,
    /// The `updated_at` of the task that the change rests on: refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_updated_at: Option<DateTime<Utc>>,
}

/// A file that comes with a task.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// The file's name, without any directory.
    pub name: String,
    /// The content, in standard base64.
    pub content_base64: String,
}

/// `GET /v1/tasks`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only tasks with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ShownTaskStatus>,
    /// Only tasks of this project, by id or slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl TaskQuery {
    /// The pagination part.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TaskView {
    /// The task's id.
    pub id: TaskId,
    /// The task's name, unique for its creator.
    pub task_name: String,
    /// `queued`, `running`, `waiting`, `completed`, `failed`, `canceled` or `superseded`. A task is
    /// `waiting` while its run waits for a person's answer; `blocked_reason` quotes the question.
    pub status: ShownTaskStatus,
    /// Whether nothing more will happen.
    pub closed: bool,
    /// The project it belongs to.
    pub project_id: ProjectId,
    /// Its newest run.
    pub run_id: Option<RunId>,
    /// How the task says what is to be done.
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    pub prompt: String,
    /// The command lines, in `commands` mode.
    pub commands: Vec<String>,
    /// What must be true of the result.
    pub acceptance_criteria: Vec<Criterion>,
    /// What must be true of the result of single commands before the next one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Tasks that must complete first.
    pub depends_on: Vec<TaskId>,
    /// Why a queued task will not start by itself: something it depends on did not complete. Or why
    /// a running one stands still: its last runner could not go on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// The worker node that it must run on, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What came of it, once closed.
    pub summary: Option<String>,
    /// What was verified of it: `verified`, `unverified` or `not_checked`. Absent unless it is completed, and
    /// for tasks that completed before this was recorded.
    #[serde(default)]
    pub verification: Option<VerificationStatus>,
    /// The commands that were run, with the checks that were applied to each. Left out of lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepChecksView>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// When its workflow started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it closed.
    pub ended_at: Option<DateTime<Utc>>,
}

/// `GET /v1/tasks/{task}/result`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResultView {
    /// The task.
    pub task_id: TaskId,
    /// Its status, as in [`TaskView::status`].
    pub status: ShownTaskStatus,
    /// What came of it, once closed.
    pub summary: Option<String>,
    /// What was verified of it, as in [`TaskView::verification`].
    #[serde(default)]
    pub verification: Option<VerificationStatus>,
    /// The commands that were run, with the checks that were applied to each.
    #[serde(default)]
    pub steps: Vec<StepChecksView>,
    /// Every job, in the order they were made.
    pub jobs: Vec<JobView>,
}

/// `POST /v1/tasks/{task}/cancel`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CanceledView {
    /// The task.
    pub task_id: TaskId,
    /// Whether it is canceled now.
    pub canceled: bool,
    /// Dependent tasks that were canceled with it.
    pub cascaded: Vec<TaskId>,
}

/// `POST /v1/tasks/{task}/dependencies`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddDependency {
    /// The task that must complete first, by id or name.
    pub depends_on: String,
}

/// `GET /v1/tasks/{task}/logs`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// `stdout`, `stderr` or `all`; `all` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

/// The kept output of every step and check of a task, in the order they ran.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct LogsView {
    /// The task.
    pub task_id: TaskId,
    /// Standard output; invalid UTF-8 is replaced.
    pub stdout: String,
    /// Standard error; invalid UTF-8 is replaced.
    pub stderr: String,
}

/// One transition of a run's workflow.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TransitionView {
    /// Its number, from 1.
    pub sequence: i64,
    /// The node that completed.
    pub node: String,
    /// Which of its edges was taken.
    pub edge: String,
    /// The step it was about.
    pub step_index: Option<u32>,
    /// The job it was about.
    pub job_id: Option<JobId>,
    /// How long the node took, in milliseconds.
    pub duration_ms: i64,
    /// When it was recorded.
    pub recorded_at: DateTime<Utc>,
}
