//! `db.schedule.*`

use cynode_domain::ids::{ProjectId, ScheduleId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::page::PageQuery;
use crate::schedules::{CreateSchedule, MAX_DUE_TASKS, UpdateSchedule};
use crate::tool_calls::NewTask;

tool_calls! {
    DbScheduleCreate => "db.schedule.create",
    DbScheduleDelete => "db.schedule.delete",
    DbScheduleGet => "db.schedule.get",
    DbScheduleList => "db.schedule.list",
    DbScheduleMakeTasks => "db.schedule.make_tasks",
    DbScheduleRuns => "db.schedule.runs",
    DbScheduleUpdate => "db.schedule.update",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbScheduleCreate {
    /// The id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    #[serde(flatten)]
    pub schedule: CreateSchedule,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbScheduleDelete {
    /// The id of the schedule.
    pub schedule_id: ScheduleId,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbScheduleGet {
    /// The id of the schedule.
    pub schedule_id: ScheduleId,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct DbScheduleList {
    /// The id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbScheduleMakeTasks {
    /// The tasks of the due time.
    #[schemars(length(max = MAX_DUE_TASKS))]
    pub tasks: Vec<NewTask>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbScheduleRuns {
    /// The id of the schedule.
    pub schedule_id: ScheduleId,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbScheduleUpdate {
    /// The id of the schedule.
    pub schedule_id: ScheduleId,
    #[serde(flatten)]
    pub update: UpdateSchedule,
}
