//! Files that belong to a task. Their content travels as the bare body of a request or answer.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ArtifactId, JobId, TaskId};
use serde::{Deserialize, Serialize};

/// A file that belongs to a task, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ArtifactView {
    /// The artifact's id.
    pub id: ArtifactId,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// The job that made it; absent for attachments.
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

/// A file as one job left it, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct OutputView {
    /// The job that made it.
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
    /// Its text; empty if it is none.
    pub text: String,
    /// Whether it is no text.
    pub is_binary: bool,
    /// Whether the file is longer.
    pub is_cut: bool,
}

/// What a job changed in a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct OutputDiff {
    /// The file.
    #[serde(rename = "artifact")]
    pub output: OutputView,
    /// What it is compared with, in words; absent if there was no such file before.
    pub against: Option<String>,
    /// A unified diff; empty if nothing changed, or if one of both is no text.
    pub diff: String,
    /// Whether one of both is no text.
    pub is_binary: bool,
    /// Whether the diff is longer.
    pub is_cut: bool,
}
