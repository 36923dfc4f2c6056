//! What agents note while their job runs.

use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;
use serde::{Deserialize, Serialize};

/// A note to be kept until the job ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddNote {
    /// Its name within the job; what had that name before is replaced.
    pub key: String,
    /// The note.
    pub content: String,
    /// What it is about, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A note, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NoteView {
    /// Its name within the job.
    pub key: String,
    /// What it is about, in short.
    pub summary: Option<String>,
    /// How long it is, in bytes.
    pub size_bytes: i64,
    /// When it was written.
    pub updated_at: DateTime<Utc>,
}

/// A note with its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NoteContentView {
    /// The job it belongs to.
    pub job_id: JobId,
    /// The note.
    #[serde(flatten)]
    pub note: NoteView,
    /// Its text.
    pub content: String,
}
