//! Merge requests.

use cynode_domain::git::BranchName;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Account, DRAFT, Gitlab, author};
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
pub(super) struct MergeRequestRecord {
    iid: u64,
    web_url: String,
    title: String,
    description: Option<String>,
    author: Option<Account>,
    state: String,
    draft: Option<bool>,
    source_branch: String,
    target_branch: String,
    /// `null` if the fork was deleted.
    source_project_id: Option<u64>,
    target_project_id: u64,
    sha: Option<String>,
    has_conflicts: Option<bool>,
    detailed_merge_status: Option<String>,
    merge_status: Option<String>,
    /// Missing in lists.
    pub(super) head_pipeline: Option<PipelineRecord>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PipelineRecord {
    pub(super) id: u64,
    pub(super) sha: Option<String>,
    #[serde(rename = "ref")]
    pub(super) git_ref: Option<String>,
    pub(super) status: String,
    pub(super) web_url: Option<String>,
}

impl MergeRequestRecord {
    /// A merge request is locked while it is being merged.
    fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "opened" | "locked")
    }

    fn convert(self) -> Result<PullRequest, ForgeError> {
        let (title, by_title) = DRAFT.split(&self.title);
        let readiness = match self.draft {
            Some(true) => Readiness::Draft,
            Some(false) => Readiness::Ready,
            None => by_title,
        };
        let commit = self.sha.as_deref().and_then(|sha| sha.parse().ok());
        Ok(PullRequest {
            number: self.iid,
            url: clean_optional_url(Some(&self.web_url)).unwrap_or_default(),
            title: clean_line(title, MAX_TITLE_BYTES),
            body: clean_body(self.description.as_deref().unwrap_or_default()),
            author: author(self.author.as_ref()).login,
            state: match self.state.as_str() {
                "merged" => PullRequestState::Merged,
                _ if self.is_open() => PullRequestState::Open,
                _ => PullRequestState::Closed,
            },
            readiness,
            head_branch: clean_line(&self.source_branch, MAX_NAME_BYTES),
            is_from_fork: self.source_project_id != Some(self.target_project_id),
            head_commit: commit.ok_or_else(|| invalid("it has no commit id"))?,
            base_branch: clean_line(&self.target_branch, MAX_NAME_BYTES),
            mergeability: self.mergeability(),
        })
    }

    fn mergeability(&self) -> Mergeability {
        let detailed = self.detailed_merge_status.as_deref();
        let status = detailed.or(self.merge_status.as_deref()).unwrap_or_default();
        match status {
            _ if self.has_conflicts == Some(true) => Mergeability::Conflicting,
            "conflict" | "broken_status" | "cannot_be_merged" => Mergeability::Conflicting,
            ""
            | "unchecked"
            | "checking"
            | "preparing"
            | "cannot_be_merged_recheck"
            | "cannot_be_merged_rechecking" => Mergeability::Unknown,
            _ => Mergeability::Mergeable,
        }
    }
}

impl Gitlab {
    pub(super) async fn merge_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<MergeRequestRecord, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("merge request {number}"),
            ["projects", repository.as_str(), "merge_requests", &id],
        );
        self.http.json(&request).await
    }

    pub(super) async fn pull(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        self.merge_request(repository, number).await?.convert()
    }

    pub(super) async fn pull_requests(
        &self,
        repository: &RepositoryPath,
        head: &BranchName,
        filter: PullRequestFilter,
    ) -> Result<BoundedList<PullRequest>, ForgeError> {
        let state = match filter {
            PullRequestFilter::Open => "opened",
            PullRequestFilter::Any => "all",
        };
        let request = ForgeRequest::get(
            format!("project {repository}"),
            ["projects", repository.as_str(), "merge_requests"],
        )
        .query("source_branch", head.as_str())
        .query("state", state);
        let list = self.http.list::<MergeRequestRecord>(&request).await?;
        // Closed merge requests may have lost their commits with their fork.
        let is_usable = |record: &MergeRequestRecord| record.sha.is_some() || record.is_open();
        let records = list.entries.into_iter().filter(is_usable);
        let entries: Result<Vec<PullRequest>, ForgeError> =
            records.map(MergeRequestRecord::convert).collect();
        Ok(BoundedList { entries: entries?, is_truncated: list.is_truncated })
    }

    pub(super) async fn open_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
    ) -> Result<PullRequest, ForgeError> {
        let request = ForgeRequest::write(
            Method::POST,
            format!("project {repository}"),
            ["projects", repository.as_str(), "merge_requests"],
            json!({
                "title": DRAFT.write(&new.title, new.readiness),
                "description": fit_body(&new.body),
                "source_branch": new.head.as_str(),
                "target_branch": new.base.as_str(),
            }),
        );
        self.http.json::<MergeRequestRecord>(&request).await?.convert()
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
        self.put_merge_request(repository, number, update.to_fields(title, "description")).await
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
        self.put_merge_request(repository, number, json!({ "title": title })).await
    }

    async fn put_merge_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        changes: Value,
    ) -> Result<PullRequest, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::write(
            Method::PUT,
            format!("merge request {number}"),
            ["projects", repository.as_str(), "merge_requests", &id],
            changes,
        );
        self.http.json::<MergeRequestRecord>(&request).await?.convert()
    }
}
