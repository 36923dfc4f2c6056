//! `db.run.*`

use cynode_domain::ids::{RunId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::page::PageQuery;
use crate::runs::MAX_COMMENT_CHARS;
use crate::tasks::{MAX_COMMANDS, MAX_COMMANDS_BYTES};

tool_calls! {
    DbRunAnswer => "db.run.answer",
    DbRunGet => "db.run.get",
    DbRunHistory => "db.run.history",
    DbRunList => "db.run.list",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbRunAnswer {
    /// The id of the run.
    pub run_id: RunId,
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Command lines to run, one after the other. Omit them to decline.
    #[schemars(length(max = MAX_COMMANDS), inner(length(max = MAX_COMMANDS_BYTES)))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The reason, in prose.
    #[schemars(length(max = MAX_COMMENT_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbRunGet {
    /// The id of the run.
    pub run_id: RunId,
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbRunHistory {
    /// The id of the run.
    pub run_id: RunId,
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbRunList {
    /// The id of the task.
    pub task_id: TaskId,
    #[serde(flatten)]
    pub page: PageQuery,
}
