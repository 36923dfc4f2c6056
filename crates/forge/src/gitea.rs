//! Gitea and Forgejo: the REST API of version 1.

mod access;
mod ci;
mod issues;
mod pulls;
mod reviews;

use async_trait::async_trait;
use cynode_domain::git::{BranchName, CommitId};
use serde::Deserialize;

use crate::address::{ItemKind, RepositoryPath};
use crate::api::{ForgeApi, WrittenComment};
use crate::ci::CiReport;
use crate::default_branch::read_default_branch;
use crate::draft_title::DraftPrefixes;
use crate::error::ForgeError;
use crate::http::{ApiProfile, ForgeHttp};
use crate::item::{Author, BoundedList, Comment, Issue, WriteAccess};
use crate::options::ForgeOptions;
use crate::own_login::read_own_login;
use crate::post_comment::post_comment;
use crate::pull_request::{
    NewPullRequest, PullRequest, PullRequestFilter, PullRequestUpdate, Review, ReviewComment,
};

pub(crate) use ci::parse_state as parse_ci_state;

const DRAFT: DraftPrefixes = DraftPrefixes { written: "WIP:", recognized: &["wip:", "[wip]"] };

/// A client of Gitea or Forgejo.
pub(crate) struct Gitea {
    http: ForgeHttp,
}

/// The account of an author.
#[derive(Debug, Deserialize)]
struct Account {
    /// Negative for deleted accounts and for Gitea itself.
    id: i64,
    login: String,
}

impl Gitea {
    pub(crate) fn new(options: &ForgeOptions) -> Result<Self, ForgeError> {
        let mut api_url = options.instance.base_url.clone();
        api_url.set_path(&format!("{}/api/v1", api_url.path().trim_end_matches('/')));
        let profile = ApiProfile {
            api_url,
            scheme: "token",
            headers: vec![("accept", "application/json")],
            page_size_key: "limit",
        };
        Ok(Self { http: ForgeHttp::new(options, profile)? })
    }
}

fn author(account: Option<&Account>) -> Author {
    Author::from_account(
        account.map(|account| account.login.as_str()),
        account.and_then(|account| account.id.try_into().ok()),
    )
}

#[async_trait]
impl ForgeApi for Gitea {
    async fn read_own_login(&self) -> Result<Option<String>, ForgeError> {
        read_own_login(&self.http, |account: &Account| &account.login).await
    }

    async fn read_write_access(
        &self,
        repository: &RepositoryPath,
        author: &Author,
    ) -> Result<WriteAccess, ForgeError> {
        self.write_access(repository, &author.login).await
    }

    async fn read_default_branch(
        &self,
        repository: &RepositoryPath,
    ) -> Result<BranchName, ForgeError> {
        let segments = ["repos", repository.owner(), repository.name()];
        read_default_branch(&self.http, repository, segments).await
    }

    async fn read_issue(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<Issue, ForgeError> {
        self.issue(repository, number).await
    }

    async fn list_comments(
        &self,
        repository: &RepositoryPath,
        _kind: ItemKind,
        number: u64,
    ) -> Result<BoundedList<Comment>, ForgeError> {
        self.comments(repository, number).await
    }

    async fn create_comment(
        &self,
        repository: &RepositoryPath,
        _kind: ItemKind,
        number: u64,
        body: &str,
    ) -> Result<WrittenComment, ForgeError> {
        post_comment(&self.http, repository, number, body).await
    }

    async fn list_pull_requests(
        &self,
        repository: &RepositoryPath,
        head: &BranchName,
        filter: PullRequestFilter,
    ) -> Result<BoundedList<PullRequest>, ForgeError> {
        self.pull_requests(repository, head, filter).await
    }

    async fn create_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
    ) -> Result<PullRequest, ForgeError> {
        self.open_pull_request(repository, new).await
    }

    async fn read_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        self.pull(repository, number).await
    }

    async fn update_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        update: &PullRequestUpdate,
    ) -> Result<PullRequest, ForgeError> {
        self.edit_pull_request(repository, number, update).await
    }

    async fn mark_ready(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        self.make_ready(repository, number).await
    }

    async fn list_reviews(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<Review>, ForgeError> {
        self.reviews(repository, number).await
    }

    async fn list_review_comments(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<BoundedList<ReviewComment>, ForgeError> {
        self.review_comments(repository, number).await
    }

    async fn read_ci(
        &self,
        repository: &RepositoryPath,
        _number: u64,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError> {
        self.ci(repository, head).await
    }
}
