//! Changes of another task that a task builds on.

use serde::{Deserialize, Serialize};

use super::{BranchName, CommitId};
use crate::ids::{JobId, TaskId};

/// Collected changes of a task that another task starts from. The orchestrator resolves them when it creates that task, so
/// that every attempt starts from the same commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChangeSource {
    /// The task whose changes they are.
    pub task: TaskId,
    /// The job after which they were collected.
    pub job: JobId,
    /// The commit of the repository that the changes start from.
    #[schema(value_type = String)]
    pub base: CommitId,
    /// The newest commit of the changes.
    #[schema(value_type = String)]
    pub head: CommitId,
    /// The branch of the changes.
    #[schema(value_type = String)]
    pub branch: BranchName,
}
