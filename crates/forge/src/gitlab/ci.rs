//! The pipeline of a merge request, and the statuses of its head commit: jobs and results of external services.

use cynode_domain::git::CommitId;
use serde::Deserialize;

use super::Gitlab;
use super::pulls::PipelineRecord;
use crate::address::RepositoryPath;
use crate::ci::{CiCheck, CiReport, CiState};
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::text::{MAX_MESSAGE_BYTES, MAX_NAME_BYTES, clean_line, clean_optional_url};

#[derive(Debug, Deserialize)]
struct StatusRecord {
    name: Option<String>,
    status: String,
    description: Option<String>,
    target_url: Option<String>,
    #[serde(default)]
    allow_failure: bool,
}

impl Gitlab {
    pub(super) async fn ci(
        &self,
        repository: &RepositoryPath,
        number: u64,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError> {
        let pipeline = self.merge_request(repository, number).await?.head_pipeline;
        let request = ForgeRequest::get(
            format!("statuses of {head}"),
            ["projects", repository.as_str(), "repository", "commits", head.as_str(), "statuses"],
        );
        let statuses = self.http.list::<StatusRecord>(&request).await?;
        let pipeline = pipeline.filter(|pipeline| is_pipeline_of(pipeline, number, head));
        let mut checks: Vec<CiCheck> =
            pipeline.as_ref().map(check_of_pipeline).into_iter().collect();
        checks.extend(statuses.entries.into_iter().map(|status| CiCheck {
            name: clean_line(&status.name.unwrap_or_default(), MAX_NAME_BYTES),
            state: parse_state(&status.status, status.allow_failure),
            summary: clean_line(
                status.description.as_deref().unwrap_or(&status.status),
                MAX_MESSAGE_BYTES,
            ),
            url: clean_optional_url(status.target_url.as_deref()),
        }));
        Ok(CiReport::combine(head.as_str(), checks, statuses.is_truncated))
    }
}

/// A pipeline of merged results runs on a commit that exists only for it.
fn is_pipeline_of(pipeline: &PipelineRecord, number: u64, head: &CommitId) -> bool {
    pipeline.sha.as_deref() == Some(head.as_str())
        || pipeline.git_ref.as_deref() == Some(&format!("refs/merge-requests/{number}/merge"))
}

fn check_of_pipeline(pipeline: &PipelineRecord) -> CiCheck {
    CiCheck {
        name: format!("pipeline {}", pipeline.id),
        state: parse_state(&pipeline.status, false),
        summary: clean_line(&pipeline.status, MAX_MESSAGE_BYTES),
        url: clean_optional_url(pipeline.web_url.as_deref()),
    }
}

pub(crate) fn parse_state(status: &str, may_fail: bool) -> CiState {
    match status {
        "success" | "skipped" => CiState::Passed,
        "failed" | "canceled" | "manual" if may_fail => CiState::Passed,
        "failed" | "canceled" => CiState::Failed,
        // `manual` waits for a person; the others run or will run.
        _ => CiState::Pending,
    }
}
