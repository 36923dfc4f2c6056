//! `db.finding.*`

use cynode_domain::ids::{FindingId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::findings::CreateFinding;
use crate::page::PageQuery;

tool_calls! {
    DbFindingCreate => "db.finding.create",
    DbFindingGet => "db.finding.get",
    DbFindingList => "db.finding.list",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbFindingCreate {
    /// The id of the task.
    pub task_id: TaskId,
    #[serde(flatten)]
    pub finding: CreateFinding,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbFindingGet {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the finding.
    pub finding_id: FindingId,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbFindingList {
    /// The id of the task.
    pub task_id: TaskId,
    #[serde(flatten)]
    pub page: PageQuery,
}
