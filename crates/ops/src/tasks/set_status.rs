//! Saying where a task or job stands, as far as that is somebody's to say.
//!
//! A workflow moves its task and a node its job; whoever owns the task may only end them early.

use cynode_domain::ids::JobId;
use cynode_domain::job::Ending;
use cynode_domain::status::{JobStatus, ShownTaskStatus, TaskStatus};
use cynode_store::{JobStore, SettingStore, Tx};
use cynode_wire::jobs::JobView;
use cynode_wire::tasks::TaskView;

use super::cancel::{Closing, close};
use super::{TaskError, Tasks, find};
use crate::Caller;
use crate::nodes::close_job;
use crate::signals::Topic;

/// What people and agents may make of a task. The workflow alone says that it runs or is completed.
const TASK_ENDS: &[TaskStatus] =
    &[TaskStatus::Failed, TaskStatus::Canceled, TaskStatus::Superseded];
const MAX_REASON_CHARS: usize = 1000;

impl Tasks {
    /// Ends a task as failed, canceled or superseded: its runner is fenced and its jobs are stopped.
    /// Canceling takes the tasks that wait for it along. What it is already, it stays.
    pub async fn set_status(
        &self,
        caller: &Caller,
        task: &str,
        status: ShownTaskStatus,
        reason: Option<&str>,
    ) -> Result<TaskView, TaskError> {
        if reason.is_some_and(|reason| reason.chars().count() > MAX_REASON_CHARS) {
            let rule = format!("a reason has {MAX_REASON_CHARS} characters at most");
            return Err(invalid(rule));
        }
        let now = self.get(caller, task).await?;
        if now.status != status {
            self.end(caller, task, status.into(), reason).await?;
        }
        self.get(caller, task).await
    }

    async fn end(
        &self,
        caller: &Caller,
        task: &str,
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
            .write(move |tx| Box::pin(async move { end(tx, &caller, &task, to, &summary).await }))
            .await?;
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Policy);
        Ok(())
    }

    /// Cancels a job, the one end that is not its node's to report. A queued job never starts; a
    /// running one is stopped by its node, which then says how it ended.
    pub async fn set_job_status(
        &self,
        caller: &Caller,
        job: JobId,
        to: JobStatus,
    ) -> Result<JobView, TaskError> {
        let seen = self.job(caller, job).await?;
        if to != JobStatus::Canceled || (seen.status.is_terminal() && seen.status != to) {
            return Err(job_refusal(seen.status, to));
        }
        self.store.write(move |tx| Box::pin(async move { cancel_job(tx, job).await })).await?;
        self.signals.send(Topic::Jobs);
        self.signals.send(Topic::Results);
        self.signals.send(Topic::Policy);
        self.job(caller, job).await
    }
}

async fn end(
    tx: &mut Tx,
    caller: &Caller,
    wanted: &str,
    to: TaskStatus,
    summary: &str,
) -> Result<(), TaskError> {
    let task = find(tx, caller, wanted).await?;
    let allowed: Vec<_> = TASK_ENDS
        .iter()
        .filter(|end| task.status.successors().contains(end))
        .map(|end| end.shown().as_str())
        .collect();
    if !allowed.is_empty() && !TASK_ENDS.contains(&to) {
        let (from, to) = (task.status.shown(), to.shown());
        let allowed = allowed.join(", ");
        return Err(invalid(format!(
            "a {from} task can be set to: {allowed}; that it is {to} is for its workflow to say"
        )));
    }
    match close(tx, task.asked.id, to, summary).await? {
        Closing::Closed { is_revoked: true } => Ok(tx.policy_touch().await?),
        Closing::Closed { is_revoked: false } => Ok(()),
        Closing::Before(status) => Err(TaskError::Closed { status: status.shown() }),
    }
}

async fn cancel_job(tx: &mut Tx, id: JobId) -> Result<(), TaskError> {
    let Some(job) = tx.job_lock(id).await? else {
        return Ok(());
    };
    match job.status {
        JobStatus::Queued => {
            let canceled = JobStatus::Canceled;
            if close_job(tx, &job, canceled, None, &Ending::Canceled).await? {
                tx.policy_touch().await?;
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

fn job_refusal(from: JobStatus, to: JobStatus) -> TaskError {
    if from.is_terminal() {
        return invalid(format!("the job is {from} already, and stays so"));
    }
    invalid(format!("a {from} job can be set to: canceled; that it is {to} is for its node to say"))
}

fn invalid(rule: String) -> TaskError {
    TaskError::Invalid(vec![rule])
}
