//! Health, readiness and version.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// `GET /readyz`: 200 if all dependencies respond, otherwise 503 with the reasons.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ReadyView {
    /// Whether the system can run work.
    pub ready: bool,
    /// Reasons why it is not ready.
    pub reasons: Vec<String>,
    /// Warnings that do not affect readiness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// An unreadable row or damaged blob, which the orchestrator skips.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct QuarantinedRowView {
    /// The table; `blobs` for content.
    pub table: String,
    /// The row's key.
    pub key: String,
    /// Fault.
    pub reason: String,
    /// When it was first detected.
    pub first_seen_at: DateTime<Utc>,
}

/// `GET /v1/status`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StatusView {
    /// The orchestrator's version.
    pub version: String,
    /// `sqlite` or `postgres`.
    pub database: String,
    /// Whether the system can run work.
    pub ready: bool,
    /// Reasons why it is not ready.
    pub reasons: Vec<String>,
    /// Polling nodes.
    pub active_nodes: i64,
    /// Tasks that wait for a runner.
    pub queued_tasks: i64,
    /// Tasks driven by a runner.
    pub running_tasks: i64,
    /// Status of the project manager; tasks with commands run without it.
    #[serde(default)]
    pub project_manager: ManagerStatus,
    /// Number of unreadable rows, which are skipped.
    #[serde(default)]
    pub quarantined_rows: i64,
    /// The oldest of these rows, for administrators.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quarantined: Vec<QuarantinedRowView>,
}

/// Status of the project manager.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ManagerStatus {
    /// Not configured, or not reported by an older orchestrator.
    #[default]
    Absent,
    /// Configured, but not responding.
    Away,
    /// Responding.
    Present,
}
