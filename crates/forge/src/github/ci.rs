//! Commit statuses and check runs. A token that may not read check runs may be able to read workflow runs.

use cynode_domain::git::CommitId;
use serde::Deserialize;

use super::Github;
use crate::address::RepositoryPath;
use crate::ci::{CiCheck, CiReport, CiState};
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::item::BoundedList;
use crate::text::{MAX_MESSAGE_BYTES, MAX_NAME_BYTES, clean_line, clean_optional_url};

#[derive(Debug, Deserialize)]
struct CombinedStatus {
    statuses: Vec<StatusRecord>,
}

#[derive(Debug, Deserialize)]
struct StatusRecord {
    context: String,
    state: String,
    description: Option<String>,
    target_url: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CheckRuns {
    check_runs: Vec<RunRecord>,
}

#[derive(Debug, Deserialize)]
struct WorkflowRuns {
    workflow_runs: Vec<RunRecord>,
}

#[derive(Debug, Deserialize)]
struct RunRecord {
    name: Option<String>,
    status: String,
    conclusion: Option<String>,
    html_url: Option<String>,
    output: Option<RunOutput>,
    /// Only workflow runs have it.
    workflow_id: Option<u64>,
    event: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RunOutput {
    title: Option<String>,
}

impl Github {
    pub(super) async fn ci(
        &self,
        repository: &RepositoryPath,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError> {
        let path = ["repos", repository.owner(), repository.name(), "commits", head.as_str()];
        let request =
            ForgeRequest::get(format!("statuses of {head}"), [&path[..], &["status"]].concat());
        let pages = |page: CombinedStatus| page.statuses;
        let statuses = self.http.list_until(&request, pages, |_| false).await?;

        let request = ForgeRequest::get(
            format!("check runs of {head}"),
            [&path[..], &["check-runs"]].concat(),
        )
        .query("filter", "latest");
        let pages = |page: CheckRuns| page.check_runs;
        let runs = match self.http.list_until(&request, pages, |_| false).await {
            Err(refused @ ForgeError::Unauthorized { .. }) => {
                // The permission of check runs is the one to ask for.
                self.workflow_runs(repository, head).await.map_err(|_| refused)?
            }
            runs => runs?,
        };

        let is_truncated = statuses.is_truncated || runs.is_truncated;
        let statuses = statuses.entries.into_iter().map(|status| CiCheck {
            name: clean_line(&status.context, MAX_NAME_BYTES),
            state: match status.state.as_str() {
                "success" => CiState::Passed,
                "pending" => CiState::Pending,
                _ => CiState::Failed,
            },
            summary: clean_line(&status.description.unwrap_or_default(), MAX_MESSAGE_BYTES),
            url: clean_optional_url(status.target_url.as_deref()),
        });
        let checks = statuses.chain(runs.entries.into_iter().map(check_of_run)).collect();
        Ok(CiReport::combine(head.as_str(), checks, is_truncated))
    }

    /// The newest run of each workflow and event.
    async fn workflow_runs(
        &self,
        repository: &RepositoryPath,
        head: &CommitId,
    ) -> Result<BoundedList<RunRecord>, ForgeError> {
        let request = ForgeRequest::get(
            format!("workflow runs of {head}"),
            ["repos", repository.owner(), repository.name(), "actions", "runs"],
        )
        .query("head_sha", head.as_str());
        let pages = |page: WorkflowRuns| page.workflow_runs;
        let mut runs = self.http.list_until(&request, pages, |_| false).await?;
        let mut seen = std::collections::HashSet::new();
        runs.entries.retain(|run| seen.insert((run.workflow_id, run.event.clone())));
        Ok(runs)
    }
}

fn check_of_run(run: RunRecord) -> CiCheck {
    let state = match (run.status.as_str(), run.conclusion.as_deref()) {
        ("completed", Some("success" | "neutral" | "skipped")) => CiState::Passed,
        ("completed", _) => CiState::Failed,
        _ => CiState::Pending,
    };
    let title = run.output.and_then(|output| output.title);
    let summary = title.or(run.conclusion).unwrap_or(run.status);
    CiCheck {
        name: clean_line(&run.name.unwrap_or_default(), MAX_NAME_BYTES),
        state,
        summary: clean_line(&summary, MAX_MESSAGE_BYTES),
        url: clean_optional_url(run.html_url.as_deref()),
    }
}
