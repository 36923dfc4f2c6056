//! Health, readiness and version.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// `GET /readyz`: 200 when everything needed answers, else 503 with the reasons in words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ReadyView {
    /// Whether work can be done.
    pub ready: bool,
    /// What is missing, in words.
    pub reasons: Vec<String>,
    /// What needs attention although work can be done, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A stored row that the orchestrator cannot read, or stored content that is damaged. Everything else goes
/// on without it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct QuarantinedRowView {
    /// The table; `blobs` for content.
    pub table: String,
    /// The row's key.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
    /// When it was found.
    pub first_seen_at: DateTime<Utc>,
}

/// `GET /v1/status`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StatusView {
    /// The orchestrator's version.
    pub version: String,
    /// `sqlite` or `postgres`.
    pub database: String,
    /// Whether work can be done.
    pub ready: bool,
    /// What is missing, in words.
    pub reasons: Vec<String>,
    /// Nodes that poll.
    pub active_nodes: i64,
    /// Tasks waiting for a runner.
    pub queued_tasks: i64,
    /// Tasks a runner drives.
    pub running_tasks: i64,
    /// Whether the project manager is there; work that names its commands is done without it.
    #[serde(default)]
    pub project_manager: ManagerStatus,
    /// How many stored rows cannot be read and are left out.
    #[serde(default)]
    pub quarantined_rows: i64,
    /// The oldest of these rows, for administrators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantined: Vec<QuarantinedRowView>,
}

/// Whether the project manager is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ManagerStatus {
    /// None is configured, or an older orchestrator does not say.
    #[default]
    Absent,
    /// One is configured, and does not answer.
    Away,
    /// It answers.
    Present,
}
