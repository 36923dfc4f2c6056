//! Changes in a repository as evidence of a job.

use serde::{Deserialize, Serialize};

use crate::git::{ChangedFileView, CommitView, GitFindingView};

/// What the worker node collected in the repository of the task after the job, within limits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceChanges {
    /// The newest commits, oldest first.
    pub commits: Vec<CommitView>,
    /// Changed files.
    pub files: Vec<ChangedFileView>,
    /// How many more files were changed.
    pub omitted_files: usize,
    /// What was found in the commits, the most severe first.
    pub findings: Vec<GitFindingView>,
    /// How many more findings there are.
    pub omitted_findings: usize,
    /// The beginning of the patch.
    pub patch: String,
    /// Whether the patch was cut.
    pub is_truncated: bool,
}
