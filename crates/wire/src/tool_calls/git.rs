//! `git.*`

use cynode_domain::git::BranchName;
use cynode_domain::ids::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_TEXT_BYTES, tool_calls};

tool_calls! {
    GitDiff => "git.diff",
    GitPush => "git.push",
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitDiff {
    /// The id of the task.
    pub task_id: TaskId,
    /// Bytes of the patch to return; 65536 when absent.
    #[schemars(range(min = 1, max = MAX_TEXT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
    /// Whether the changes of the tasks that the task builds on are included.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitPush {
    /// The id of the task whose changes are pushed.
    pub task_id: TaskId,
    /// The branch to push to; the branch of the task when absent.
    #[schemars(with = "String", length(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
}
