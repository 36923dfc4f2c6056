//! Handing a step to a worker node, and waiting for what comes of it.

use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_store::{ArtifactStore, EventStore, JobStore, NewEvent, NewJob, Tx};
use cynode_wire::jobs::JobView;
use cynode_wire::workflow::{AwaitJob, DispatchStep, DispatchedView};
use serde_json::json;
use tokio::time::Instant;

use super::{MAX_WAIT_MS, Workflow, WorkflowError, check, job_view, task_of};
use crate::artifacts::ATTACHMENT;
use crate::nodes::{Payload, assign_open_jobs};
use crate::signals::Topic;
use crate::tasks::event;

impl Workflow {
    /// Makes the job for (run, step, attempt), or gives the one made before, and picks its node.
    pub async fn dispatch(&self, request: DispatchStep) -> Result<DispatchedView, WorkflowError> {
        let job_id = self.store.write(move |tx| Box::pin(dispatch(tx, request))).await?;
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
    let lease = check(tx, request.hold).await?;
    let task = task_of(tx, lease.task).await?;
    let attachments = tx.artifact_list(lease.task).await?;
    let payload = Payload {
        action: request.step.action,
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
        step_index: request.step_index,
        attempt: request.attempt,
        pinned_node,
        payload: json!(payload),
    };
    let (id, is_new) = tx.job_insert(&job).await?;
    if is_new {
        let data = json!({ "step_index": request.step_index, "attempt": request.attempt });
        let queued = event(&task, "job.queued", data);
        tx.event_append(&NewEvent { run: Some(lease.run), job: Some(id), ..queued }).await?;
        assign_open_jobs(tx).await?;
    }
    Ok(id)
}
