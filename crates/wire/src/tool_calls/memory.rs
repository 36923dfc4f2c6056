//! `memory.*`

use cynode_domain::ids::{JobId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::memory::{AddNote, MAX_KEY_CHARS};
use crate::page::PageQuery;

tool_calls! {
    MemoryAdd => "memory.add",
    MemoryDelete => "memory.delete",
    MemoryList => "memory.list",
    MemoryRetrieve => "memory.retrieve",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct MemoryAdd {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the job.
    pub job_id: JobId,
    #[serde(flatten)]
    pub note: AddNote,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryDelete {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the job.
    pub job_id: JobId,
    /// The name of the note.
    #[schemars(length(min = 1, max = MAX_KEY_CHARS))]
    pub key: String,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct MemoryList {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the job.
    pub job_id: JobId,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryRetrieve {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the job.
    pub job_id: JobId,
    /// The name of the note.
    #[schemars(length(min = 1, max = MAX_KEY_CHARS))]
    pub key: String,
}
