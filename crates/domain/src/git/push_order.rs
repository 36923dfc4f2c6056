//! A push that the orchestrator allowed.

use serde::{Deserialize, Serialize};

use super::{BranchName, CommitId};
use crate::ids::{JobId, TaskId};

/// Commits of a task to push to a branch of its repository. The worker node executes it outside of any sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PushOrder {
    /// The task whose changes are pushed.
    pub source_task: TaskId,
    /// The job after which they were collected.
    pub source_job: JobId,
    /// The commit that the changes start from.
    #[schema(value_type = String)]
    pub base: CommitId,
    /// The commit to push.
    #[schema(value_type = String)]
    pub head: CommitId,
    /// The branch of the changes.
    #[schema(value_type = String)]
    pub source_branch: BranchName,
    /// The branch to push to.
    #[schema(value_type = String)]
    pub branch: BranchName,
    /// The commit of the branch whose history may be replaced; without it the push continues the branch or creates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub replaces: Option<CommitId>,
    /// Whether a person approves the push, also of findings that need a review.
    #[serde(default)]
    pub is_reviewed: bool,
}

impl PushOrder {
    /// What the node prints when the branch of the remote is at the commit.
    pub fn success_line(&self) -> String {
        format!("{} is at {}", self.branch, self.head)
    }
}
