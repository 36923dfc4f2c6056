//! Validates a token's binding: every id against the user and against the other ids.
//!
//! Start at [`resolve_binding`]. Invariant: a returned binding names only rows of one user that belong
//! to each other, and with a run or a job also their task and project. An id of
//! another user is rejected with the same message as an id that does not exist.

use cynode_domain::ids::{JobId, ProfileId, ProjectId, RunId, SessionId, TaskId, UserId};
use cynode_store::{AgentToken, TokenBinding, Tx};

use super::AgentTokenError;
use crate::projects;

/// Completes the binding with the ids that follow from it; fails if an id is not the user's or if
/// two ids do not belong together.
pub(super) async fn resolve_binding(
    tx: &mut Tx,
    user: UserId,
    given: TokenBinding,
) -> Result<TokenBinding, AgentTokenError> {
    let mut bound = given;
    if let Some(id) = given.task {
        let project = load_project_of_task(tx, user, id).await?;
        project.ok_or_else(|| invalid_binding("task_id is not a task of that user"))?;
    }
    if let Some(id) = given.run {
        let task = load_task_of_run(tx, user, id).await?;
        let task = task.ok_or_else(|| invalid_binding("run_id is not a run of that user"))?;
        fill_or_match(&mut bound.task, task, "run_id is not a run of that task")?;
    }
    if let Some(id) = given.job {
        let job = load_open_job(tx, user, id).await?;
        fill_or_match(&mut bound.task, job.task, "job_id is not a job of that task")?;
        fill_or_match(&mut bound.run, job.run, "run_id is not the run of that job")?;
    }
    if let Some(id) = given.project {
        let project = tx.project_get(id).await?;
        if project.is_none_or(|project| project.owner != user) {
            return Err(invalid_binding("project_id is not a project of that user"));
        }
    }
    if let Some(id) = bound.task {
        let project = load_project_of_task(tx, user, id).await?;
        let project =
            project.ok_or_else(|| invalid_binding("task_id is not a task of that user"))?;
        fill_or_match(&mut bound.project, project, "project_id is not the project of that task")?;
    }
    if let Some(id) = given.session {
        check_session(tx, user, id).await?;
    }
    Ok(bound)
}

/// The profile of a token: that of its task, else the default profile of its project, else that of the user's default
/// project.
pub(super) async fn resolve_profile(
    tx: &mut Tx,
    user: UserId,
    token: &AgentToken,
) -> Result<ProfileId, AgentTokenError> {
    if let Some(task) = token.binding.task {
        let task = tx.task_get(task).await?.filter(|task| task.spec.created_by == user);
        let task = task.ok_or_else(|| invalid_binding("task_id is not a task of that user"))?;
        if let Some(profile) = task.spec.profile_id {
            let is_kept = tx.profile_hold(profile).await?;
            let fault = "the profile of the task was deleted: start a new task";
            return if is_kept { Ok(profile) } else { Err(invalid_binding(fault)) };
        }
    }
    let project = match token.binding.project {
        Some(project) => project,
        None => projects::load_or_create_default_project(tx, user, token.created_at).await?.id,
    };
    Ok(ProfileId::default_of(project))
}

/// Whether the run of a stored token is a run of the token's task. Earlier versions stored a run
/// without a check, and such a token must not act for it.
pub(super) async fn is_consistent(
    tx: &mut Tx,
    token: &AgentToken,
) -> Result<bool, AgentTokenError> {
    let Some(run) = token.binding.run else { return Ok(true) };
    let task = load_task_of_run(tx, token.user, run).await?;
    Ok(task.is_some() && task == token.binding.task)
}

/// Task and run of a job that has not ended.
struct OpenJobIds {
    task: TaskId,
    run: RunId,
}

async fn load_open_job(
    tx: &mut Tx,
    user: UserId,
    id: JobId,
) -> Result<OpenJobIds, AgentTokenError> {
    // Locked: if the job ends meanwhile, its end also revokes this token.
    let Some(job) = tx.job_lock(id).await? else {
        return Err(invalid_binding("job_id is not a job of that user"));
    };
    let (task, run) = (job.spec.task, job.spec.run);
    if load_project_of_task(tx, user, task).await?.is_none() {
        return Err(invalid_binding("job_id is not a job of that user"));
    }
    if job.status.is_terminal() {
        return Err(invalid_binding("job_id names a job that has ended"));
    }
    Ok(OpenJobIds { task, run })
}

async fn load_task_of_run(
    tx: &mut Tx,
    user: UserId,
    id: RunId,
) -> Result<Option<TaskId>, AgentTokenError> {
    let Some(recorded) = tx.run_get(id).await? else { return Ok(None) };
    let task = recorded.run.task;
    Ok(load_project_of_task(tx, user, task).await?.map(|_| task))
}

async fn load_project_of_task(
    tx: &mut Tx,
    user: UserId,
    id: TaskId,
) -> Result<Option<ProjectId>, AgentTokenError> {
    let task = tx.task_get(id).await?;
    Ok(task.filter(|task| task.spec.created_by == user).map(|task| task.spec.project))
}

async fn check_session(tx: &mut Tx, user: UserId, id: SessionId) -> Result<(), AgentTokenError> {
    let session = tx.session_get(id).await?;
    let session = session.filter(|session| session.user == user && session.is_active);
    let fault = "session_id is not an open sign-in session of that user";
    session.map(drop).ok_or_else(|| invalid_binding(fault))
}

/// Sets the id if it is absent; fails if it differs.
fn fill_or_match<Id: PartialEq>(
    slot: &mut Option<Id>,
    found: Id,
    fault: &str,
) -> Result<(), AgentTokenError> {
    match slot {
        Some(given) if *given != found => Err(invalid_binding(fault)),
        _ => {
            *slot = Some(found);
            Ok(())
        }
    }
}

fn invalid_binding(fault: &str) -> AgentTokenError {
    AgentTokenError::Invalid(vec![fault.to_owned()])
}
