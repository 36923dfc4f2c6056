//! Files of a task. Content is sent as the raw body of a request or response.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ArtifactId, JobId, TaskId};
use serde::{Deserialize, Serialize};

/// The longest path of a file.
pub const MAX_PATH_BYTES: usize = 1024;

/// A file that belongs to a task, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ArtifactView {
    /// The artifact's id.
    pub id: ArtifactId,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// The job that produced it; absent for attachments.
    pub job_id: Option<JobId>,
    /// `attachment` or `output`.
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
