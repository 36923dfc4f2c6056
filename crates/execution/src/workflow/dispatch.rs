//! Dispatching a step to a worker node and awaiting its job.

use std::time::Duration;

use cynode_domain::agent_profile::AgentSelection;
use cynode_domain::ids::{JobId, RunId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_runtime::failpoint;
use cynode_store::{Task, Tx};
use cynode_wire::agent_profiles::AgentAssignment;
use cynode_wire::jobs::JobView;
use cynode_wire::workflow::{AwaitJob, DispatchStep, DispatchedView};
use tokio::time::Instant;

use super::check::CHECK_FACTOR;
use super::job_creation::{CreatedJob, EXEC_STEP, NewJobSpec, create_job, find_repository_denial};
use super::{MAX_WAIT_MS, WorkflowError, WorkflowService, check_lease, job_view, load_task};
use crate::nodes::{AssignmentPass, assign_agent, describe_deleted_profile};
use cynode_resources::signals::Topic;

impl WorkflowService {
    /// Creates the job for (run, step, attempt), or returns the existing one, and assigns its node.
    pub async fn dispatch(&self, request: DispatchStep) -> Result<DispatchedView, WorkflowError> {
        failpoint::hit("dispatch_arrived", "dispatch_step");
        let placing = self.placer.assignment_pass();
        let made =
            self.store.write(move |tx| Box::pin(create_step_job(tx, request, placing))).await;
        if let Err(WorkflowError::RepositoryDenied(denial)) = &made {
            denial.record(&self.store, self.clock.now()).await?;
        }
        let made = made?;
        failpoint::hit("dispatch_committed", "dispatch_step");
        self.placer.ask(made.awaiting_placement);
        self.signals.send(Topic::Jobs);
        Ok(DispatchedView { job_id: made.id })
    }

    /// Returns a job; waits up to `wait_ms` until it has ended.
    pub async fn await_job(&self, id: JobId, request: AwaitJob) -> Result<JobView, WorkflowError> {
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let deadline = Instant::now() + wait;
        let mut listener = self.signals.subscribe(Topic::Results);
        loop {
            let job = self
                .store
                .read(move |tx| {
                    Box::pin(async move { Ok::<_, WorkflowError>(tx.job_get(id).await?) })
                })
                .await?;
            let job = job.ok_or(WorkflowError::JobNotFound(id))?;
            if job.status.is_terminal() || !listener.wait(deadline).await {
                return Ok(job_view(job)?);
            }
        }
    }
}

/// The action of a step. An agent learns the criteria that its result is verified against.
fn with_criteria(step: Step, task: &Task) -> Action {
    match step.action {
        Action::Agent { prompt, .. } => {
            let criteria = [step.criteria, task.spec.acceptance_criteria.clone()].concat();
            let model_hint = task.spec.options.model_hint.clone();
            Action::Agent { prompt, criteria, model_hint }
        }
        action @ (Action::Command { .. } | Action::Script { .. }) => action,
    }
}

async fn create_step_job(
    tx: &mut Tx,
    request: DispatchStep,
    placing: AssignmentPass,
) -> Result<CreatedJob, WorkflowError> {
    let (step_index, attempt) = (request.step_index, request.attempt);
    if !(1..CHECK_FACTOR).contains(&attempt) {
        let fault = format!("attempt is {attempt}; allowed is 1 to {}", CHECK_FACTOR - 1);
        return Err(WorkflowError::Invalid(fault));
    }
    if step_index >= EXEC_STEP {
        let fault = format!("step_index is {step_index}; allowed is less than {EXEC_STEP}");
        return Err(WorkflowError::Invalid(fault));
    }
    let lease = check_lease(tx, request.lease).await?;
    let task = load_task(tx, lease.task).await?;
    let (run, limits) = (lease.run, task.spec.options.limits);
    check_repository(tx, &task, (run, step_index, attempt)).await?;
    let action = with_criteria(request.step, &task);
    let agent = match (&action, &task.spec.options.agent) {
        (Action::Agent { .. }, Some(selection)) => match load_agent(tx, selection).await {
            // The job of a repeated request has its agent.
            Err(_) if has_job(tx, run, step_index, attempt).await? => None,
            loaded => Some(loaded?),
        },
        _ => None,
    };
    let (node, requested_by) = (None, None);
    let image = None;
    let spec =
        NewJobSpec { run, step_index, attempt, action, limits, node, agent, image, requested_by };
    let made = create_job(tx, &task, spec, placing).await?;
    failpoint::hit("dispatch_written", "dispatch_step");
    Ok(made)
}

/// Rejects a new job whose clone or push a rule denies now: the rules may have changed since the task was created, or while a
/// push waited for its approval.
async fn check_repository(
    tx: &mut Tx,
    task: &Task,
    (run, step_index, attempt): (RunId, u32, u32),
) -> Result<(), WorkflowError> {
    let denial = find_repository_denial(tx, task, (step_index, attempt)).await?;
    let Some(denial) = denial else { return Ok(()) };
    // A repeated request returns the job that was created before.
    if has_job(tx, run, step_index, attempt).await? { Ok(()) } else { Err(denial.into()) }
}

/// The agent of a new job, as its profile is now.
async fn load_agent(
    tx: &mut Tx,
    selection: &AgentSelection,
) -> Result<AgentAssignment, WorkflowError> {
    let name = selection.profile.as_str();
    match tx.agent_profile_get(name).await {
        Ok(Some(profile)) => Ok(assign_agent(profile, selection.is_canary)),
        Ok(None) => Err(WorkflowError::Invalid(describe_deleted_profile(name))),
        Err(error) if error.is_unreadable() => {
            let fault = format!("the agent profile \"{name}\" cannot be read: {error}");
            Err(WorkflowError::Invalid(fault))
        }
        Err(error) => Err(error.into()),
    }
}

async fn has_job(
    tx: &mut Tx,
    run: RunId,
    step_index: u32,
    attempt: u32,
) -> Result<bool, WorkflowError> {
    let jobs = tx.job_list_step(run, step_index).await?;
    Ok(jobs.iter().any(|job| job.spec.attempt == attempt))
}
