//! The client of one forge: what is the same for all of them.

use std::fmt;
use std::sync::Arc;

use cynode_domain::git::{BranchName, CommitId};

use crate::address::{ForgeInstance, ForgeKind, ItemKind, RepositoryPath};
use crate::api::ForgeApi;
use crate::author::{OwnIdentity, may_be_self, resolve_write_access};
use crate::ci::CiReport;
use crate::error::ForgeError;
use crate::gitea::Gitea;
use crate::github::Github;
use crate::gitlab::Gitlab;
use crate::item::{
    Author, BoundedList, Comment, CommentMarker, CommentOutcome, Discussion, Issue, WriteAccess,
};
use crate::options::{ForgeLimits, ForgeOptions};
use crate::pull_request::{
    EnsuredPullRequest, NewPullRequest, PullRequest, PullRequestFilter, PullRequestState,
    PullRequestUpdate, Review, ReviewComment,
};
use crate::text::fit_body;

/// The client of one forge. Clones share its connections. No method retries.
#[derive(Clone)]
pub struct Forge {
    instance: ForgeInstance,
    limits: ForgeLimits,
    api: Arc<dyn ForgeApi>,
    own: Arc<OwnIdentity>,
}

impl fmt::Debug for Forge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forge").field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl Forge {
    /// Fails if the base URL is not usable with the options.
    pub fn new(options: &ForgeOptions) -> Result<Self, ForgeError> {
        let api: Arc<dyn ForgeApi> = match options.instance.kind {
            ForgeKind::Github => Arc::new(Github::new(options)?),
            ForgeKind::Gitlab => Arc::new(Gitlab::new(options)?),
            ForgeKind::Gitea => Arc::new(Gitea::new(options)?),
        };
        let (instance, limits) = (options.instance.clone(), options.limits);
        Ok(Self { instance, limits, api, own: Arc::default() })
    }

    pub fn instance(&self) -> &ForgeInstance {
        &self.instance
    }

    /// The login name of the token's user; `None` if the token may not know, as those of GitHub applications.
    pub async fn read_own_login(&self) -> Result<Option<String>, ForgeError> {
        Ok(self.own.login(self.api.as_ref()).await?.map(str::to_owned))
    }

    /// Reads an issue with its comments. On GitHub and Gitea the number may be that of a pull request.
    pub async fn read_issue(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Issue, ForgeError> {
        let mut issue = self.api.read_issue(repository, number).await?;
        issue.comments = self.api.list_comments(repository, issue.kind, number).await?;
        let comments = issue.comments.entries.iter_mut().map(|comment| &mut comment.author);
        let authors = [&mut issue.author].into_iter().chain(comments).collect();
        self.resolve(repository, authors).await?;
        Ok(issue)
    }

    /// Reads an issue without its comments and without a look-up of its author's write access.
    pub async fn read_issue_text(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Issue, ForgeError> {
        self.api.read_issue(repository, number).await
    }

    /// Lists the comments in the conversation, oldest first.
    pub async fn list_comments(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
    ) -> Result<BoundedList<Comment>, ForgeError> {
        let mut comments = self.api.list_comments(repository, kind, number).await?;
        let authors = comments.entries.iter_mut().map(|comment| &mut comment.author).collect();
        self.resolve(repository, authors).await?;
        Ok(comments)
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
        let mut comments = self.api.list_comments(repository, kind, number).await?;
        let is_truncated = comments.is_truncated;
        comments.entries.retain(|comment| marker.is_in(&comment.body));
        let own = self.own.login(self.api.as_ref()).await?;
        if own.is_none() {
            let authors = comments.entries.iter_mut().map(|comment| &mut comment.author).collect();
            self.resolve(repository, authors).await?;
        }
        let earlier = comments.entries.into_iter().find(|it| may_be_self(&it.author, own));
        if let Some(Comment { id, url, .. }) = earlier {
            return Ok(CommentOutcome { id, url, is_new: false });
        }
        if is_truncated {
            return Err(ForgeError::TooMany { what: "comments" });
        }
        let body = marker.append_to(&fit_body(body));
        let written = self.api.create_comment(repository, kind, number, &body).await?;
        Ok(CommentOutcome { id: written.id, url: written.url, is_new: true })
    }

    /// Finds the pull request of a branch of the repository itself; those of forks are not considered.
    ///
    /// Fails with [`ForgeError::TooMany`] if there are too many pull requests to tell.
    pub async fn find_pull_request(
        &self,
        repository: &RepositoryPath,
        head: &BranchName,
        filter: PullRequestFilter,
    ) -> Result<Option<PullRequest>, ForgeError> {
        let list = self.api.list_pull_requests(repository, head, filter).await?;
        let is_open = |pull: &PullRequest| pull.state == PullRequestState::Open;
        let is_wanted = |pull: &PullRequest| {
            pull.head_branch == head.as_str()
                && !pull.is_from_fork
                && (is_open(pull) || filter == PullRequestFilter::Any)
        };
        let found = list.entries.into_iter().filter(is_wanted);
        match found.max_by_key(|pull| (is_open(pull), pull.number)) {
            None if list.is_truncated => Err(ForgeError::TooMany { what: "pull requests" }),
            found => Ok(found),
        }
    }

    /// Returns the open pull request of the head branch, or opens one.
    ///
    /// A repeated call after a lost answer finds the pull request of the first one, and so does a concurrent call: each
    /// forge rejects a second open pull request of the same branches.
    pub async fn ensure_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
    ) -> Result<EnsuredPullRequest, ForgeError> {
        let find = || self.find_pull_request(repository, &new.head, PullRequestFilter::Open);
        if let Some(pull_request) = find().await? {
            return Ok(EnsuredPullRequest { pull_request, is_new: false });
        }
        match self.api.create_pull_request(repository, new).await {
            Ok(pull_request) => Ok(EnsuredPullRequest { pull_request, is_new: true }),
            Err(rejected @ ForgeError::Rejected { .. }) => match find().await? {
                Some(pull_request) => Ok(EnsuredPullRequest { pull_request, is_new: false }),
                None => Err(rejected),
            },
            Err(error) => Err(error),
        }
    }

    pub async fn read_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        self.api.read_pull_request(repository, number).await
    }

    /// Changes title and body; a draft stays a draft. An update without changes reads the pull request.
    pub async fn update_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        update: &PullRequestUpdate,
    ) -> Result<PullRequest, ForgeError> {
        if *update == PullRequestUpdate::default() {
            return self.read_pull_request(repository, number).await;
        }
        self.api.update_pull_request(repository, number, update).await
    }

    /// Marks a draft as ready for review. Has no effect if it is.
    pub async fn mark_ready(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        self.api.mark_ready(repository, number).await
    }

    /// Lists submitted reviews, oldest first where the forge has an order.
    pub async fn list_reviews(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Review>, ForgeError> {
        let mut reviews = self.api.list_reviews(repository, number).await?;
        let authors = reviews.entries.iter_mut().map(|review| &mut review.author).collect();
        self.resolve(repository, authors).await?;
        Ok(reviews)
    }

    /// Lists comments on lines of the changes, oldest first.
    pub async fn list_review_comments(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<ReviewComment>, ForgeError> {
        let mut comments = self.api.list_review_comments(repository, number).await?;
        let authors = comments.entries.iter_mut().map(|comment| &mut comment.author).collect();
        self.resolve(repository, authors).await?;
        Ok(comments)
    }

    /// Reads the comments and reviews of a pull request, without the write access of their authors: see
    /// [`Self::resolve_authors`].
    pub async fn read_discussion(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Discussion, ForgeError> {
        let api = self.api.as_ref();
        Ok(Discussion {
            comments: api.list_comments(repository, ItemKind::PullRequest, number).await?,
            reviews: api.list_reviews(repository, number).await?,
            review_comments: api.list_review_comments(repository, number).await?,
        })
    }

    /// Looks up which authors may push, in this order and up to the limit of look-ups; returns whether these were all.
    pub async fn resolve_authors(
        &self,
        repository: &RepositoryPath,
        authors: Vec<&mut Author>,
    ) -> Result<bool, ForgeError> {
        let api = self.api.as_ref();
        let own = self.own.login(api).await?;
        resolve_write_access(api, repository, own, self.limits.max_lookups, authors).await
    }

    /// Reads the results of continuous integration for the head commit of a pull request.
    pub async fn read_ci(
        &self,
        repository: &RepositoryPath,
        number: u64,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError> {
        self.api.read_ci(repository, number, head).await
    }

    /// The branch that pull requests are merged into by default.
    pub async fn read_default_branch(
        &self,
        repository: &RepositoryPath,
    ) -> Result<BranchName, ForgeError> {
        self.api.read_default_branch(repository).await
    }

    /// Whether a user may push to the repository.
    pub async fn read_write_access(
        &self,
        repository: &RepositoryPath,
        login: &str,
    ) -> Result<WriteAccess, ForgeError> {
        let author = Author::from_account(Some(login), None);
        self.api.read_write_access(repository, &author).await
    }

    async fn resolve(
        &self,
        repository: &RepositoryPath,
        authors: Vec<&mut Author>,
    ) -> Result<(), ForgeError> {
        self.resolve_authors(repository, authors).await.map(drop)
    }
}
