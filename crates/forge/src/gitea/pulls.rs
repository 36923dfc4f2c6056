//! Pull requests.

use cynode_domain::git::BranchName;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Account, DRAFT, Gitea, author};
use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::{ForgeRequest, invalid};
use crate::item::BoundedList;
use crate::pull_request::{
    Mergeability, NewPullRequest, PullRequest, PullRequestFilter, PullRequestState,
    PullRequestUpdate, Readiness,
};
use crate::text::{
    MAX_NAME_BYTES, MAX_TITLE_BYTES, clean_body, clean_line, clean_optional_url, fit_body,
};

#[derive(Debug, Deserialize)]
struct PullRecord {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    user: Option<Account>,
    state: String,
    /// Old versions do not have it.
    draft: Option<bool>,
    #[serde(default)]
    merged: bool,
    #[serde(default)]
    mergeable: bool,
    head: BranchRecord,
    base: BranchRecord,
}

#[derive(Debug, Deserialize)]
struct BranchRecord {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    /// Negative or zero if the fork was deleted.
    repo_id: i64,
}

impl PullRecord {
    fn is_of_branch(&self, head: &BranchName) -> bool {
        self.head.branch == head.as_str() && self.head.repo_id == self.base.repo_id
    }

    fn convert(self) -> Result<PullRequest, ForgeError> {
        let (title, by_title) = DRAFT.split(&self.title);
        let readiness = match self.draft {
            Some(true) => Readiness::Draft,
            Some(false) => Readiness::Ready,
            None => by_title,
        };
        let state = match (self.merged, self.state.as_str()) {
            (true, _) => PullRequestState::Merged,
            (false, "open") => PullRequestState::Open,
            (false, _) => PullRequestState::Closed,
        };
        let may_be_merged = readiness == Readiness::Ready && state == PullRequestState::Open;
        Ok(PullRequest {
            number: self.number,
            url: clean_optional_url(Some(&self.html_url)).unwrap_or_default(),
            title: clean_line(title, MAX_TITLE_BYTES),
            body: clean_body(self.body.as_deref().unwrap_or_default()),
            author: author(self.user.as_ref()).login,
            state,
            readiness,
            head_branch: clean_line(&self.head.branch, MAX_NAME_BYTES),
            is_from_fork: self.head.repo_id != self.base.repo_id,
            head_commit: self.head.sha.parse().map_err(|_| invalid("it has no commit id"))?,
            base_branch: clean_line(&self.base.branch, MAX_NAME_BYTES),
            // Drafts are never mergeable, whether they have conflicts or not.
            mergeability: match self.mergeable {
                true => Mergeability::Mergeable,
                false if may_be_merged => Mergeability::Conflicting,
                false => Mergeability::Unknown,
            },
        })
    }
}

impl Gitea {
    pub(super) async fn pull(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("pull request {number}"),
            ["repos", repository.owner(), repository.name(), "pulls", &id],
        );
        self.http.json::<PullRecord>(&request).await?.convert()
    }

    /// The list has no filter for the head branch, so it is read until the branch is found.
    pub(super) async fn pull_requests(
        &self,
        repository: &RepositoryPath,
        head: &BranchName,
        filter: PullRequestFilter,
    ) -> Result<BoundedList<PullRequest>, ForgeError> {
        let states: &[&str] = match filter {
            PullRequestFilter::Open => &["open"],
            PullRequestFilter::Any => &["open", "closed"],
        };
        let mut found = BoundedList::default();
        for state in states {
            let request = ForgeRequest::get(
                format!("repository {repository}"),
                ["repos", repository.owner(), repository.name(), "pulls"],
            )
            .query("state", *state)
            .query("sort", "recentupdate");
            let pages = |page: Vec<PullRecord>| page;
            let list =
                self.http.list_until(&request, pages, |record| record.is_of_branch(head)).await?;
            let is_truncated = list.is_truncated;
            for record in list.entries {
                // Closed pull requests may have lost their commits with their branch.
                let is_usable = record.state == "open" || !record.head.sha.is_empty();
                if record.is_of_branch(head) && is_usable {
                    found.entries.push(record.convert()?);
                }
            }
            if !found.entries.is_empty() {
                return Ok(found);
            }
            found.is_truncated |= is_truncated;
        }
        Ok(found)
    }

    pub(super) async fn open_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
    ) -> Result<PullRequest, ForgeError> {
        let request = ForgeRequest::write(
            Method::POST,
            format!("repository {repository}"),
            ["repos", repository.owner(), repository.name(), "pulls"],
            json!({
                "title": DRAFT.write(&new.title, new.readiness),
                "body": fit_body(&new.body),
                "head": new.head.as_str(),
                "base": new.base.as_str(),
            }),
        );
        self.http.json::<PullRecord>(&request).await?.convert()
    }

    pub(super) async fn edit_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        update: &PullRequestUpdate,
    ) -> Result<PullRequest, ForgeError> {
        let title = match &update.title {
            Some(title) => Some(DRAFT.write(title, self.pull(repository, number).await?.readiness)),
            None => None,
        };
        self.patch_pull_request(repository, number, update.to_fields(title, "body")).await
    }

    pub(super) async fn make_ready(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        let pull = self.pull(repository, number).await?;
        if pull.readiness == Readiness::Ready {
            return Ok(pull);
        }
        let title = DRAFT.write(&pull.title, Readiness::Ready);
        self.patch_pull_request(repository, number, json!({ "title": title })).await
    }

    async fn patch_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        changes: Value,
    ) -> Result<PullRequest, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::write(
            Method::PATCH,
            format!("pull request {number}"),
            ["repos", repository.owner(), repository.name(), "pulls", &id],
            changes,
        );
        self.http.json::<PullRecord>(&request).await?.convert()
    }
}
