//! Stopping a task, and every task that waits for it.

use std::collections::VecDeque;

use cynode_domain::ids::TaskId;
use cynode_domain::job::Ending;
use cynode_domain::status::{JobStatus, RunStatus, TaskStatus};
use cynode_store::{EventStore, JobStore, LeaseStore, Task, TaskStore, Tx, WorkflowStore};
use cynode_wire::tasks::CanceledView;
use serde_json::json;

use super::{TaskError, Tasks, event, find};
use crate::Caller;
use crate::nodes::announce_end;
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
        Ok(canceled)
    }
}

async fn cancel(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<CanceledView, TaskError> {
    let task = find(tx, caller, wanted).await?;
    if task.status == TaskStatus::Canceled {
        return Ok(CanceledView { task_id: task.asked.id, canceled: true, cascaded: vec![] });
    }
    let reason = format!("canceled by {}", caller.handle);
    if let Some(status) = close(tx, task.asked.id, &reason).await? {
        return Err(TaskError::Closed { status: status.api_name() });
    }
    let (task_id, mut cascaded) = (task.asked.id, vec![]);
    let mut open = VecDeque::from([task]);
    while let Some(above) = open.pop_front() {
        for waiting in tx.dependency_waiting(above.asked.id).await? {
            let reason = format!("canceled because it depends on {}", above.asked.name);
            if close(tx, waiting, &reason).await?.is_none() {
                cascaded.push(waiting);
                open.extend(tx.task_get(waiting).await?);
            }
        }
    }
    Ok(CanceledView { task_id, canceled: true, cascaded })
}

/// Closes one task as canceled; gives its status if it was closed before.
async fn close(tx: &mut Tx, id: TaskId, reason: &str) -> Result<Option<TaskStatus>, TaskError> {
    let Some(task) = tx.task_lock(id).await? else {
        return Ok(Some(TaskStatus::Canceled));
    };
    if task.status.advance(TaskStatus::Canceled).is_err() {
        return Ok(Some(task.status));
    }
    tx.lease_fence(id).await?;
    tx.task_set_status(id, TaskStatus::Canceled, Some(reason)).await?;
    if let Some(run) = tx.run_of_task(id).await? {
        tx.run_set_status(run.id, RunStatus::Canceled).await?;
    }
    stop_jobs(tx, &task).await?;
    let data = json!({ "status": "canceled", "summary": reason });
    tx.event_append(&event(&task, "task.closed", data)).await?;
    Ok(None)
}

/// A queued job never starts; a running one is stopped by its node.
async fn stop_jobs(tx: &mut Tx, task: &Task) -> Result<(), TaskError> {
    for job in tx.job_list(task.asked.id).await? {
        match job.status {
            JobStatus::Queued => {
                if tx.job_close(job.asked.id, JobStatus::Canceled, None).await? {
                    announce_end(tx, &job, JobStatus::Canceled, &Ending::Canceled).await?;
                }
            }
            JobStatus::Running => tx.job_request_cancel(job.asked.id).await?,
            JobStatus::Completed
            | JobStatus::Failed
            | JobStatus::Canceled
            | JobStatus::LeaseExpired => {}
        }
    }
    Ok(())
}
