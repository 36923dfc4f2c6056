//! Having a step's result judged.
//!
//! The judge is the deterministic analyst: exit codes, owed outputs and checkable criteria. It
//! sees what the database says about the job, never what the runner says about it.

use cynode_domain::criteria::{Criterion, Evidence, judge};
use cynode_domain::job::Ending;
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::Verdict;
use cynode_store::{ArtifactStore, JobStore, Tx};
use cynode_wire::jobs::JobView;
use cynode_wire::workflow::VerifyStep;
use tokio::task::spawn_blocking;

use super::{Workflow, WorkflowError, check, job_view, task_of};
use crate::artifacts::OUTPUT;

impl Workflow {
    /// Judges the result of a job that has ended.
    pub async fn verify(&self, request: VerifyStep) -> Result<Verdict, WorkflowError> {
        let owed = request.expected_outputs.clone();
        let (evidence, criteria) =
            self.store.write(move |tx| Box::pin(gather(tx, request))).await?;
        // Expressions come from users and may be slow: neither the database nor other requests wait.
        let judged = spawn_blocking(move || judge(&evidence, &owed, &criteria)).await;
        judged.map_err(|error| WorkflowError::Judge(Box::new(error)))
    }
}

/// What is to be judged, and by which criteria.
async fn gather(
    tx: &mut Tx,
    request: VerifyStep,
) -> Result<(Evidence, Vec<Criterion>), WorkflowError> {
    let lease = check(tx, request.hold).await?;
    let job = tx.job_get(request.job_id).await?;
    let job = job.filter(|job| job.asked.task == lease.task);
    let job = job_view(job.ok_or(WorkflowError::NoJob(request.job_id))?)?;
    if !job.status.is_terminal() {
        return Err(WorkflowError::StillRunning(job.id));
    }
    let artifacts = tx.artifact_list(lease.task).await?;
    let artifacts = artifacts.into_iter().filter(|artifact| artifact.kind == OUTPUT);
    let evidence = evidence(job, artifacts.map(|artifact| artifact.path).collect());
    let task = task_of(tx, lease.task).await?;
    let criteria = if request.is_last_step { task.asked.acceptance_criteria } else { vec![] };
    Ok((evidence, criteria))
}

fn evidence(job: JobView, artifacts: Vec<String>) -> Evidence {
    if let Some(result) = job.result {
        return Evidence { ending: result.ending, stdout: result.stdout, artifacts };
    }
    let ending = match job.status {
        JobStatus::Canceled => Ending::Canceled,
        JobStatus::LeaseExpired => {
            Ending::Interrupted { reason: "its node stopped reporting".to_owned() }
        }
        JobStatus::Queued | JobStatus::Running | JobStatus::Completed | JobStatus::Failed => {
            Ending::NotStarted { reason: "it left no result".to_owned() }
        }
    };
    Evidence { ending, stdout: String::new(), artifacts }
}
