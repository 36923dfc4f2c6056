//! Pull requests (GitLab: merge requests), their reviews and review comments.

use chrono::{DateTime, Utc};
use cynode_domain::git::{BranchName, CommitId};
use serde_json::Value;

use crate::item::Author;
use crate::text::fit_body;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestState {
    Open,
    Merged,
    Closed,
}

/// Whether the forge could merge without conflicts. Required reviews and checks are not considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mergeability {
    Mergeable,
    Conflicting,
    /// The forge has not computed it yet, or does not tell.
    Unknown,
}

/// Whether reviewers are asked already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    Draft,
    Ready,
}

/// A pull request as the forge reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    /// The page of the pull request.
    pub url: String,
    /// Without the prefix that marks a draft.
    pub title: String,
    pub body: String,
    /// The login name of the user who opened it.
    pub author: String,
    pub state: PullRequestState,
    pub readiness: Readiness,
    pub head_branch: String,
    /// Whether the head branch is in another repository.
    pub is_from_fork: bool,
    /// The newest commit of the head branch that the forge knows.
    pub head_commit: CommitId,
    pub base_branch: String,
    pub mergeability: Mergeability,
}

/// Which pull requests of a head branch are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestFilter {
    Open,
    /// Also merged and closed ones; open ones are preferred, then the newest.
    Any,
}

/// A pull request to open. Both branches are in the repository itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    pub title: String,
    pub body: String,
    pub head: BranchName,
    pub base: BranchName,
    pub readiness: Readiness,
}

/// The pull request of a head branch, opened now or found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnsuredPullRequest {
    pub pull_request: PullRequest,
    /// `false` if it existed before the call.
    pub is_new: bool,
}

/// Changes of a pull request; `None` leaves a value as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullRequestUpdate {
    pub title: Option<String>,
    pub body: Option<String>,
}

impl PullRequestUpdate {
    /// The changed fields for a forge: the title as it is written there, and the body under this name.
    pub(crate) fn to_fields(&self, title: Option<String>, body_field: &str) -> Value {
        let title = title.map(|title| ("title".to_owned(), title.into()));
        let body = self.body.as_ref().map(|body| (body_field.to_owned(), fit_body(body).into()));
        Value::Object(title.into_iter().chain(body).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    /// It no longer counts.
    Dismissed,
}

/// A submitted review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Stable; on GitLab the id of the reviewer, because a reviewer has one review state.
    pub id: u64,
    pub author: Author,
    pub state: ReviewState,
    pub body: String,
    /// The commit that was reviewed, if the forge tells.
    pub commit: Option<String>,
    pub submitted_at: Option<DateTime<Utc>>,
}

/// A comment on a line of the changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    pub id: u64,
    pub url: Option<String>,
    pub author: Author,
    /// The file, relative to the root of the repository.
    pub path: String,
    /// The line in the new file, else in the old one; `None` for a whole file and for outdated lines without a position.
    pub line: Option<u64>,
    pub body: String,
    /// The first comment of the thread, if this is a reply.
    pub in_reply_to: Option<u64>,
    /// Whether the thread is resolved; `None` if the forge does not tell.
    pub is_resolved: Option<bool>,
    pub created_at: Option<DateTime<Utc>>,
}
