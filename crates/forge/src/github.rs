//! GitHub: the REST API of version 2022-11-28, and GraphQL for what REST does not offer.

mod access;
mod ci;
mod issues;
mod pulls;
mod reviews;

use async_trait::async_trait;
use cynode_domain::git::{BranchName, CommitId};
use serde::Deserialize;
use url::Url;

use crate::address::{ForgeInstance, ItemKind, RepositoryPath};
use crate::api::{ForgeApi, WrittenComment};
use crate::ci::CiReport;
use crate::default_branch::read_default_branch;
use crate::error::ForgeError;
use crate::http::{ApiProfile, ForgeHttp};
use crate::item::{Author, BoundedList, Comment, Issue, WriteAccess};
use crate::options::ForgeOptions;
use crate::own_login::read_own_login;
use crate::post_comment::post_comment;
use crate::pull_request::{
    NewPullRequest, PullRequest, PullRequestFilter, PullRequestUpdate, Review, ReviewComment,
};

/// A client of GitHub.
pub(crate) struct Github {
    http: ForgeHttp,
}

/// The account of an author; `null` if it was deleted.
#[derive(Debug, Deserialize)]
struct Account {
    login: String,
    id: u64,
}

impl Github {
    pub(crate) fn new(options: &ForgeOptions) -> Result<Self, ForgeError> {
        let profile = ApiProfile {
            api_url: api_url(&options.instance),
            scheme: "Bearer",
            headers: vec![
                ("accept", "application/vnd.github+json"),
                ("x-github-api-version", "2022-11-28"),
            ],
            page_size_key: "per_page",
        };
        Ok(Self { http: ForgeHttp::new(options, profile)? })
    }
}

/// `api.github.com` for the public service, `api.` for a tenant of `ghe.com`, `/api/v3` for an own server.
fn api_url(instance: &ForgeInstance) -> Url {
    let mut url = instance.base_url.clone();
    let host = url.host_str().unwrap_or_default().to_owned();
    if host == "github.com" || host.ends_with(".ghe.com") {
        // Cannot fail: the address has a host.
        let _ = url.set_host(Some(&format!("api.{host}")));
        url.set_path("");
    } else {
        let path = format!("{}/api/v3", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    url
}

/// An author, whose association may tell already that they own the repository.
fn author(account: Option<&Account>, association: Option<&str>) -> Author {
    let login = account.map(|account| account.login.as_str());
    let mut author = Author::from_account(login, account.map(|account| account.id));
    if association == Some("OWNER") && account.is_some() {
        author.write_access = WriteAccess::Granted;
    }
    author
}

#[async_trait]
impl ForgeApi for Github {
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
        Ok(self.pull(repository, number).await?.pull_request)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::ForgeKind;

    #[test]
    fn each_kind_of_github_has_its_own_api_address() {
        for (base, api) in [
            ("https://github.com", "https://api.github.com/"),
            ("https://acme.ghe.com", "https://api.acme.ghe.com/"),
            ("https://ghe.example:8443/", "https://ghe.example:8443/api/v3"),
        ] {
            let instance = ForgeInstance::new(ForgeKind::Github, base).unwrap();
            assert_eq!(api_url(&instance).as_str(), api);
        }
    }
}
