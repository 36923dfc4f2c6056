//! Repositories of tasks: what a node checks out, what it collects, and what it pushes.

use cynode_domain::git::{BranchName, ChangeSource, CommitId, CommitSubject, RepositoryUrl};
use cynode_domain::ids::{JobId, TaskId};
use serde::{Deserialize, Serialize};

/// The name of the collected changes among the files of a job's changes.
pub const CHANGES_FILE: &str = "changes.json";
/// The name of the patch.
pub const PATCH_FILE: &str = "changes.patch";
/// The name of the bundle with the commits.
pub const BUNDLE_FILE: &str = "changes.bundle";
/// The name of the collected changes with those of the tasks that the task builds on.
pub const ALL_CHANGES_FILE: &str = "all.json";
/// The name of the patch with the changes of the tasks that the task builds on.
pub const ALL_PATCH_FILE: &str = "all.patch";
/// The most bytes of a patch in [`TaskDiffView`].
pub const MAX_DIFF_PATCH_BYTES: usize = 1024 * 1024;
/// The feature of a node that works on repositories.
pub const REPOSITORIES_FEATURE: &str = "repositories";
/// The feature of a node that merges the changes of other tasks before a task starts.
pub const BUILDS_ON_FEATURE: &str = "builds_on";

/// The path of a file of the changes that were collected after a job, among the files of its task.
pub fn changes_path(job: JobId, file: &str) -> String {
    format!("{job}/{file}")
}

/// The repository of an assigned job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RepositoryAssignment {
    /// The address.
    #[schema(value_type = String)]
    pub url: RepositoryUrl,
    /// The branch to start from; the repository's default branch when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub base_branch: Option<BranchName>,
    /// The branch of the task.
    #[schema(value_type = String)]
    pub branch: BranchName,
    /// The changes to merge before the task starts, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builds_on: Vec<ChangeSource>,
    /// Whether conflicts are written into the files; otherwise they fail the job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mark_conflicts: bool,
    /// The subject of the commit with what the job changed and did not commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub commit_subject: Option<CommitSubject>,
}

/// Response to `POST /v1/node/jobs/{job}/git-credential`.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct GitCredentialView {
    /// The credential of the user for the host of the repository; null if there is none.
    pub credential: Option<GitCredentialLease>,
}

/// A credential for one operation. It never enters the sandbox, and the node does not store it.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum GitCredentialLease {
    /// For http(s).
    Password {
        /// The user name that the forge asks for.
        username: String,
        /// The password or token.
        password: String,
    },
    /// For ssh.
    SshKey {
        /// The private key, without a passphrase.
        private_key: String,
        /// Lines of a `known_hosts` file; the first key of the host is trusted when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        known_hosts: Option<String>,
    },
}

/// What a job changed in the repository of its task: [`CHANGES_FILE`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CollectedChanges {
    /// The repository.
    #[schema(value_type = String)]
    pub url: RepositoryUrl,
    /// The branch of the task.
    #[schema(value_type = String)]
    pub branch: BranchName,
    /// The commit of the repository that the bundle of the commits starts from.
    #[schema(value_type = String)]
    pub base: CommitId,
    /// The commit that the task started from, if it builds on others: the base, with their changes. The patch, the commits
    /// and the files are those since this commit, or since the base if all changes are requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub start: Option<CommitId>,
    /// The newest commit of the task.
    #[schema(value_type = String)]
    pub head: CommitId,
    /// The commits, oldest first; the newest 1000.
    pub commits: Vec<CommitView>,
    /// Changed files.
    pub files: Vec<ChangedFileView>,
    /// What was found in them, the most severe first.
    pub findings: Vec<GitFindingView>,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CommitView {
    /// The commit's id.
    #[schema(value_type = String)]
    pub commit: CommitId,
    /// The author that the job named.
    pub author: String,
    /// The first line of the message.
    pub subject: String,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// New.
    Added,
    /// Changed.
    Modified,
    /// Removed.
    Deleted,
    /// For example, from a file to a symbolic link.
    TypeChanged,
}

/// A changed file. A renamed file is a deleted and an added one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChangedFileView {
    /// The path, in git's quotes if it is not plain text.
    pub path: String,
    /// What happened to it.
    pub status: FileChange,
    /// Added lines; absent for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Deleted lines; absent for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<u64>,
}

/// What a finding means for the commits.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GitSeverity {
    /// Worth knowing.
    Note,
    /// A person decides before the commits are pushed.
    Review,
    /// The commits must not be pushed.
    Block,
}

/// Something that was found in the commits of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct GitFindingView {
    /// How severe it is.
    pub severity: GitSeverity,
    /// The rule, such as `secret` or `protected_path`.
    pub rule: String,
    /// The file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What was found.
    pub message: String,
}

/// `GET /v1/tasks/{task}/diff`: the newest changes of a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TaskDiffView {
    /// The job after which they were collected.
    pub job_id: JobId,
    /// Commits, files and findings.
    pub changes: CollectedChanges,
    /// The patch, for `git apply`. Bytes that are not UTF-8 are replaced; the artifact has them.
    pub patch: String,
    /// Whether the patch was cut to 1 MiB.
    pub is_truncated: bool,
}

/// Query of `GET /v1/tasks/{task}/diff`
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// Whether the changes of the tasks that the task builds on are included.
    #[serde(default)]
    pub all: bool,
}

/// Query of `GET /v1/node/jobs/{job}/bundle`
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BundleQuery {
    /// The task whose changes the job builds on; the commits that the job pushes when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<TaskId>,
}

/// `POST /v1/tasks/{task}/push`: pushes the newest changes of a task, as a task of its own.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushTask {
    /// The branch to push to; the branch of the task when absent. Never the default branch of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub branch: Option<BranchName>,
    /// Replaces the history of the branch if it is at this commit; without it the push must continue the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub replaces: Option<CommitId>,
    /// Whether a person must approve the push first. Findings that need a review always require it.
    #[serde(default)]
    pub approve_plan: bool,
    /// Name of the new task; `push-` and the name of the task when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_name: Option<String>,
    /// Idempotency key: requests of one user with the same key create one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}
