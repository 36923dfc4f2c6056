//! Schedules.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProjectId, ScheduleId, ScheduleRunId, TaskId, UserId};
use cynode_domain::schedule::{IfMissed, MAX_EXPRESSION, MIN_EVERY_S, Overlap, ScheduleRunStatus};
use cynode_domain::status::ShownTaskStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::page::PageQuery;
use crate::requests::SubmitRequest;
use crate::tasks::CreateTask;

/// The longest name.
pub const MAX_NAME_CHARS: usize = 200;
/// The longest due time and time zone.
pub const MAX_TIME_CHARS: usize = 60;
/// The longest request in prose.
pub const MAX_PROMPT_BYTES: usize = 64 * 1024;
/// The most tasks of one due time.
pub const MAX_DUE_TASKS: usize = 10;

/// `POST /v1/schedules`: one of `cron`, `every_s` and `at`, and one of `prompt`, `task` and
/// `request`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSchedule {
    /// Name, unique per owner and project. Normalised.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub name: String,
    /// Project of its tasks, by id or slug; the caller's default project when absent.
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Cron expression: minute, hour, day of month, month, day of week.
    #[schemars(length(min = 1, max = MAX_EXPRESSION))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Interval in seconds, at least 60.
    #[schemars(range(min = MIN_EVERY_S))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u32>,
    /// One-off due time: `2026-11-16T03:00:00Z`, or `2026-11-16 03:00` as local time in `time_zone`.
    #[schemars(length(min = 1, max = MAX_TIME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Time zone of `cron` and `at`, and of the output; UTC when absent.
    #[schemars(length(min = 1, max = MAX_TIME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Work in prose; the project manager interprets it and creates the tasks.
    #[schemars(length(min = 1, max = MAX_PROMPT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A task with commands or a script, created unchanged; as in `POST /v1/tasks`, without a project.
    #[schemars(with = "Map<String, Value>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<CreateTask>>,
    /// Work that is submitted unchanged; as in `POST /v1/requests`, without a project. Agents cannot set it.
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<SubmitRequest>>,
    /// Whether it is enabled; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Policy for missed due times; `once` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_missed: Option<IfMissed>,
    /// Policy for due times while earlier work is open; `skip` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

/// `PATCH /v1/schedules/{schedule}`; absent fields do not change. A new timing or payload replaces the old one, of
/// any kind.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSchedule {
    /// The new name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Cron expression.
    #[schemars(length(min = 1, max = MAX_EXPRESSION))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Interval in seconds, from now.
    #[schemars(range(min = MIN_EVERY_S))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u32>,
    /// One-off due time.
    #[schemars(length(min = 1, max = MAX_TIME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The new time zone.
    #[schemars(length(min = 1, max = MAX_TIME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// New prompt.
    #[schemars(length(min = 1, max = MAX_PROMPT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The new task.
    #[schemars(with = "Map<String, Value>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<CreateTask>>,
    /// The new request. Agents cannot set it.
    #[schemars(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<SubmitRequest>>,
    /// Whether it is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Policy for missed due times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_missed: Option<IfMissed>,
    /// Policy for due times while earlier work is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

/// `GET /v1/schedules`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduleQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only schedules of this project, by id or slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl ScheduleQuery {
    /// Paging parameters of the query.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// A schedule.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ScheduleView {
    /// The schedule's id.
    pub id: ScheduleId,
    /// Its name.
    pub name: String,
    /// Owner.
    pub owner_id: UserId,
    /// Project of its tasks.
    pub project_id: ProjectId,
    /// `active`, `paused`, or `finished` if it is never due again.
    pub state: String,
    /// Cron expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Interval in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u32>,
    /// One-off due time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<DateTime<Utc>>,
    /// Its time zone.
    pub time_zone: String,
    /// Work in prose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Task to create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<CreateTask>>,
    /// The request it submits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<SubmitRequest>>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Policy for missed due times.
    pub if_missed: IfMissed,
    /// Policy for due times while earlier work is open.
    pub overlap: Overlap,
    /// Next due time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due_at: Option<DateTime<Utc>>,
    /// Next due time in its time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due_local: Option<String>,
    /// Its newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<ScheduleRunView>,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// One run of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ScheduleRunView {
    /// The run's id.
    pub id: ScheduleRunId,
    /// Due time.
    pub due_at: DateTime<Utc>,
    /// Due time in the schedule's time zone.
    pub due_local: String,
    /// Whether a person fired it.
    pub manual: bool,
    /// `claimed`, `handed_over`, `done`, `skipped` or `failed`.
    pub status: ScheduleRunStatus,
    /// Summary, or why it was skipped or failed.
    pub summary: String,
    /// Created tasks.
    pub tasks: Vec<ScheduledTaskView>,
    /// Number of attempts.
    pub attempts: u32,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
}

/// A task created by a schedule run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ScheduledTaskView {
    /// The task.
    pub id: TaskId,
    /// Its name.
    pub name: String,
    /// Current status.
    pub status: ShownTaskStatus,
}
