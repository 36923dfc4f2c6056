//! Setting the status of a task or job through the API.
//!
//! The workflow sets the status of its task, and the worker node that of its job; the task owner may only end them
//! early.

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::JobEnding;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::{JobStatus, ShownTaskStatus, TaskStatus};
use cynode_store::Tx;
use cynode_wire::jobs::JobView;
use cynode_wire::tasks::{MAX_REASON_CHARS, TaskView};

use super::cancel::{CloseOutcome, close_task};
use super::{TaskError, TaskService, find};
use crate::nodes::close_job;
use cynode_resources::Caller;
use cynode_resources::signals::Topic;

/// The statuses that people and agents may set. Only the workflow sets running and completed.
const SETTABLE_STATUSES: &[TaskStatus] =
    &[TaskStatus::Failed, TaskStatus::Canceled, TaskStatus::Superseded];

impl TaskService {
    /// Ends a task as failed, canceled or superseded: its runner is fenced and its jobs are stopped. Canceling
    /// cascades to dependent tasks. Setting the current status has no effect.
    pub async fn set_status(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        status: ShownTaskStatus,
        reason: Option<&str>,
    ) -> Result<TaskView, TaskError> {
        if reason.is_some_and(|reason| reason.chars().count() > MAX_REASON_CHARS) {
            let rule = format!("reason may not exceed {MAX_REASON_CHARS} characters");
            return Err(invalid_request(rule));
        }
        let now = self.get(caller, task).await?;
        if now.status != status {
            self.end_task(caller, task, status.into(), reason).await?;
        }
        self.get(caller, task).await
    }

    async fn end_task(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        to: TaskStatus,
        reason: Option<&str>,
    ) -> Result<(), TaskError> {
        if to == TaskStatus::Canceled {
            return self.cancel(caller, task).await.map(drop);
        }
        let given = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let summary = format!("{to} by {}{given}", caller.handle);
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move { close_as(tx, &caller, &task, to, &summary).await })
            })
            .await?;
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Policy);
        Ok(())
    }

    /// Cancels a job, the only status that the API may set. A queued job never starts; a running job is stopped by
    /// its node, which then reports how it ended.
    pub async fn set_job_status(
        &self,
        caller: &Caller,
        job: JobId,
        to: JobStatus,
    ) -> Result<JobView, TaskError> {
        let seen = self.job(caller, job).await?;
        if to != JobStatus::Canceled || (seen.status.is_terminal() && seen.status != to) {
            return Err(job_status_error(seen.status, to));
        }
        self.store.write(move |tx| Box::pin(async move { cancel_job(tx, job).await })).await?;
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Policy);
        self.job(caller, job).await
    }
}

async fn close_as(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<TaskId>,
    to: TaskStatus,
    summary: &str,
) -> Result<(), TaskError> {
    let task = find(tx, caller, name_or_id).await?;
    let allowed: Vec<_> = SETTABLE_STATUSES
        .iter()
        .filter(|end| task.status.successors().contains(end))
        .map(|end| end.to_shown().as_str())
        .collect();
    if !allowed.is_empty() && !SETTABLE_STATUSES.contains(&to) {
        let (from, to) = (task.status.to_shown(), to.to_shown());
        let allowed = allowed.join(", ");
        return Err(invalid_request(format!(
            "a {from} task can be set to: {allowed}; only its workflow sets {to}"
        )));
    }
    match close_task(tx, task.spec.id, to, summary).await? {
        CloseOutcome::Closed { is_revoked: true } => Ok(tx.policy_bump_revision().await?),
        CloseOutcome::Closed { is_revoked: false } => Ok(()),
        CloseOutcome::AlreadyClosed(status) => Err(TaskError::Closed { status: status.to_shown() }),
    }
}

async fn cancel_job(tx: &mut Tx, id: JobId) -> Result<(), TaskError> {
    let Some(job) = tx.job_lock(id).await? else {
        return Ok(());
    };
    match job.status {
        JobStatus::Queued => {
            let canceled = JobStatus::Canceled;
            if close_job(tx, &job, canceled, None, &JobEnding::Canceled).await? {
                tx.policy_bump_revision().await?;
            }
            Ok(())
        }
        JobStatus::Running => Ok(tx.job_request_cancel(id).await?),
        JobStatus::Completed
        | JobStatus::Failed
        | JobStatus::Canceled
        | JobStatus::LeaseExpired => Ok(()),
    }
}

fn job_status_error(from: JobStatus, to: JobStatus) -> TaskError {
    if from.is_terminal() {
        return invalid_request(format!("the job is already {from}"));
    }
    invalid_request(format!("a {from} job can be set to: canceled; only its node sets {to}"))
}

fn invalid_request(rule: String) -> TaskError {
    TaskError::Invalid(vec![rule])
}
