//! `db.work_unit.*` and `apmas_get_work_status`

use cynode_domain::ids::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::work::{MAX_WORK_UNIT_ID_CHARS, WorkQuery};

tool_calls! {
    DbWorkUnitGet => "db.work_unit.get",
    DbWorkUnitList => "db.work_unit.list",
    GetWorkStatus => "apmas_get_work_status",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbWorkUnitGet {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the work unit, such as `impl:auth`.
    #[schemars(length(min = 1, max = MAX_WORK_UNIT_ID_CHARS))]
    pub work_unit_id: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbWorkUnitList {
    /// The id of the task.
    pub task_id: TaskId,
    #[serde(flatten)]
    pub query: WorkQuery,
}

/// The same tool under its established name.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct GetWorkStatus(pub DbWorkUnitList);
