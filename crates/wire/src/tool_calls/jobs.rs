//! `db.job.*` and `pm.analyst.request`

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::status::JobStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;

tool_calls! {
    DbJobGet => "db.job.get",
    DbJobList => "db.job.list",
    DbJobUpdateStatus => "db.job.update_status",
    PmAnalystRequest => "pm.analyst.request",
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbJobGet {
    /// The id of the job.
    pub job_id: JobId,
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbJobList {
    /// The id of the task.
    pub task_id: TaskId,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbJobUpdateStatus {
    /// The id of the job.
    pub job_id: JobId,
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The new status.
    pub status: JobStatus,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PmAnalystRequest {
    /// The id of the job.
    pub job_id: JobId,
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}
