//! GitLab: the REST API of version 4. A merge request is a pull request here.

mod access;
mod ci;
mod issues;
mod pulls;
mod reviews;

use async_trait::async_trait;
use cynode_domain::git::{BranchName, CommitId};
use serde::Deserialize;

use crate::address::{ForgeInstance, ItemKind, RepositoryPath};
use crate::api::{ForgeApi, WrittenComment};
use crate::ci::CiReport;
use crate::default_branch::read_default_branch;
use crate::draft_title::DraftPrefixes;
use crate::error::ForgeError;
use crate::http::{ApiProfile, ForgeHttp};
use crate::item::{Author, BoundedList, Comment, Issue, WriteAccess};
use crate::options::ForgeOptions;
use crate::own_login::read_own_login;
use crate::pull_request::{
    NewPullRequest, PullRequest, PullRequestFilter, PullRequestUpdate, Review, ReviewComment,
};

pub(crate) use ci::parse_state as parse_ci_state;

const DRAFT: DraftPrefixes =
    DraftPrefixes { written: "Draft:", recognized: &["draft:", "[draft]", "(draft)"] };

/// A client of GitLab.
pub(crate) struct Gitlab {
    http: ForgeHttp,
    instance: ForgeInstance,
}

/// The account of an author.
#[derive(Debug, Deserialize)]
struct Account {
    id: u64,
    username: String,
}

impl Gitlab {
    pub(crate) fn new(options: &ForgeOptions) -> Result<Self, ForgeError> {
        let instance = options.instance.clone();
        let mut api_url = instance.base_url.clone();
        api_url.set_path(&format!("{}/api/v4", api_url.path().trim_end_matches('/')));
        // Personal, project and group tokens and OAuth are all accepted as bearer tokens.
        let profile = ApiProfile {
            api_url,
            scheme: "Bearer",
            headers: vec![("accept", "application/json")],
            page_size_key: "per_page",
        };
        Ok(Self { http: ForgeHttp::new(options, profile)?, instance })
    }
}

fn author(account: Option<&Account>) -> Author {
    Author::from_account(
        account.map(|account| account.username.as_str()),
        account.map(|account| account.id),
    )
}

/// The collection of an item in the API.
fn collection(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Issue => "issues",
        ItemKind::PullRequest => "merge_requests",
    }
}

#[async_trait]
impl ForgeApi for Gitlab {
    async fn read_own_login(&self) -> Result<Option<String>, ForgeError> {
        read_own_login(&self.http, |account: &Account| &account.username).await
    }

    async fn read_write_access(
        &self,
        repository: &RepositoryPath,
        author: &Author,
    ) -> Result<WriteAccess, ForgeError> {
        self.write_access(repository, author).await
    }

    async fn read_default_branch(
        &self,
        repository: &RepositoryPath,
    ) -> Result<BranchName, ForgeError> {
        let segments = ["projects", repository.as_str()];
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
        kind: ItemKind,
        number: u64,
    ) -> Result<BoundedList<Comment>, ForgeError> {
        self.comments(repository, kind, number).await
    }

    async fn create_comment(
        &self,
        repository: &RepositoryPath,
        kind: ItemKind,
        number: u64,
        body: &str,
    ) -> Result<WrittenComment, ForgeError> {
        self.write_comment(repository, kind, number, body).await
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
        number: u64,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError> {
        self.ci(repository, number, head).await
    }
}
