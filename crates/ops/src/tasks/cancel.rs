//! Stopping a task, and every task that waits for it.

use std::collections::VecDeque;

use cynode_domain::ids::TaskId;
use cynode_domain::job::Ending;
use cynode_domain::status::{JobStatus, RunStatus, TaskStatus};
use cynode_store::{
    EventStore, JobStore, LeaseStore, NewEvent, SettingStore, Task, TaskStore, Tx, WorkflowStore,
};
use cynode_wire::tasks::CanceledView;
use serde_json::json;

use super::{TaskError, Tasks, event, find};
use crate::Caller;
use crate::nodes::close_job;
use crate::signals::Topic;

impl Tasks {
    /// Cancels a task: its runner is fenced, its jobs are stopped, and open tasks that wait for
    /// it, directly or through others, are canceled with it. Canceling twice changes nothing.
    pub async fn cancel(&self, caller: &Caller, task: &str) -> Result<CanceledView, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let canceled = self
            .store
            .write(move |tx| Box::pin(async move { cancel(tx, &caller, &task).await }))
            .await?;
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Policy);
        Ok(canceled)
    }
}

async fn cancel(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<CanceledView, TaskError> {
    let task = find(tx, caller, wanted).await?;
    if task.status == TaskStatus::Canceled {
        return Ok(CanceledView { task_id: task.asked.id, canceled: true, cascaded: vec![] });
    }
    let reason = format!("canceled by {}", caller.handle);
    let mut is_revoked = match close(tx, task.asked.id, TaskStatus::Canceled, &reason).await? {
        Closing::Closed { is_revoked } => is_revoked,
        Closing::Before(status) => return Err(TaskError::Closed { status: status.shown() }),
    };
    let (task_id, mut cascaded) = (task.asked.id, vec![]);
    let mut open = VecDeque::from([task]);
    while let Some(above) = open.pop_front() {
        for waiting in tx.dependency_waiting(above.asked.id).await? {
            let reason = format!("canceled because it depends on {}", above.asked.name);
            let closed = close(tx, waiting, TaskStatus::Canceled, &reason).await?;
            if let Closing::Closed { is_revoked: more } = closed {
                is_revoked |= more;
                cascaded.push(waiting);
                open.extend(tx.task_get(waiting).await?);
            }
        }
    }
    if is_revoked {
        tx.policy_touch().await?;
    }
    Ok(CanceledView { task_id, canceled: true, cascaded })
}

/// What became of a task that was to be closed.
pub(super) enum Closing {
    /// It is closed now; whether tokens of agents ended with its jobs.
    Closed { is_revoked: bool },
    /// It was closed before, like this.
    Before(TaskStatus),
}

/// Closes one task as `status`, which is not one that only its workflow can say.
pub(super) async fn close(
    tx: &mut Tx,
    id: TaskId,
    status: TaskStatus,
    reason: &str,
) -> Result<Closing, TaskError> {
    let Some(task) = tx.task_lock(id).await? else {
        return Ok(Closing::Before(TaskStatus::Canceled));
    };
    if task.status.advance(status).is_err() {
        return Ok(Closing::Before(task.status));
    }
    tx.lease_fence(id).await?;
    tx.task_set_status(id, status, Some(reason)).await?;
    let run = tx.run_of_task(id).await?;
    if let Some(run) = run {
        let can_fail = run.status.advance(RunStatus::Failed).is_ok();
        let has_failed = status == TaskStatus::Failed && can_fail;
        let ended = if has_failed { RunStatus::Failed } else { RunStatus::Canceled };
        tx.run_set_status(run.id, ended).await?;
    }
    let is_revoked = stop_jobs(tx, &task).await?;
    let data = json!({ "status": status.shown(), "summary": reason });
    let run = run.map(|run| run.id);
    tx.event_append(&NewEvent { run, ..event(&task, "task.closed", data) }).await?;
    Ok(Closing::Closed { is_revoked })
}

/// A queued job never starts; a running one is stopped by its node. Whether tokens of agents ended.
async fn stop_jobs(tx: &mut Tx, task: &Task) -> Result<bool, TaskError> {
    let mut is_revoked = false;
    for job in tx.job_list_open(task.asked.id).await? {
        match job.status {
            JobStatus::Queued => {
                let canceled = JobStatus::Canceled;
                is_revoked |= close_job(tx, &job, canceled, None, &Ending::Canceled).await?;
            }
            JobStatus::Running => tx.job_request_cancel(job.asked.id).await?,
            JobStatus::Completed
            | JobStatus::Failed
            | JobStatus::Canceled
            | JobStatus::LeaseExpired => {}
        }
    }
    Ok(is_revoked)
}
