//! Notes of agents while their job runs.

use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest key of a note.
pub const MAX_KEY_CHARS: usize = 200;
/// The longest note.
pub const MAX_CONTENT_BYTES: usize = 64 * 1024;
/// The longest summary of a note.
pub const MAX_SUMMARY_CHARS: usize = 1000;

/// A note, stored until the job ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddNote {
    /// Key within the job; an existing note is replaced.
    #[schemars(length(min = 1, max = MAX_KEY_CHARS))]
    pub key: String,
    /// The note.
    #[schemars(length(max = MAX_CONTENT_BYTES))]
    pub content: String,
    /// Short summary.
    #[schemars(length(min = 1, max = MAX_SUMMARY_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// A note, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NoteView {
    /// Key within the job.
    pub key: String,
    /// Short summary.
    pub summary: Option<String>,
    /// Size in bytes.
    pub size_bytes: i64,
    /// Time of the last write.
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
