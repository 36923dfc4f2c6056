//! Job creation: for a step, a check or a command in a workspace.

use cynode_domain::agent::InvalidRole;
use cynode_domain::ids::{JobId, NodeId, RunId};
use cynode_domain::job::{Action, Limits};
use cynode_domain::policy::repository_access::RepositoryAction;
use cynode_domain::profile::ProfileSpec;
use cynode_domain::task_options::TaskOptions;
use cynode_domain::work::UnitKind;
use cynode_resources::{RepositoryCheck, RepositoryDenied, profiles};
use cynode_store::{KeepExecs, NewEvent, NewJob, Task, Tx};
use cynode_wire::agent_profiles::AgentAssignment;
use cynode_wire::git::RepositoryAssignment;
use serde_json::{Value, json};

use super::check::split_attempt;
use super::job_cache;
use crate::artifacts::ATTACHMENT;
use crate::nodes::{AssignmentPass, JobPayload, JobWorkUnit, trace_context};
use crate::tasks::task_event;

/// Pseudo step index of commands in a workspace, above that of any plan. Their attempt is a counter, so that
/// (run, step, attempt) stays unique.
pub const EXEC_STEP: u32 = 1_000_000;
/// Retention of ended workspace commands per run. `last` is also the number that may run at once, so that a waiting
/// caller always finds the result of its command.
pub const EXEC_RETENTION: KeepExecs = KeepExecs { bytes: 16 * 1024 * 1024, last: 8 };
/// How long a job waits for another job of its task to be placed; longer than one placement takes.
const FOLLOW_PLACEMENT_MS: u32 = 3_000;

/// The parameters of a new job.
pub struct NewJobSpec {
    pub run: RunId,
    pub step_index: u32,
    pub attempt: u32,
    pub action: Action,
    pub limits: Limits,
    /// The node to use, unless the workspace of the task is on another node.
    pub node: Option<NodeId>,
    /// The agent that carries out the action, if it is not the built-in one.
    pub agent: Option<AgentAssignment>,
    /// The image to run in; that of the task if absent.
    pub image: Option<String>,
    /// The requester, for the event; `None` if the workflow created it.
    pub requested_by: Option<String>,
}

/// A created or existing job.
pub struct CreatedJob {
    pub id: JobId,
    /// Jobs whose node the project manager chooses; the caller asks after the commit.
    pub awaiting_placement: Vec<JobId>,
}

/// Creates the job for (run, step, attempt) unless it exists, and assigns its node.
pub async fn create_job(
    tx: &mut Tx,
    task: &Task,
    spec: NewJobSpec,
    placing: AssignmentPass,
) -> Result<CreatedJob, cynode_store::Error> {
    let cache = job_cache::assign_cache(tx, task, &spec).await?;
    let profile = profile_of(tx, task).await?;
    let agent = spec.agent.map(|agent| narrow_agent(agent, &profile));
    let attachments = tx.artifact_list(task.spec.id).await?;
    let is_step = is_attempt(spec.step_index, spec.attempt);
    let run = tx.run_get(spec.run).await?;
    let payload = JobPayload {
        action: spec.action,
        limits: profile.limits.lower(spec.limits),
        attachments: attachments
            .into_iter()
            .filter(|artifact| artifact.kind == ATTACHMENT)
            .map(|artifact| artifact.path)
            .collect(),
        repository: assign_repository(&task.spec.options),
        push: task.spec.options.push.clone().filter(|_| is_step),
        agent,
        work_unit: load_work_unit(tx, task).await?,
        node_labels: task.spec.options.node_labels.clone(),
        image: spec.image.or_else(|| task.spec.options.image.clone()),
        cache,
        trace: run.map(|run| trace_context(task, run.run.trace)),
    };
    // Jobs of one task share a workspace, so they stay on the node of the first job.
    let is_at = tx.task_node(task.spec.id).await?;
    let pinned_node = is_at.or(task.spec.options.node).or(spec.node);
    let follows = pinned_node.is_none() && tx.task_has_open_job(task.spec.id).await?;
    let job = NewJob {
        id: JobId::generate(),
        task: task.spec.id,
        run: spec.run,
        step_index: spec.step_index,
        attempt: spec.attempt,
        pinned_node,
        payload: json!(payload),
    };
    let (id, is_new) = tx.job_insert(&job).await?;
    if !is_new {
        return Ok(CreatedJob { id, awaiting_placement: vec![] });
    }
    if follows {
        tx.job_defer_assignment(id, FOLLOW_PLACEMENT_MS).await?;
    }
    let mut data = names(&job);
    if let Some(by) = spec.requested_by {
        data["by"] = by.into();
    }
    let queued = task_event(task, "job.queued", data);
    tx.event_append(&NewEvent { run: Some(spec.run), job: Some(id), ..queued }).await?;
    let awaiting_placement = placing.assign(tx).await?.awaiting_placement;
    Ok(CreatedJob { id, awaiting_placement })
}

