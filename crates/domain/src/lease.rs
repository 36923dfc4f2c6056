//! The right to write for a run.

use serde::{Deserialize, Serialize};

use crate::ids::{LeaseId, TaskId};

/// Lease token: authorises a runner to write for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Hold)]
pub struct LeaseToken {
    /// The task for which the runner may write.
    pub task_id: TaskId,
    /// The grant; each claim creates a new one.
    pub lease_id: LeaseId,
    /// Fencing epoch, incremented by every grant; writes with an older epoch are rejected.
    pub epoch: i64,
}
