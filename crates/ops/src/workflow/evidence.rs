//! What is known of the result of a job that is over, and which files count as evidence about it.

use std::collections::BTreeSet;

use cynode_domain::criteria::Evidence;
use cynode_domain::job::Ending;
use cynode_domain::status::JobStatus;
use cynode_store::{ArtifactStore, BeforeStep, Job, JobOutput, JobStore, Tx};
use cynode_wire::jobs::JobView;

use super::check::{CHECK, Checks};
use super::job_view;
use crate::artifacts::OUTPUT;

/// Whose files count as evidence about an attempt (ADR 24).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunFiles {
    /// Those of the attempt itself.
    OfAttempt,
    /// Those of the attempt, and of the accepted attempts at earlier steps of the same run.
    SoFar,
}

impl RunFiles {
    /// Those that count for a step: only the last one is judged by what the whole run made.
    pub(crate) const fn for_step(is_last: bool) -> Self {
        if is_last { Self::SoFar } else { Self::OfAttempt }
    }
}

/// What is known of the result of a job that is over.
pub(crate) async fn evidence_of(
    tx: &mut Tx,
    job: Job,
    files: RunFiles,
) -> Result<Evidence, cynode_store::Error> {
    let of_step = tx.job_list_step(job.asked.run, job.asked.step_index).await?;
    let checks = Checks::among(of_step, job.asked.run, &job)?;
    evidence(tx, job, checks, files).await
}

pub(super) async fn evidence(
    tx: &mut Tx,
    job: Job,
    checks: Checks,
    files: RunFiles,
) -> Result<Evidence, cynode_store::Error> {
    let (task, files) = (job.asked.task, outputs(tx, &job, files).await?);
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

/// The files that count as evidence about a job's result: its own first, then those of earlier steps.
pub(crate) async fn outputs(
    tx: &mut Tx,
    job: &Job,
    files: RunFiles,
) -> Result<Vec<JobOutput>, cynode_store::Error> {
    let mut outputs = tx.output_list(job.asked.id).await?;
    if files == RunFiles::SoFar {
        let (run, step_index) = (job.asked.run, job.asked.step_index);
        let before = BeforeStep { run, step_index, attempts_below: CHECK };
        // Of several steps that left a file at one path, the last one counts.
        outputs.extend(tx.output_list_before(before).await?.into_iter().rev());
    }
    Ok(outputs)
}

/// How a job that is over ended.
pub(crate) fn ending_of(job: &JobView) -> Ending {
    if let Some(result) = &job.result {
        return result.ending.clone();
    }
    match job.status {
        JobStatus::Canceled => Ending::Canceled,
        JobStatus::LeaseExpired => {
            Ending::Interrupted { reason: "its node stopped reporting".to_owned() }
        }
        JobStatus::Queued | JobStatus::Running | JobStatus::Completed | JobStatus::Failed => {
            Ending::NotStarted { reason: "it left no result".to_owned() }
        }
    }
}
