//! Task cancellation, which cascades to dependent tasks.

use std::collections::VecDeque;

use cynode_domain::ids::TaskId;
use cynode_domain::job::JobEnding;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::{JobStatus, RunStatus, TaskStatus};
use cynode_store::{NewEvent, Task, Tx};
use cynode_wire::tasks::CanceledView;
use serde_json::json;

use super::{TaskError, TaskService, find, task_event};
use crate::nodes::close_job;
use cynode_resources::Caller;
use cynode_resources::signals::Topic;

impl TaskService {
    /// Cancels a task: its runner is fenced, its jobs are stopped, and open tasks that depend on it, directly or
    /// transitively, are canceled with it. Canceling twice has no effect.
    pub async fn cancel(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
    ) -> Result<CanceledView, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let canceled = self
            .store
            .write(move |tx| Box::pin(async move { cancel_cascading(tx, &caller, &task).await }))
            .await?;
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Policy);
        Ok(canceled)
    }
}

async fn cancel_cascading(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<TaskId>,
) -> Result<CanceledView, TaskError> {
    let task = find(tx, caller, name_or_id).await?;
    if task.status == TaskStatus::Canceled {
        return Ok(CanceledView { task_id: task.spec.id, canceled: true, cascaded: vec![] });
    }
    let reason = format!("canceled by {}", caller.handle);
    let mut is_revoked = match close_task(tx, task.spec.id, TaskStatus::Canceled, &reason).await? {
        CloseOutcome::Closed { is_revoked } => is_revoked,
        CloseOutcome::AlreadyClosed(status) => {
            return Err(TaskError::Closed { status: status.to_shown() });
        }
    };
    let (task_id, mut cascaded) = (task.spec.id, vec![]);
    let mut open = VecDeque::from([task]);
    while let Some(above) = open.pop_front() {
        for child in tx.task_open_children(above.spec.id).await? {
            let reason = format!("canceled with {}", above.spec.name);
            let closed = close_task(tx, child, TaskStatus::Canceled, &reason).await?;
            if let CloseOutcome::Closed { is_revoked: more } = closed {
                is_revoked |= more;
                open.extend(tx.task_get(child).await?);
            }
        }
        for waiting in tx.dependency_list_dependents(above.spec.id).await? {
            let reason = format!("canceled because it depends on {}", above.spec.name);
            let closed = close_task(tx, waiting, TaskStatus::Canceled, &reason).await?;
            if let CloseOutcome::Closed { is_revoked: more } = closed {
                is_revoked |= more;
                cascaded.push(waiting);
                open.extend(tx.task_get(waiting).await?);
            }
        }
    }
    if is_revoked {
        tx.policy_bump_revision().await?;
    }
    Ok(CanceledView { task_id, canceled: true, cascaded })
}

/// Closes a request as `status`, and cancels its open child tasks. Returns whether agent tokens were revoked.
pub async fn close_with_children(
    tx: &mut Tx,
    id: TaskId,
    status: TaskStatus,
    reason: &str,
) -> Result<bool, TaskError> {
    let mut is_revoked = false;
    for child in tx.task_open_children(id).await? {
        let closed = close_task(tx, child, TaskStatus::Canceled, "its request has ended").await?;
        is_revoked |= matches!(closed, CloseOutcome::Closed { is_revoked: true });
    }
    let closed = close_task(tx, id, status, reason).await?;
    is_revoked |= matches!(closed, CloseOutcome::Closed { is_revoked: true });
    if is_revoked {
        tx.policy_bump_revision().await?;
    }
    Ok(is_revoked)
}

/// Result of an attempt to close a task.
pub(super) enum CloseOutcome {
    /// The task was closed now; `is_revoked`: agent tokens were revoked with its jobs.
    Closed { is_revoked: bool },
    /// The task was already closed with this status.
    AlreadyClosed(TaskStatus),
}

/// Closes one task as `status`, which must not be a status that only the workflow sets.
pub(super) async fn close_task(
    tx: &mut Tx,
    id: TaskId,
    status: TaskStatus,
    reason: &str,
) -> Result<CloseOutcome, TaskError> {
    let Some(task) = tx.task_lock(id).await? else {
        return Ok(CloseOutcome::AlreadyClosed(TaskStatus::Canceled));
    };
    if task.status.advance(status).is_err() {
        return Ok(CloseOutcome::AlreadyClosed(task.status));
    }
    tx.lease_fence(id).await?;
    tx.request_end(id).await?;
    tx.task_set_status(id, status, Some(reason)).await?;
    let run = tx.run_of_task(id).await?;
    if let Some(run) = run {
        let can_fail = run.status.advance(RunStatus::Failed).is_ok();
        let has_failed = status == TaskStatus::Failed && can_fail;
        let ended = if has_failed { RunStatus::Failed } else { RunStatus::Canceled };
        tx.run_set_status(run.id, ended).await?;
    }
    let is_revoked = stop_jobs(tx, &task).await?;
    let data = json!({ "status": status.to_shown(), "summary": reason });
    let run = run.map(|run| run.id);
    tx.event_append(&NewEvent { run, ..task_event(&task, "task.closed", data) }).await?;
    Ok(CloseOutcome::Closed { is_revoked })
}

/// Cancels queued jobs and asks the nodes to stop running ones. Returns whether agent tokens were revoked.
async fn stop_jobs(tx: &mut Tx, task: &Task) -> Result<bool, TaskError> {
    let mut is_revoked = false;
    for open in tx.job_list_open(task.spec.id).await? {
        // Its node may have started it, or reported its end, since it was listed.
        let Some(job) = tx.job_lock(open.spec.id).await? else { continue };
        match job.status {
            JobStatus::Queued => {
                let canceled = JobStatus::Canceled;
                is_revoked |= close_job(tx, &job, canceled, None, &JobEnding::Canceled).await?;
            }
            JobStatus::Running => tx.job_request_cancel(job.spec.id).await?,
            JobStatus::Completed
            | JobStatus::Failed
            | JobStatus::Canceled
            | JobStatus::LeaseExpired => {}
        }
    }
    Ok(is_revoked)
}
