//! Handing a step to a worker node, and waiting for what comes of it.

use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_runtime::failpoint;
use cynode_store::{JobStore, Tx};
use cynode_wire::jobs::JobView;
use cynode_wire::workflow::{AwaitJob, DispatchStep, DispatchedView};
use tokio::time::Instant;

use super::check::CHECK;
use super::make::{EXEC_STEP, Made, Wanted, make_job};
use super::{MAX_WAIT_MS, Workflow, WorkflowError, check, job_view, task_of};
use crate::nodes::Placing;
use crate::signals::Topic;

impl Workflow {
    /// Makes the job for (run, step, attempt), or gives the one made before, and picks its node.
    pub async fn dispatch(&self, request: DispatchStep) -> Result<DispatchedView, WorkflowError> {
        failpoint::hit("dispatch_arrived", "dispatch_step");
        let placing = self.placer.placing();
        let made = self.store.write(move |tx| Box::pin(dispatch(tx, request, placing))).await?;
        failpoint::hit("dispatch_committed", "dispatch_step");
        self.placer.ask(made.asked);
        self.signals.send(Topic::Jobs);
        Ok(DispatchedView { job_id: made.id })
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

async fn dispatch(
    tx: &mut Tx,
    request: DispatchStep,
    placing: Placing,
) -> Result<Made, WorkflowError> {
    let (step_index, attempt) = (request.step_index, request.attempt);
    if !(1..CHECK).contains(&attempt) {
        let fault = format!("attempt is {attempt}; allowed is 1 to {}", CHECK - 1);
        return Err(WorkflowError::Invalid(fault));
    }
    if step_index >= EXEC_STEP {
        let fault = format!("step_index is {step_index}; allowed is less than {EXEC_STEP}");
        return Err(WorkflowError::Invalid(fault));
    }
    let lease = check(tx, request.hold).await?;
    let task = task_of(tx, lease.task).await?;
    let (run, limits, action) = (lease.run, task.asked.options.limits, request.step.action);
    let wanted = Wanted { run, step_index, attempt, action, limits, node: None, by: None };
    let made = make_job(tx, &task, wanted, placing).await?;
    failpoint::hit("dispatch_written", "dispatch_step");
    Ok(made)
}
