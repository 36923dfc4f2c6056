//! Tasks: create, read, update, cancel.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Criterion;
use cynode_domain::git::{ChangeSource, TaskRepository, UseProjectRepository};
use cynode_domain::ids::{JobId, ProfileId, ProjectId, RunId, TaskId};
use cynode_domain::job::Limits;
use cynode_domain::node_labels::NodeLabels;
use cynode_domain::plan::{InputMode, StepCriterion};
use cynode_domain::status::ShownTaskStatus;
use cynode_domain::verification::VerificationStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::StepChecksView;
use crate::jobs::JobView;
use crate::page::PageQuery;

/// The longest name of a task, before it is normalised.
pub const MAX_NAME_CHARS: usize = 200;
/// The longest request in prose.
pub const MAX_PROMPT_BYTES: usize = 1024 * 1024;
/// The most commands of a task.
pub const MAX_COMMANDS: usize = 200;
/// The longest commands of a task in all.
pub const MAX_COMMANDS_BYTES: usize = 64 * 1024;
/// The most acceptance criteria, expected outputs and dependencies.
pub const MAX_LIST: usize = 100;
/// The most tasks that a task builds on.
pub const MAX_BUILDS_ON: usize = 50;
/// The most attempts of a step.
pub const MAX_ATTEMPTS: u32 = 10;
/// The longest idempotency key.
pub const MAX_IDEMPOTENCY_KEY_BYTES: usize = 200;
/// The longest reason for ending a task.
pub const MAX_REASON_CHARS: usize = 1000;
/// The longest timestamp.
const MAX_TIME_CHARS: usize = 64;

/// `POST /v1/tasks`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTask {
    /// Input mode.
    #[serde(default)]
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    #[serde(default)]
    pub prompt: String,
    /// The command lines, in `commands` mode.
    #[serde(default)]
    pub commands: Vec<String>,
    /// Name of the task; derived from the request when absent. Normalised, and numbered if taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// The project, by id or slug; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The profile of the project that its agents work in, by name or id; the default one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Acceptance criteria.
    #[serde(default)]
    pub acceptance_criteria: Vec<Criterion>,
    /// Criteria for single commands, checked before the next one starts; only in `commands` mode, where each command is
    /// a step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Artifact paths that the last step must produce.
    #[serde(default)]
    pub expected_outputs: Vec<String>,
    /// Tasks that must complete first, by id or name.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Files to place in the workspace under `attachments/`.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// The repository to work on. It is checked out into the workspace, and the changes are collected after each step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<TaskRepository>,
    /// Works on the repository of a project, in place of `repository`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_repository: Option<UseProjectRepository>,
    /// Tasks on the same repository whose newest collected changes are merged before the task starts, by id or name, in this
    /// order; at most 50. They do not have to be pushed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<String>,
    /// Whether the task starts with conflict markers in the files where these changes conflict, to resolve them. Otherwise a
    /// conflict fails the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_conflicts: bool,
    /// Limits of each job.
    #[serde(default)]
    pub limits: Limits,
    /// Whether a step may be retried after an interruption, up to 3 attempts or `max_attempts` if that is more; only
    /// for commands that are safe to repeat.
    #[serde(default)]
    pub retry_interrupted: bool,
    /// Maximum attempts of a failing step, 1 to 10; when absent, the preference `workflow.max_step_retries` applies,
    /// otherwise 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Whether a person must approve the plan before anything runs: `POST /v1/runs/{run}/answer`.
    #[serde(default)]
    pub approve_plan: bool,
    /// How long a question of the task's run waits for an answer, in seconds, 60 to 31536000; then the task fails.
    /// Unlimited when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_within_s: Option<u32>,
    /// Worker node for the task, by name or id. When absent, the project manager chooses one of several, or a rule
    /// without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Labels that the worker node must have, such as `{"zone": "eu"}`; every node has `os` and `arch`. Not together with
    /// `node`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_labels: NodeLabels,
    /// The image that its jobs run in, by the name that worker nodes know; `host`, the system of the node, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The agent that works on it, in `agent` mode: `sba`, the built-in one, or the name of an agent profile. The built-in one
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which model the built-in agent uses, in `agent` mode: `fast`, `balanced` or `strong`. `strong` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_hint: Option<String>,
    /// Idempotency key: requests of one user with the same key create one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// `PATCH /v1/tasks/{task}`; absent fields do not change.
#[derive(
    Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema,
)]
#[serde(deny_unknown_fields)]
pub struct UpdateTask {
    /// New name. Normalised; rejected if another task of its creator has it.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// New acceptance criteria, replacing all current ones.
    #[schemars(with = "Vec<Value>", length(max = MAX_LIST))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance_criteria: Option<Vec<Criterion>>,
    /// Expected `updated_at` of the task; rejected if the task has changed since.
    #[schemars(with = "String", length(min = 1, max = MAX_TIME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_updated_at: Option<DateTime<Utc>>,
}

/// An input file of a task.
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
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
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
    /// Paging parameters of the query.
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
    /// The profile that its agents work in; absent for the default one of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    /// Its newest run.
    pub run_id: Option<RunId>,
    /// Input mode.
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    pub prompt: String,
    /// The command lines, in `commands` mode.
    pub commands: Vec<String>,
    /// Acceptance criteria.
    pub acceptance_criteria: Vec<Criterion>,
    /// Criteria for single commands, checked before the next one starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Tasks that must complete first.
    pub depends_on: Vec<TaskId>,
    /// Why a queued task cannot start: a dependency did not complete; or why a running task is blocked: its last
    /// runner could not continue it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    /// The repository that it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<TaskRepository>,
    /// The changes of other tasks that it builds on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<ChangeSource>,
    /// The request that it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// The work unit of the request that it carries out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit_id: Option<String>,
    /// The worker node that it must run on, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The image that its jobs run in; absent for `host`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The agent profile that works on it; absent for the built-in agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Summary, once closed.
    pub summary: Option<String>,
    /// What was verified of it: `verified`, `unverified` or `not_checked`. Absent unless it is completed, and
    /// for tasks that completed before this was recorded.
    #[serde(default)]
    pub verification: Option<VerificationStatus>,
    /// Executed commands with their checks. Omitted in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepChecksView>,
    /// Creation time.
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
    /// Summary, once closed.
    pub summary: Option<String>,
    /// Verification, as in [`TaskView::verification`].
    #[serde(default)]
    pub verification: Option<VerificationStatus>,
    /// The commands that were run, with the checks that were applied to each.
    #[serde(default)]
    pub steps: Vec<StepChecksView>,
    /// All jobs, in creation order.
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
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// `stdout`, `stderr` or `all`; `all` when absent.
    #[schemars(extend("enum" = ["stdout", "stderr", "all"]))]
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
    /// Sequence number, from 1.
    pub sequence: i64,
    /// The node that completed.
    pub node: String,
    /// Edge that was taken.
    pub edge: String,
    /// The step it was about.
    pub step_index: Option<u32>,
    /// Job.
    pub job_id: Option<JobId>,
    /// How long the node took, in milliseconds.
    pub duration_ms: i64,
    /// When it was recorded.
    pub recorded_at: DateTime<Utc>,
}
