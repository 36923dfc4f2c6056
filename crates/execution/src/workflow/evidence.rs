//! Evidence about the result of an ended job: its output, its files and its checks.

use std::collections::BTreeSet;

use cynode_domain::criteria::Evidence;
use cynode_domain::job::JobEnding;
use cynode_domain::status::JobStatus;
use cynode_domain::text::last_chars;
use cynode_store::{EarlierSteps, Job, JobOutput, Tx};
use cynode_wire::jobs::JobView;

use super::check::{AttemptChecks, CHECK_FACTOR};
use super::job_view;
use crate::artifacts::OUTPUT;

/// Limit of the output that is handed over, from its end.
pub const MAX_OUTPUT_CHARS: usize = 16 * 1024;

/// Which files count as evidence about an attempt (ADR 24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceScope {
    /// Files of the attempt itself.
    Attempt,
    /// Files of the attempt, and of the accepted attempts at earlier steps of the same run.
    AttemptAndEarlierSteps,
}

impl EvidenceScope {
    /// Selects the files for a step: only the last step is judged by the files of the whole run.
    pub const fn for_step(is_last: bool) -> Self {
        if is_last { Self::AttemptAndEarlierSteps } else { Self::Attempt }
    }
}

/// Loads the evidence about an ended job.
pub async fn load_evidence(
    tx: &mut Tx,
    job: Job,
    files: EvidenceScope,
) -> Result<Evidence, cynode_store::Error> {
    let of_step = tx.job_list_step(job.spec.run, job.spec.step_index).await?;
    let checks = AttemptChecks::select(of_step, job.spec.run, &job)?;
    load_evidence_with_checks(tx, job, checks, files).await
}

pub(super) async fn load_evidence_with_checks(
    tx: &mut Tx,
    job: Job,
    checks: AttemptChecks,
    files: EvidenceScope,
) -> Result<Evidence, cynode_store::Error> {
    let (task, files) = (job.spec.task, load_outputs(tx, &job, files).await?);
    let artifacts: BTreeSet<_> = files.into_iter().map(|output| output.path).collect();
    let known = tx.artifact_list(task).await?.into_iter();
    let known = known.filter(|known| known.kind == OUTPUT).map(|known| known.path);
    let stale = known.filter(|path| !artifacts.contains(path)).collect();
    let view = job_view(job)?;
    let ending = ending_of(&view);
    let (stdout, stderr) =
        view.result.map(|result| (result.stdout, result.stderr)).unwrap_or_default();
    let artifacts = artifacts.into_iter().collect();
    Ok(Evidence { ending, stdout, stderr, artifacts, stale, checks: checks.ended })
}

/// Loads the files that count as evidence about a job: its own first, then those of earlier steps.
pub(crate) async fn load_outputs(
    tx: &mut Tx,
    job: &Job,
    files: EvidenceScope,
) -> Result<Vec<JobOutput>, cynode_store::Error> {
    let mut outputs = tx.output_list(job.spec.id).await?;
    if files == EvidenceScope::AttemptAndEarlierSteps {
        let (run, step_index) = (job.spec.run, job.spec.step_index);
        let before = EarlierSteps { run, step_index, attempts_below: CHECK_FACTOR };
        // If several steps produced a file at the same path, the last one counts.
        outputs.extend(tx.output_list_before(before).await?.into_iter().rev());
    }
    Ok(outputs)
}

/// Truncates the output in the evidence to its end.
pub fn shorten_output(evidence: Evidence) -> Evidence {
    let shorten = |text: &str| last_chars(text, MAX_OUTPUT_CHARS).to_owned();
    let (stdout, stderr) = (shorten(&evidence.stdout), shorten(&evidence.stderr));
    Evidence { stdout, stderr, ..evidence }
}

/// How an ended job ended.
pub fn ending_of(job: &JobView) -> JobEnding {
    if let Some(result) = &job.result {
        return result.ending.clone();
    }
    match job.status {
        JobStatus::Canceled => JobEnding::Canceled,
        JobStatus::LeaseExpired => {
            JobEnding::Interrupted { reason: "its node stopped reporting".to_owned() }
        }
        JobStatus::Queued | JobStatus::Running | JobStatus::Completed | JobStatus::Failed => {
            JobEnding::NotStarted { reason: "it left no result".to_owned() }
        }
    }
}
