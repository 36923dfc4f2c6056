//! `artifact.*`

use cynode_domain::ids::{JobId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::artifacts::MAX_PATH_BYTES;

/// Limit and default of a text or diff, in bytes.
pub const MAX_TEXT_BYTES: usize = 256 * 1024;
pub const DEFAULT_TEXT_BYTES: usize = 64 * 1024;

tool_calls! {
    ArtifactGet => "artifact.get",
    ArtifactList => "artifact.list",
    ArtifactPut => "artifact.put",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactGet {
    /// The id of the task.
    pub task_id: TaskId,
    /// The path.
    #[schemars(length(min = 1, max = MAX_PATH_BYTES))]
    pub path: String,
    /// The id of the job whose result is judged; formats `text` and `diff` need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// `base64` when absent.
    #[serde(default)]
    pub format: ArtifactFormat,
    /// Bytes of a text or diff to return; 65536 when absent.
    #[schemars(range(min = 1, max = MAX_TEXT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
}

impl ArtifactGet {
    /// The content of a whole file.
    pub fn whole_file(task_id: TaskId, path: String) -> Self {
        Self { task_id, path, job_id: None, format: ArtifactFormat::Base64, max_bytes: None }
    }
}

/// The form of a file in the result of `artifact.get`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactFormat {
    #[default]
    Base64,
    Text,
    Diff,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactList {
    /// The id of the task.
    pub task_id: TaskId,
    /// The id of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactPut {
    /// The id of the task.
    pub task_id: TaskId,
    /// A relative path.
    #[schemars(length(min = 1, max = MAX_PATH_BYTES))]
    pub path: String,
    /// The content, in standard base64.
    pub content_bytes_base64: String,
}
