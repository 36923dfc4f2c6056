//! Tasks: creating them, looking at them, ordering them, stopping them.

mod cancel;
mod check;
mod checks;
mod copy;
mod create;
mod depend;
mod job;
mod look;
mod set_status;
pub(crate) mod start;
mod update;

use cynode_domain::criteria::Weakening;
use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::name::kept_spelling;
use cynode_domain::status::{NodeStatus, ShownTaskStatus, TaskStatus};
use cynode_runtime::clock::SharedClock;
use cynode_store::{
    JobStore, NewEvent, NewTask, NodeStore, PlacementStore, QuestionStore, Store, Task, TaskStore,
    Tx, WorkflowStore,
};
use cynode_wire::jobs::JobView;
use cynode_wire::tasks::TaskView;
use serde_json::Value;

pub(crate) use self::check::faults;
pub(crate) use self::copy::{Copied, copy};
pub(crate) use self::create::node_named;
use crate::projects::ProjectError;
use crate::secrets::WithoutSecrets as _;
use crate::{BadCursor, BlobError, Blobs, Caller, Signals};

/// Why a task operation was refused.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// There is no such task, or the caller may not see it.
    #[error("there is no task \"{0}\"")]
    NotFound(String),
    /// The request breaks rules; every one of them is named.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// An earlier request with the same idempotency key asked for something else.
    #[error(
        "idempotency key \"{key}\" was used for another request, which made task \"{name}\": send the \
         request under a new key, or repeat the first one unchanged"
    )]
    KeyReused {
        /// The key.
        key: String,
        /// The task of the earlier request.
        name: String,
    },
    /// The task is closed, and stays as it is.
    #[error("the task is {status} already")]
    Closed {
        /// How it closed.
        status: ShownTaskStatus,
    },
    /// A task it would wait for can never complete.
    #[error("task \"{name}\" is {status}: a task that depends on it would never start")]
    DeadDependency {
        /// The task.
        name: String,
        /// How it closed.
        status: ShownTaskStatus,
    },
    /// The tasks would wait for each other for ever.
    #[error("\"{task}\" and \"{on}\" would wait for each other: leave this dependency out")]
    Cycle {
        /// The task that was to wait.
        task: String,
        /// The task it was to wait for.
        on: String,
    },
    /// The workflow has begun; what it waits for can no longer change.
    #[error("the task has started: dependencies can be added to queued tasks only")]
    Started,
    /// It is too late for other criteria.
    #[error(
        "the result of its last step is being judged by the criteria it has: fork the run, or make a \
         new task, to have it judged by others"
    )]
    Judged,
    /// Somebody else was faster.
    #[error("the task has changed since you looked at it: look again, and repeat what still holds")]
    Changed,
    /// Another task has this name.
    #[error("you have another task called \"{0}\": choose another name")]
    NameTaken(String),
    /// An agent may not make less of what was asked for.
    #[error(transparent)]
    Weakening(#[from] Weakening),
    /// The project was not found, or takes no tasks.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// An attachment could not be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Tasks. Cheap to clone.
#[derive(Clone)]
pub struct Tasks {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    blobs: Blobs,
}

impl Tasks {
    /// Tasks kept in `store`, their attachments in `blobs`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, blobs: Blobs) -> Self {
        Self { store, clock, signals, blobs }
    }
}

