//! The default branch of a repository; every forge has the same field.

use cynode_domain::git::BranchName;
use serde::Deserialize;

use crate::address::RepositoryPath;
use crate::error::ForgeError;
use crate::http::{ForgeHttp, ForgeRequest, invalid};

#[derive(Debug, Deserialize)]
struct DefaultBranchRecord {
    /// Missing if the repository is empty.
    default_branch: Option<String>,
}

/// Reads the repository at the segments of its address.
pub(crate) async fn read_default_branch<'s>(
    http: &ForgeHttp,
    repository: &RepositoryPath,
    segments: impl IntoIterator<Item = &'s str>,
) -> Result<BranchName, ForgeError> {
    let request = ForgeRequest::get(format!("repository {repository}"), segments);
    let found: DefaultBranchRecord = http.json(&request).await?;
    let branch = found.default_branch.and_then(|branch| branch.parse().ok());
    branch.ok_or_else(|| invalid("the repository has no default branch"))
}
