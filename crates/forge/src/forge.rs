//! The client of one forge.

use cynode_domain::git::{BranchName, CommitId};

use crate::address::{ForgeInstance, ItemKind, RepositoryPath};
use crate::ci::CiReport;
use crate::error::ForgeError;
use crate::item::{BoundedList, Comment, CommentMarker, CommentOutcome, Issue, WriteAccess};
use crate::options::ForgeOptions;
use crate::pull_request::{
    EnsuredPullRequest, NewPullRequest, PullRequest, PullRequestFilter, PullRequestUpdate, Review,
    ReviewComment,
};

/// The client of one forge. Clones share its connections. No method retries.
#[derive(Debug, Clone)]
pub struct Forge {
    options: ForgeOptions,
}

impl Forge {
    /// Fails if the base URL is not usable with the options.
    pub fn new(options: ForgeOptions) -> Result<Self, ForgeError> {
        Ok(Self { options })
    }

    pub fn instance(&self) -> &ForgeInstance {
        &self.options.instance
    }

    /// Reads an issue with its comments. On GitHub and Gitea the number may be that of a pull request.
    pub async fn read_issue(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Issue, ForgeError> {
        unimplemented!("{repository} {number}")
    }

    /// Lists the comments in the conversation, oldest first.
    pub async fn list_comments(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
    ) -> Result<BoundedList<Comment>, ForgeError> {
        unimplemented!("{repository} {kind:?} {number}")
    }

    /// Writes a comment once: if a comment of this token's user has the marker, that one is returned.
    ///
    /// Fails with [`ForgeError::TooMany`] if the conversation is too long to tell.
    pub async fn ensure_comment(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
        marker: &CommentMarker,
        body: &str,
    ) -> Result<CommentOutcome, ForgeError> {
        unimplemented!("{repository} {kind:?} {number} {marker:?} {body}")
    }

    /// Finds the pull request of a branch of the repository itself; those of forks are not considered.
    pub async fn find_pull_request(
        &self,
        repository: &RepositoryPath,
        head: &BranchName,
        filter: PullRequestFilter,
    ) -> Result<Option<PullRequest>, ForgeError> {
        unimplemented!("{repository} {head} {filter:?}")
    }

    /// Returns the open pull request of the head branch, or opens one.
    ///
    /// A repeated call after a lost answer finds the pull request of the first one.
    pub async fn ensure_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
    ) -> Result<EnsuredPullRequest, ForgeError> {
        unimplemented!("{repository} {new:?}")
    }

    pub async fn read_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        unimplemented!("{repository} {number}")
    }

    /// Changes title and body; a draft stays a draft.
    pub async fn update_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        update: &PullRequestUpdate,
    ) -> Result<PullRequest, ForgeError> {
        unimplemented!("{repository} {number} {update:?}")
    }

    /// Marks a draft as ready for review. Has no effect if it is.
    pub async fn mark_ready(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        unimplemented!("{repository} {number}")
    }

    /// Lists submitted reviews, oldest first where the forge has an order.
    pub async fn list_reviews(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Review>, ForgeError> {
        unimplemented!("{repository} {number}")
    }

    /// Lists comments on lines of the changes, oldest first.
    pub async fn list_review_comments(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<ReviewComment>, ForgeError> {
        unimplemented!("{repository} {number}")
    }

    /// Reads the results of continuous integration for the head commit of a pull request.
    pub async fn read_ci(
        &self,
        repository: &RepositoryPath,
        number: u64,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError> {
        unimplemented!("{repository} {number} {head}")
    }

    /// Whether a user may push to the repository.
    pub async fn read_write_access(
        &self,
        repository: &RepositoryPath,
        login: &str,
    ) -> Result<WriteAccess, ForgeError> {
        unimplemented!("{repository} {login}")
    }
}