/// The task that `wanted` names by id or by the caller's own name for it, if the caller may see it.
pub(crate) async fn find(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<Task, TaskError> {
    let found = match wanted.parse::<TaskId>() {
        Ok(id) => tx.task_get(id).await?,
        Err(_) => tx.task_by_name(caller.user, &kept_spelling(wanted)).await?,
    };
    found
        .filter(|task| caller.may_see(task.asked.created_by))
        .ok_or_else(|| TaskError::NotFound(wanted.chars().take(100).collect()))
}

/// A task that exists, locked until the transaction ends.
async fn lock(tx: &mut Tx, id: TaskId) -> Result<Task, TaskError> {
    tx.task_lock(id).await?.ok_or_else(|| TaskError::NotFound(id.to_string()))
}

/// An event about a task, for everybody who may see the task. Commands and what they print may hold
/// secrets; events are kept and streamed without them.
pub(crate) fn event(task: &Task, kind: &'static str, data: Value) -> NewEvent {
    let NewTask { id, created_by, project, .. } = task.asked;
    event_of(id, (created_by, project), kind, data)
}

/// As [`event`], for a task of which only the creator and the project are known.
pub(crate) fn event_of(
    task: TaskId,
    (owner, project): (UserId, ProjectId),
    kind: &'static str,
    data: Value,
) -> NewEvent {
    NewEvent {
        kind,
        owner: Some(owner),
        project: Some(project),
        task: Some(task),
        run: None,
        job: None,
        data: data.without_secrets(),
    }
}

pub(crate) async fn view(tx: &mut Tx, task: Task) -> Result<TaskView, TaskError> {
    let depends_on = tx.dependency_list(task.asked.id).await?;
    let run_id = tx.run_of_task(task.asked.id).await?.map(|run| run.id);
    let question = open_question(tx, &task).await?;
    let status = shown_status(&task, question.as_deref());
    let blocked_reason = match (task.status, run_id) {
        (TaskStatus::Pending | TaskStatus::Running, _) if task.paused_at.is_some() => {
            Some("it is paused".to_owned())
        }
        (TaskStatus::Pending, _) => blocked_reason(tx, &depends_on).await?,
        (TaskStatus::Running, Some(run)) => match question {
            Some(text) => Some(format!("it waits for a person's answer: {text}")),
            None => match tx.run_put_down_reason(run).await? {
                Some(reason) => Some(reason),
                None => awaited_node(tx, task.asked.id).await?,
            },
        },
        _ => None,
    };
    let node = match task.asked.options.node {
        Some(node) => tx.node_get(node).await?.map(|node| node.slug),
        None => None,
    };
    Ok(TaskView {
        id: task.asked.id,
        task_name: task.asked.name,
        status,
        closed: task.status.is_terminal(),
        project_id: task.asked.project,
        run_id,
        input_mode: task.asked.input_mode,
        prompt: task.asked.prompt,
        commands: task.asked.commands,
        acceptance_criteria: task.asked.acceptance_criteria,
        step_criteria: task.asked.options.step_criteria,
        depends_on,
        blocked_reason,
        node,
        summary: task.summary,
        verification: task.verification,
        steps: vec![],
        created_at: task.asked.created_at,
        updated_at: task.updated_at,
        started_at: task.started_at,
        ended_at: task.ended_at,
    })
}

/// The question that a running task waits with, in words; a paused task waits to be resumed first.
async fn open_question(tx: &mut Tx, task: &Task) -> Result<Option<String>, TaskError> {
    if task.status != TaskStatus::Running || task.paused_at.is_some() {
        return Ok(None);
    }
    let Some(run) = tx.run_of_task(task.asked.id).await? else { return Ok(None) };
    let asked = tx.question_last(run.id).await?.filter(|asked| asked.answered_at.is_none());
    Ok(asked.map(|asked| asked.question.text))
}

/// The status of a task, with the question that its run waits with.
fn shown_status(task: &Task, question: Option<&str>) -> ShownTaskStatus {
    match question {
        Some(_) => ShownTaskStatus::Waiting,
        None => task.status.shown(),
    }
}

/// The node that a job of the task waits for, in words.
async fn awaited_node(tx: &mut Tx, task: TaskId) -> Result<Option<String>, TaskError> {
    let Some(node) = tx.task_awaited_node(task).await? else { return Ok(None) };
    Ok(tx.node_get(node).await?.map(|node| {
        let why = match node.status {
            NodeStatus::Drained => "takes no more work",
            NodeStatus::Active => "has no room now",
            NodeStatus::Registered | NodeStatus::Inactive => "is away",
        };
        format!("it waits for node \"{}\", which {why}", node.slug)
    }))
}

/// The first of `depends_on` that closed without completing, in words.
async fn blocked_reason(tx: &mut Tx, depends_on: &[TaskId]) -> Result<Option<String>, TaskError> {
    for id in depends_on {
        let on = tx.task_get(*id).await?;
        if let Some(on) = on.filter(|on| on.status.is_terminal())
            && on.status != TaskStatus::Completed
        {
            let (name, status) = (on.asked.name, on.status.shown());
            return Ok(Some(format!("it depends on \"{name}\", which is {status}")));
        }
    }
    Ok(None)
}

async fn job_views(tx: &mut Tx, task: TaskId) -> Result<Vec<JobView>, TaskError> {
    let jobs = tx.job_list(task).await?;
    Ok(jobs.into_iter().map(crate::workflow::job_view).collect::<Result<_, _>>()?)
}
