//! The repository that a task works on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit_subject::MAX_SUBJECT_CHARS;
use super::names::MAX_BRANCH_BYTES;
use super::project_repository::MAX_CREDENTIAL_NAME_CHARS;
use super::repository_url::MAX_URL_BYTES;
use super::{BranchName, CommitSubject, RepositoryUrl};

/// The repository that a task works on, and where it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskRepository {
    /// `https://…`, `ssh://…`, `user@host:path`, or an absolute path on the worker node.
    #[schemars(with = "String", length(min = 1, max = MAX_URL_BYTES))]
    #[schema(value_type = String)]
    pub url: RepositoryUrl,
    /// The branch to start from; the repository's default branch when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(min = 1, max = MAX_BRANCH_BYTES))]
    #[schema(value_type = Option<String>)]
    pub base_branch: Option<BranchName>,
    /// The branch for the changes; `cynode/` and the name of the task when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(min = 1, max = MAX_BRANCH_BYTES))]
    #[schema(value_type = Option<String>)]
    pub branch: Option<BranchName>,
    /// The subject of the commit with what the job changed and did not commit, at most 100 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(min = 1, max = MAX_SUBJECT_CHARS))]
    #[schema(value_type = Option<String>)]
    pub commit_subject: Option<CommitSubject>,
    /// The name of the credential for its host, among those that the user of the task may use; never its value. The user's
    /// first one when absent.
    #[schemars(length(min = 1, max = MAX_CREDENTIAL_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
}
