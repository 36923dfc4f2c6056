//! `db.message.*`

use cynode_domain::ids::{MessageId, ProjectId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::apmas::MessageQuery;

tool_calls! {
    DbMessageGet => "db.message.get",
    DbMessageList => "db.message.list",
    DbMessageMarkProcessed => "db.message.mark_processed",
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbMessageGet {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the message.
    pub message_id: MessageId,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct DbMessageList {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    #[serde(flatten)]
    pub query: MessageQuery,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbMessageMarkProcessed {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the message.
    pub message_id: MessageId,
}
