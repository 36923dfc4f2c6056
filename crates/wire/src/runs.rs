//! Runs, looked back at.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{RunId, TaskId, TraceId};
use cynode_domain::status::RunStatus;
use serde::{Deserialize, Serialize};

/// One execution of a task's workflow.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RunView {
    /// The run's id.
    pub id: RunId,
    /// The task it executes.
    pub task_id: TaskId,
    /// Follows the run through logs of every process.
    pub trace_id: TraceId,
    /// Where it stands.
    pub status: RunStatus,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When a runner first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}
