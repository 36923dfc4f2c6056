//! The operations that each forge implements. [`crate::Forge`] adds what is the same for all of them.

use async_trait::async_trait;
use cynode_domain::git::{BranchName, CommitId};

use crate::address::{ItemKind, RepositoryPath};
use crate::ci::CiReport;
use crate::error::ForgeError;
use crate::item::{Author, BoundedList, Comment, Issue, WriteAccess};
use crate::pull_request::{
    NewPullRequest, PullRequest, PullRequestFilter, PullRequestUpdate, Review, ReviewComment,
};

/// A comment that was just written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenComment {
    pub(crate) id: u64,
    pub(crate) url: Option<String>,
}

/// One forge. Authors are returned with unknown write access, unless the forge tells it with the text.
#[async_trait]
pub(crate) trait ForgeApi: Send + Sync {
    /// The login name of the token's user; `None` if the token may not know.
    async fn read_own_login(&self) -> Result<Option<String>, ForgeError>;

    async fn read_write_access(
        &self,
        repository: &RepositoryPath,
        author: &Author,
    ) -> Result<WriteAccess, ForgeError>;

    /// The branch that pull requests are merged into by default.
    async fn read_default_branch(
        &self,
        repository: &RepositoryPath,
    ) -> Result<BranchName, ForgeError>;

    /// Reads an issue without its comments.
    async fn read_issue(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Issue, ForgeError>;

    async fn list_comments(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
    ) -> Result<BoundedList<Comment>, ForgeError>;

    async fn create_comment(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
        body: &str,
    ) -> Result<WrittenComment, ForgeError>;

    /// Lists pull requests of a head branch of the repository itself. The list may end at the first open one.
    async fn list_pull_requests(
        &self,
        repository: &RepositoryPath,
        head: &BranchName,
        filter: PullRequestFilter,
    ) -> Result<BoundedList<PullRequest>, ForgeError>;

    async fn create_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
    ) -> Result<PullRequest, ForgeError>;

    async fn read_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError>;

    async fn update_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        update: &PullRequestUpdate,
    ) -> Result<PullRequest, ForgeError>;

    async fn mark_ready(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError>;

    async fn list_reviews(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Review>, ForgeError>;

    async fn list_review_comments(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<ReviewComment>, ForgeError>;

    async fn read_ci(
        &self,
        repository: &RepositoryPath,
        number: u64,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError>;
}
