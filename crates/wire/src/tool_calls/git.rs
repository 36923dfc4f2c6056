//! `git.*`

use cynode_domain::git::BranchName;
use cynode_domain::ids::{ProjectId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_TEXT_BYTES, tool_calls};

tool_calls! {
    GitDiff => "git.diff",
    GitPrCreate => "git.pr.create",
    GitPush => "git.push",
    GitRepoValidate => "git.repo.validate",
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

/// The longest address of a repository.
const MAX_ADDRESS_BYTES: usize = 2048;
/// The longest title of a pull request, in characters.
const MAX_TITLE_CHARS: usize = 200;
/// The longest description of a pull request.
const MAX_BODY_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitRepoValidate {
    /// The address of the repository: a URL, `user@host:path`, or a path on a worker node.
    #[schemars(length(min = 1, max = MAX_ADDRESS_BYTES))]
    pub repository: String,
    /// The id of the project that would work on it; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitPrCreate {
    /// The id of the task whose branch it is for. The branch must have been pushed.
    pub task_id: TaskId,
    /// The title, in one line.
    #[schemars(length(min = 1, max = MAX_TITLE_CHARS))]
    pub title: String,
    /// The description, in plain text.
    #[schemars(length(max = MAX_BODY_BYTES))]
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
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
