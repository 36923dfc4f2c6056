//! Commit statuses; Gitea Actions write them too.

use cynode_domain::git::CommitId;
use serde::Deserialize;

use super::Gitea;
use crate::address::RepositoryPath;
use crate::ci::{CiCheck, CiReport, CiState};
use crate::error::ForgeError;
use crate::http::ForgeRequest;
use crate::text::{MAX_MESSAGE_BYTES, MAX_NAME_BYTES, clean_line, clean_optional_url};

#[derive(Debug, Deserialize)]
struct StatusRecord {
    id: u64,
    context: Option<String>,
    /// The field of the state in Gitea, unlike in GitHub.
    status: String,
    description: Option<String>,
    target_url: Option<String>,
}

impl Gitea {
    /// Lists every status of the commit; the newest one of each context counts. The order of the list is not used:
    /// its times have seconds only, and versions disagree about the meaning of its sort keys.
    pub(super) async fn ci(
        &self,
        repository: &RepositoryPath,
        head: &CommitId,
    ) -> Result<CiReport, ForgeError> {
        let request = ForgeRequest::get(
            format!("statuses of {head}"),
            ["repos", repository.owner(), repository.name(), "statuses", head.as_str()],
        );
        let mut list = self.http.list::<StatusRecord>(&request).await?;
        list.entries.sort_by_key(|status| std::cmp::Reverse(status.id));
        let mut seen = std::collections::HashSet::new();
        list.entries.retain(|status| seen.insert(status.context.clone()));
        let checks = list.entries.into_iter().map(|status| CiCheck {
            name: clean_line(&status.context.unwrap_or_default(), MAX_NAME_BYTES),
            state: parse_state(&status.status),
            summary: clean_line(
                status
                    .description
                    .filter(|text| !text.is_empty())
                    .as_ref()
                    .unwrap_or(&status.status),
                MAX_MESSAGE_BYTES,
            ),
            url: clean_optional_url(status.target_url.as_deref()),
        });
        Ok(CiReport::combine(head.as_str(), checks.collect(), list.is_truncated))
    }
}

pub(crate) fn parse_state(status: &str) -> CiState {
    match status {
        "success" | "warning" | "skipped" => CiState::Passed,
        "pending" | "" => CiState::Pending,
        _ => CiState::Failed,
    }
}
