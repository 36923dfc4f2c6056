//! Handing a step to a worker node, and waiting for what comes of it.

use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use cynode_runtime::failpoint;
use cynode_store::{ArtifactStore, EventStore, JobStore, Lease, NewEvent, NewJob, Tx};
use cynode_wire::jobs::JobView;
use cynode_wire::workflow::{AwaitJob, DispatchStep, DispatchedView};
use serde_json::json;
use tokio::time::Instant;

use super::check::{CHECK, split};
use super::{MAX_WAIT_MS, Workflow, WorkflowError, check, job_view, task_of};
use crate::artifacts::ATTACHMENT;
use crate::nodes::{Payload, assign_open_jobs};
use crate::signals::Topic;
use crate::tasks::event;

impl Workflow {
    /// Makes the job for (run, step, attempt), or gives the one made before, and picks its node.
    pub async fn dispatch(&self, request: DispatchStep) -> Result<DispatchedView, WorkflowError> {
        failpoint::hit("dispatch_arrived", "dispatch_step");
        let job_id = self.store.write(move |tx| Box::pin(dispatch(tx, request))).await?;
        failpoint::hit("dispatch_committed", "dispatch_step");
        self.signals.send(Topic::Jobs);
        Ok(DispatchedView { job_id })
    }

    /// A job; waits until it has ended, or as long as the request says.
    pub async fn await_job(&self, id: JobId, request: AwaitJob) -> Result<JobView, WorkflowError> {
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.listen(Topic::Results);
        loop {
            let job = self
                .store
                .read(move |tx| {
                    Box::pin(async move { Ok::<_, WorkflowError>(tx.job_get(id).await?) })
                })
                .await?;
            let job = job.ok_or(WorkflowError::NoJob(id))?;
            if job.status.is_terminal() || !listener.wait(deadline).await {
                return Ok(job_view(job)?);
            }
        }
    }
}

async fn dispatch(tx: &mut Tx, request: DispatchStep) -> Result<JobId, WorkflowError> {
    let (step_index, attempt) = (request.step_index, request.attempt);
    if !(1..CHECK).contains(&attempt) {
        let fault = format!("attempt is {attempt}; allowed is 1 to {}", CHECK - 1);
        return Err(WorkflowError::Invalid(fault));
    }
    let lease = check(tx, request.hold).await?;
    let wanted = Wanted { step_index, attempt, action: request.step.action };
    let job = make_job(tx, &lease, wanted).await?;
    failpoint::hit("dispatch_written", "dispatch_step");
    Ok(job)
}

/// A job that is to be made.
pub(super) struct Wanted {
    pub(super) step_index: u32,
    pub(super) attempt: u32,
    pub(super) action: Action,
}

/// Makes the job for (run, step, attempt) unless there is one, and picks its node.
pub(super) async fn make_job(
    tx: &mut Tx,
    lease: &Lease,
    wanted: Wanted,
) -> Result<JobId, WorkflowError> {
    let task = task_of(tx, lease.task).await?;
    let attachments = tx.artifact_list(lease.task).await?;
    let payload = Payload {
        action: wanted.action,
        limits: task.asked.options.limits,
        attachments: attachments
            .into_iter()
            .filter(|artifact| artifact.kind == ATTACHMENT)
            .map(|artifact| artifact.path)
            .collect(),
    };
    // Jobs of one task share a workspace, so they stay where the first of them ran.
    let pinned_node = tx.job_list(lease.task).await?.iter().rev().find_map(|job| job.node);
    let job = NewJob {
        id: JobId::generate(),
        task: lease.task,
        run: lease.run,
        step_index: wanted.step_index,
        attempt: wanted.attempt,
        pinned_node,
        payload: json!(payload),
    };
    let (id, is_new) = tx.job_insert(&job).await?;
    if is_new {
        let (attempt, check) = split(wanted.attempt);
        let mut data = json!({ "step_index": wanted.step_index, "attempt": attempt });
        if let Some(number) = check {
            data["check"] = number.into();
        }
        let queued = event(&task, "job.queued", data);
        tx.event_append(&NewEvent { run: Some(lease.run), job: Some(id), ..queued }).await?;
        assign_open_jobs(tx).await?;
    }
    Ok(id)
}
