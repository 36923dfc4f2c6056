//! Pull requests. REST cannot mark a draft as ready; GraphQL can.

use cynode_domain::git::BranchName;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Account, Github, author};
use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::{ForgeRequest, invalid};
use crate::item::BoundedList;
use crate::pull_request::{
    Mergeability, NewPullRequest, PullRequest, PullRequestFilter, PullRequestState,
    PullRequestUpdate, Readiness,
};
use crate::text::{
    MAX_MESSAGE_BYTES, MAX_NAME_BYTES, MAX_TITLE_BYTES, clean_body, clean_line, clean_optional_url,
    fit_body, fit_title,
};

/// What GitHub says where drafts are not part of the plan.
const NO_DRAFTS: &str = "draft pull requests are not supported";
const MARK_READY: &str = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";

#[derive(Debug, Deserialize)]
struct PullRecord {
    number: u64,
    node_id: String,
    html_url: String,
    title: String,
    body: Option<String>,
    user: Option<Account>,
    state: String,
    #[serde(default)]
    draft: bool,
    merged_at: Option<String>,
    /// Missing in lists; `null` until it was computed.
    mergeable: Option<bool>,
    head: BranchRecord,
    base: BranchRecord,
}

#[derive(Debug, Deserialize)]
struct BranchRecord {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    /// `null` if the fork was deleted.
    repo: Option<RepositoryRecord>,
}

#[derive(Debug, Deserialize)]
struct RepositoryRecord {
    id: u64,
}

/// A pull request, and the id that GraphQL uses.
pub(super) struct GithubPull {
    pub(super) pull_request: PullRequest,
    node_id: String,
}

impl PullRecord {
    fn convert(self) -> Result<GithubPull, ForgeError> {
        let repository = |branch: &BranchRecord| branch.repo.as_ref().map(|repo| repo.id);
        let is_from_fork =
            repository(&self.head).is_none() || repository(&self.head) != repository(&self.base);
        let pull_request = PullRequest {
            number: self.number,
            url: clean_optional_url(Some(&self.html_url)).unwrap_or_default(),
            title: clean_line(&self.title, MAX_TITLE_BYTES),
            body: clean_body(&self.body.unwrap_or_default()),
            author: author(self.user.as_ref(), None).login,
            state: match (self.merged_at, self.state.as_str()) {
                (Some(_), _) => PullRequestState::Merged,
                (None, "open") => PullRequestState::Open,
                (None, _) => PullRequestState::Closed,
            },
            readiness: if self.draft { Readiness::Draft } else { Readiness::Ready },
            head_branch: clean_line(&self.head.branch, MAX_NAME_BYTES),
            is_from_fork,
            head_commit: self.head.sha.parse().map_err(|_| invalid("it has no commit id"))?,
            base_branch: clean_line(&self.base.branch, MAX_NAME_BYTES),
            mergeability: match self.mergeable {
                Some(true) => Mergeability::Mergeable,
                Some(false) => Mergeability::Conflicting,
                None => Mergeability::Unknown,
            },
        };
        Ok(GithubPull { pull_request, node_id: self.node_id })
    }
}

impl Github {
    pub(super) async fn pull(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<GithubPull, ForgeError> {
        let id = number.to_string();
        let request = ForgeRequest::get(
            format!("pull request {number}"),
            ["repos", repository.owner(), repository.name(), "pulls", &id],
        );
        self.http.json::<PullRecord>(&request).await?.convert()
    }

    pub(super) async fn pull_requests(
        &self,
        repository: &RepositoryPath,
        head: &BranchName,
        filter: PullRequestFilter,
    ) -> Result<BoundedList<PullRequest>, ForgeError> {
        let state = match filter {
            PullRequestFilter::Open => "open",
            PullRequestFilter::Any => "all",
        };
        let request = ForgeRequest::get(
            format!("repository {repository}"),
            ["repos", repository.owner(), repository.name(), "pulls"],
        )
        .query("head", format!("{}:{head}", repository.owner()))
        .query("state", state);
        let list = self.http.list::<PullRecord>(&request).await?;
        let entries = list.entries.into_iter().map(|record| Ok(record.convert()?.pull_request));
        let entries: Result<Vec<PullRequest>, ForgeError> = entries.collect();
        Ok(BoundedList { entries: entries?, is_truncated: list.is_truncated })
    }

    pub(super) async fn open_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
    ) -> Result<PullRequest, ForgeError> {
        let is_draft = new.readiness == Readiness::Draft;
        match self.post_pull_request(repository, new, is_draft).await {
            Err(ForgeError::Rejected { reason })
                if is_draft && reason.to_ascii_lowercase().contains(NO_DRAFTS) =>
            {
                self.post_pull_request(repository, new, false).await
            }
            opened => opened,
        }
    }

    async fn post_pull_request(
        &self,
        repository: &RepositoryPath,
        new: &NewPullRequest,
        is_draft: bool,
    ) -> Result<PullRequest, ForgeError> {
        let request = ForgeRequest::write(
            Method::POST,
            format!("repository {repository}"),
            ["repos", repository.owner(), repository.name(), "pulls"],
            json!({
                "title": fit_title(&new.title),
                "body": fit_body(&new.body),
                "head": new.head.as_str(),
                "base": new.base.as_str(),
                "draft": is_draft,
            }),
        );
        Ok(self.http.json::<PullRecord>(&request).await?.convert()?.pull_request)
    }

    pub(super) async fn edit_pull_request(
        &self,
        repository: &RepositoryPath,
        number: u64,
        update: &PullRequestUpdate,
    ) -> Result<PullRequest, ForgeError> {
        let title = update.title.as_deref().map(fit_title);
        let id = number.to_string();
        let request = ForgeRequest::write(
            Method::PATCH,
            format!("pull request {number}"),
            ["repos", repository.owner(), repository.name(), "pulls", &id],
            update.to_fields(title, "body"),
        );
        Ok(self.http.json::<PullRecord>(&request).await?.convert()?.pull_request)
    }

    pub(super) async fn make_ready(
        &self,
        repository: &RepositoryPath,
        number: u64,
    ) -> Result<PullRequest, ForgeError> {
        let pull = self.pull(repository, number).await?;
        if pull.pull_request.readiness == Readiness::Ready {
            return Ok(pull.pull_request);
        }
        let body = json!({ "query": MARK_READY, "variables": { "id": pull.node_id } });
        let what = format!("pull request {number}");
        let request = ForgeRequest::write(Method::POST, what, ["graphql"], body).beside_rest();
        let answer: Value = self.http.json(&request).await?;
        check_graphql(&answer, number)?;
        Ok(self.pull(repository, number).await?.pull_request)
    }
}

/// GraphQL reports errors with status 200.
fn check_graphql(answer: &Value, number: u64) -> Result<(), ForgeError> {
    let Some(error) = answer["errors"].get(0) else { return Ok(()) };
    let reason =
        clean_line(error["message"].as_str().unwrap_or("GraphQL error"), MAX_MESSAGE_BYTES);
    Err(match error["type"].as_str() {
        Some("NOT_FOUND") => ForgeError::NotFound { what: format!("pull request {number}") },
        Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => ForgeError::Unauthorized {
            reason,
            missing_permission: Some("pull_requests=write".to_owned()),
        },
        _ => ForgeError::Rejected { reason },
    })
}
