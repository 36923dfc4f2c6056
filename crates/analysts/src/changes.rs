//! The changes that were collected after a job, as evidence for an analyst.

use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::git::TaskDiffView;
use cynode_wire::handoff::EvidenceChanges;

use crate::AnalystService;

/// Limit of a patch that is handed over, from its beginning; as of other output.
const MAX_PATCH_BYTES: usize = 16 * 1024;
/// How many commits, files and findings are handed over.
const MAX_COMMITS: usize = 50;
const MAX_FILES: usize = 200;
const MAX_FINDINGS: usize = 50;

impl AnalystService {
    /// Loads the changes that were collected after this job; those of other jobs and attempts are no evidence about it.
    /// Changes that cannot be read are logged, and missing from the evidence.
    pub(super) async fn load_changes(&self, task: TaskId, job: JobId) -> Option<EvidenceChanges> {
        let artifacts = self.artifacts.as_ref()?;
        match artifacts.changes_of_job(task, job, MAX_PATCH_BYTES).await {
            Ok(changes) => changes.map(shorten_changes),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(job.id = %job, error, "changes of job not read");
                None
            }
        }
    }
}

fn shorten_changes(view: TaskDiffView) -> EvidenceChanges {
    let TaskDiffView { changes, patch, is_truncated, .. } = view;
    let (mut commits, mut files, mut findings) = (changes.commits, changes.files, changes.findings);
    commits.drain(..commits.len().saturating_sub(MAX_COMMITS));
    let omitted_files = files.len().saturating_sub(MAX_FILES);
    files.truncate(MAX_FILES);
    let omitted_findings = findings.len().saturating_sub(MAX_FINDINGS);
    findings.truncate(MAX_FINDINGS);
    EvidenceChanges {
        commits,
        files,
        omitted_files,
        findings,
        omitted_findings,
        patch,
        is_truncated,
    }
}
