//! Files of a task. Content is sent as the raw body of a request or response.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ArtifactId, JobId, ProjectId, TaskId};
use serde::{Deserialize, Serialize};

/// The longest path of a file.
pub const MAX_PATH_BYTES: usize = 1024;

/// Where a file of a task comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// Sent with the task.
    Attachment,
    /// Produced by a job, or stored by a tool.
    Output,
    /// Collected by the worker node in the repository of the task, after a job.
    Changes,
}

impl ArtifactKind {
    /// The name in views and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attachment => "attachment",
            Self::Output => "output",
            Self::Changes => "changes",
        }
    }
}

/// A file that belongs to a task, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ArtifactView {
    /// The artifact's id.
    pub id: ArtifactId,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// The job that produced it, or after which it was collected; absent for attachments.
    pub job_id: Option<JobId>,
    /// `attachment`, `output` or `changes`.
    pub kind: String,
    /// Its path, unique in the task for its kind.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
}

/// An output file of one job, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct OutputView {
    /// The job that produced it.
    pub job_id: JobId,
    /// The step of that job, from 0.
    pub step_index: u32,
    /// Its path, unique in the job.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
    /// The SHA-256 of its content, in hex.
    pub sha256: String,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
}

/// The beginning of a file as text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct OutputText {
    /// The file.
    #[serde(rename = "artifact")]
    pub output: OutputView,
    /// Its text; empty if the content is not text.
    pub text: String,
    /// Whether the content is not text.
    pub is_binary: bool,
    /// Whether the text was truncated.
    pub is_cut: bool,
}

/// Changes of a job to a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct OutputDiff {
    /// The file.
    #[serde(rename = "artifact")]
    pub output: OutputView,
    /// What it is compared with, in words; absent for a new file.
    pub against: Option<String>,
    /// Unified diff; empty if nothing changed, or if either content is not text.
    pub diff: String,
    /// Whether either content is not text.
    pub is_binary: bool,
    /// Whether the diff was truncated.
    pub is_cut: bool,
}

/// The most paths in one request to delete files.
pub const MAX_DELETED_PATHS: usize = 1000;

/// A request to delete files of a closed task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteArtifacts {
    /// Paths of files, at most 1000; all files when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DeletedArtifactsView {
    /// How many files were deleted.
    pub files: u64,
    /// The bytes that no longer count, with those of earlier versions of the files.
    pub freed_bytes: i64,
}

/// The bytes that stored files take. A file counts with its size, at least 4096 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StorageView {
    /// The user.
    pub handle: String,
    /// Bytes of the files of the user's tasks.
    pub used_bytes: i64,
    /// The most that they may take; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<i64>,
    /// The user's projects, at most 200, those that use the most first.
    pub projects: Vec<ProjectStorageView>,
}

/// The bytes that the files of a project take.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProjectStorageView {
    /// The project's id.
    pub id: ProjectId,
    /// Its slug.
    pub slug: String,
    /// Bytes of the files of its tasks.
    pub used_bytes: i64,
    /// The most that they may take; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<i64>,
}
