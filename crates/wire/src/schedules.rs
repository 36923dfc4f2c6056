//! Schedules: work that comes due by the clock.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProjectId, ScheduleId, ScheduleRunId, TaskId, UserId};
use cynode_domain::schedule::{IfMissed, Overlap, ScheduleRunStatus};
use cynode_domain::status::ShownTaskStatus;
use serde::{Deserialize, Serialize};

use crate::page::PageQuery;
use crate::tasks::CreateTask;

/// `POST /v1/schedules`: one of `cron`, `every_s` and `at`, and one of `prompt` and `task`.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSchedule {
    /// What it is called; unique for its owner and project. Normalised.
    pub name: String,
    /// The project in which its tasks are made, by id or slug; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Five fields: minute, hour, day of the month, month, day of the week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Seconds between two due times, at least 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u32>,
    /// The one time it is due: with an offset, or as the clocks of `time_zone` show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The time zone of `cron` and `at`, and of what is shown; UTC when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// What is to be done, in prose: the project manager interprets it and makes the tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A task with commands or a script, made as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<CreateTask>>,
    /// Whether it comes due; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What becomes of times that nobody saw come; `once` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_missed: Option<IfMissed>,
    /// What becomes of times that come while earlier work is open; `skip` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

/// `PATCH /v1/schedules/{schedule}`; absent fields stay as they are. A new timing takes the place of the
/// old one, of whatever kind, and so does a new payload.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSchedule {
    /// The new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Due as this expression says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Due every so many seconds, from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u32>,
    /// Due once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The new time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The new request in prose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The new task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<CreateTask>>,
    /// Whether it comes due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What becomes of times that nobody saw come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_missed: Option<IfMissed>,
    /// What becomes of times that come while earlier work is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

/// `GET /v1/schedules`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ScheduleQuery {
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only schedules of this project, by id or slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl ScheduleQuery {
    /// The pagination part.
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
    /// Whose it is.
    pub owner_id: UserId,
    /// The project in which its tasks are made.
    pub project_id: ProjectId,
    /// `active`, `paused`, or `finished` when it will never be due again.
    pub state: String,
    /// Due as this expression says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Due every so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u32>,
    /// Due once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<DateTime<Utc>>,
    /// Its time zone.
    pub time_zone: String,
    /// What is to be done, in prose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The task that is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<CreateTask>>,
    /// Whether it comes due.
    pub enabled: bool,
    /// What becomes of times that nobody saw come.
    pub if_missed: IfMissed,
    /// What becomes of times that come while earlier work is open.
    pub overlap: Overlap,
    /// When it is due next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due_at: Option<DateTime<Utc>>,
    /// The same as the clocks of its zone show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_due_local: Option<String>,
    /// Its newest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<ScheduleRunView>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// One time at which a schedule came due, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ScheduleRunView {
    /// The run's id.
    pub id: ScheduleRunId,
    /// When it came due.
    pub due_at: DateTime<Utc>,
    /// The same as the clocks of the schedule's zone showed it.
    pub due_local: String,
    /// Whether a person asked for it, and not the clock.
    pub manual: bool,
    /// `claimed`, `handed_over`, `done`, `skipped` or `failed`.
    pub status: ScheduleRunStatus,
    /// What was done, or why not.
    pub summary: String,
    /// The tasks that were made.
    pub tasks: Vec<ScheduledTaskView>,
    /// How often it was tried.
    pub attempts: u32,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<DateTime<Utc>>,
}

/// A task that was made for a due time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ScheduledTaskView {
    /// The task.
    pub id: TaskId,
    /// Its name.
    pub name: String,
    /// Where it stands now.
    pub status: ShownTaskStatus,
}