/// The unit or the step of a request that a child task is an attempt at, with the role of its agent: that of the unit, and
/// developer for steps that are no unit. `None` for tasks of people.
async fn load_work_unit(
    tx: &mut Tx,
    task: &Task,
) -> Result<Option<JobWorkUnit>, cynode_store::Error> {
    let Some(parent) = &task.parent else { return Ok(None) };
    let unit = tx.work_unit_get(parent.task, &parent.unit).await?;
    let role = unit.map_or_else(|| UnitKind::Implementation.role().to_owned(), |unit| unit.role);
    let role = role
        .parse()
        .map_err(|error: InvalidRole| cynode_store::Error::unreadable("role", error.to_string()))?;
    Ok(Some(JobWorkUnit { id: parent.unit.clone(), role }))
}

/// What the profile of a task allows. A profile that cannot be read narrows all that it can: its tokens are refused too.
pub(crate) async fn profile_of(
    tx: &mut Tx,
    task: &Task,
) -> Result<ProfileSpec, cynode_store::Error> {
    let closed =
        || ProfileSpec { hosts: Some(vec![]), models: Some(vec![]), ..ProfileSpec::default() };
    match profiles::load(tx, task.spec.project, task.spec.profile_id).await {
        Ok(found) => Ok(found.map_or_else(closed, |profile| profile.spec)),
        Err(error) if error.is_unreadable() => Ok(closed()),
        Err(error) => Err(error),
    }
}

/// The hosts of an agent, of those that the profile allows.
pub(crate) fn narrow_agent(agent: AgentAssignment, profile: &ProfileSpec) -> AgentAssignment {
    AgentAssignment { hosts: profile.narrow_hosts(agent.hosts), ..agent }
}

/// The repository of a job; `None` if the task has no branch for its changes, which its creation prevents.
fn assign_repository(options: &TaskOptions) -> Option<RepositoryAssignment> {
    let repository = options.repository.as_ref()?;
    Some(RepositoryAssignment {
        url: repository.url.clone(),
        base_branch: repository.base_branch.clone(),
        branch: repository.branch.clone()?,
        builds_on: options.builds_on.clone(),
        mark_conflicts: options.mark_conflicts,
        commit_subject: repository.commit_subject.clone(),
    })
}

/// The denial of what a job of a task does with its repository, by the rules as they are now; `None` if they allow it, or if
/// the task has no repository. Only attempts at steps push: a check or a command in the workspace of a push clones.
///
/// Code that creates a job, or leases a credential to one, checks this first and records the denial: rules may have changed
/// since the task was created, and a rule about the task itself cannot exist before it.
pub async fn find_repository_denial(
    tx: &mut Tx,
    task: &Task,
    (step_index, attempt): (u32, u32),
) -> Result<Option<RepositoryDenied>, cynode_store::Error> {
    let options = &task.spec.options;
    let Some(repository) = &options.repository else { return Ok(None) };
    let is_push = options.push.is_some() && is_attempt(step_index, attempt);
    let check = RepositoryCheck {
        action: if is_push { RepositoryAction::Push } else { RepositoryAction::Clone },
        url: repository.url.clone(),
        user: task.spec.created_by,
        project: Some(task.spec.project),
        task: Some(task.spec.id),
    };
    check.find_denial(tx).await
}

/// Whether a job is an attempt at a step, neither a check nor a command in the workspace.
pub fn is_step_attempt(job: &NewJob) -> bool {
    is_attempt(job.step_index, job.attempt)
}

/// Whether a job is an attempt at a step, by its numbers.
pub fn is_attempt(step_index: u32, attempt: u32) -> bool {
    step_index < EXEC_STEP && split_attempt(attempt).1.is_none()
}

/// The identifying fields of a job for events: step and attempt, number of the check, or number of the workspace
/// command.
pub fn names(job: &NewJob) -> Value {
    if job.step_index == EXEC_STEP {
        return json!({ "exec": job.attempt });
    }
    let (attempt, check) = split_attempt(job.attempt);
    let mut data = json!({ "step_index": job.step_index, "attempt": attempt });
    if let Some(number) = check {
        data["check"] = number.into();
    }
    data
}
