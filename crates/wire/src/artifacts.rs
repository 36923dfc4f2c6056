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
