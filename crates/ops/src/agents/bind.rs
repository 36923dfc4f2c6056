//! Checks what a token is bound to: every id against the user, and against the other ids.
//!
//! Start at [`resolve`]. Invariant: a binding that it returns names only rows of one user that belong
//! to each other, and with a run or a job also the task and the project they are part of. An id of
//! another user is rejected in the same words as an id that does not exist.

use cynode_domain::ids::{JobId, ProjectId, RunId, SessionId, TaskId, UserId};
use cynode_store::{
    AgentToken, Binding, JobStore, ProjectStore, RunStore, SessionStore, TaskStore, Tx,
};

use super::AgentError;

/// The binding with everything that follows from its ids; fails if an id is not the user's or if two
/// ids do not belong to each other.
pub(super) async fn resolve(
    tx: &mut Tx,
    user: UserId,
    given: Binding,
) -> Result<Binding, AgentError> {
    let mut bound = given;
    if let Some(id) = given.task {
        let project = project_of_task(tx, user, id).await?;
        project.ok_or_else(|| invalid("task_id names no task of that user"))?;
    }
    if let Some(id) = given.run {
        let task = task_of_run(tx, user, id).await?;
        let task = task.ok_or_else(|| invalid("run_id names no run of that user"))?;
        agree(&mut bound.task, task, "run_id is not a run of that task")?;
    }
    if let Some(id) = given.job {
        let job = open_job(tx, user, id).await?;
        agree(&mut bound.task, job.task, "job_id is not a job of that task")?;
        agree(&mut bound.run, job.run, "run_id is not the run of that job")?;
    }
    if let Some(id) = given.project {
        let project = tx.project_get(id).await?;
        if project.is_none_or(|project| project.owner != user) {
            return Err(invalid("project_id names no project of that user"));
        }
    }
    if let Some(id) = bound.task {
        let project = project_of_task(tx, user, id).await?;
        let project = project.ok_or_else(|| invalid("task_id names no task of that user"))?;
        agree(&mut bound.project, project, "project_id is not the project of that task")?;
    }
    if let Some(id) = given.session {
        check_session(tx, user, id).await?;
    }
    Ok(bound)
}

/// Whether the run of a stored token is a run of the token's task. Earlier versions stored a run
/// without a check, and such a token must not act for it.
pub(super) async fn is_consistent(tx: &mut Tx, token: &AgentToken) -> Result<bool, AgentError> {
    let Some(run) = token.binding.run else { return Ok(true) };
    let task = task_of_run(tx, token.user, run).await?;
    Ok(task.is_some() && task == token.binding.task)
}

/// What a job that has not ended is part of.
struct OpenJob {
    task: TaskId,
    run: RunId,
}

async fn open_job(tx: &mut Tx, user: UserId, id: JobId) -> Result<OpenJob, AgentError> {
    // Locked: when the job ends meanwhile, its end revokes this token too.
    let Some(job) = tx.job_lock(id).await? else {
        return Err(invalid("job_id names no job of that user"));
    };
    let (task, run) = (job.asked.task, job.asked.run);
    if project_of_task(tx, user, task).await?.is_none() {
        return Err(invalid("job_id names no job of that user"));
    }
    if job.status.is_terminal() {
        return Err(invalid("job_id names a job that has ended"));
    }
    Ok(OpenJob { task, run })
}

async fn task_of_run(tx: &mut Tx, user: UserId, id: RunId) -> Result<Option<TaskId>, AgentError> {
    let Some(recorded) = tx.run_get(id).await? else { return Ok(None) };
    let task = recorded.run.task;
    Ok(project_of_task(tx, user, task).await?.map(|_| task))
}

async fn project_of_task(
    tx: &mut Tx,
    user: UserId,
    id: TaskId,
) -> Result<Option<ProjectId>, AgentError> {
    let task = tx.task_get(id).await?;
    Ok(task.filter(|task| task.asked.created_by == user).map(|task| task.asked.project))
}

async fn check_session(tx: &mut Tx, user: UserId, id: SessionId) -> Result<(), AgentError> {
    let session = tx.session_get(id).await?;
    let session = session.filter(|session| session.user == user && session.is_active);
    let fault = "session_id names no open sign-in session of that user";
    session.map(drop).ok_or_else(|| invalid(fault))
}

/// Fills an id in, or checks the one that was given.
fn agree<Id: PartialEq>(slot: &mut Option<Id>, found: Id, fault: &str) -> Result<(), AgentError> {
    match slot {
        Some(given) if *given != found => Err(invalid(fault)),
        _ => {
            *slot = Some(found);
            Ok(())
        }
    }
}

fn invalid(fault: &str) -> AgentError {
    AgentError::Invalid(vec![fault.to_owned()])
}
