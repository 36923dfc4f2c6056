//! Sandboxes: direct access of the project manager to the workspace of a task.
//!
//! A sandbox is a handle on the workspace of a task on its worker node, identified by the job that
//! opened it. Every command is a separate job in that workspace (ADR 19), so confinement, limits,
//! logs, cancellation and crash handling are those of jobs. These jobs are not steps of the run:
//! see `EXEC_STEP` in `workflow/make.rs`.

mod exec;
mod files;
mod logs;
mod open;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::question::QuestionKind;
use cynode_domain::status::ShownTaskStatus;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Sandbox, Store, Task, Tx};

pub use self::exec::{SandboxCommand, SandboxCommandResult};
pub use self::files::SandboxFile;
pub use self::logs::{SandboxLogChunk, SandboxLogRequest};
pub(crate) use self::open::job_image;
pub use self::open::{OpenSandbox, SandboxView};
use cynode_execution::nodes::JobPlacer;
use cynode_execution::{tasks::TaskError, tasks::find};
use cynode_resources::{Actor, ActorKind, RepositoryDenied, Signals};

/// Maximum open sandboxes per task.
const MAX_OPEN: i64 = 8;
/// Maximum running commands per run, opening jobs included.
const MAX_RUNNING: u32 = 8;
/// Maximum commands per run. Higher attempt numbers would read as checks.
const MAX_EXECS: u32 = 999;
/// Ended commands per run whose details are retained.
const EXECS_RETAINED: u32 = 100;

#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("the task has no sandbox {0}: open one with sandbox.create")]
    NotFound(JobId),
    #[error("the sandbox has no command {0}")]
    NoExec(JobId),
    #[error("the sandbox was destroyed: open another with sandbox.create")]
    Destroyed,
    #[error("the task is {status}; retry its run, or create a new task")]
    Closed { status: ShownTaskStatus },
    /// Paused or waiting for approval, which also stops agents in the workspace.
    #[error("{0}")]
    Halted(&'static str),
    #[error("{0}")]
    TooMany(String),
    /// The workspace is on another worker node.
    #[error("the task's workspace is on node \"{is}\"; omit node_slug")]
    OnOtherNode {
        /// Slug of that node.
        is: String,
    },
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    File(String),
    /// The rules do not allow the clone that a command in the workspace may need.
    #[error(transparent)]
    RepositoryDenied(#[from] RepositoryDenied),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for SandboxError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) | Self::NoExec(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Destroyed
            | Self::Closed { .. }
            | Self::Halted(_)
            | Self::TooMany(_)
            | Self::OnOtherNode { .. }
            | Self::File(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::RepositoryDenied(_) => Classification::new(ErrorClass::Forbidden, self),
            Self::Task(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Manages sandboxes. Cheap to clone.
#[derive(Clone)]
pub struct Sandboxes {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    placer: JobPlacer,
}

impl Sandboxes {
    /// Creates the manager; `placer` selects the node of a task's first job.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, placer: JobPlacer) -> Self {
        Self { store, clock, signals, placer }
    }

    /// Records a denial in the access log. Called after the transaction that the denial ended, so that the record is not
    /// rolled back with it.
    async fn record_denial<T>(&self, created: Result<T, SandboxError>) -> Result<T, SandboxError> {
        if let Err(SandboxError::RepositoryDenied(denial)) = &created {
            denial.record(&self.store, self.clock.now()).await?;
        }
        created
    }
}

/// Returns an open task and its newest run, with job creation locked until the transaction ends.
pub(crate) async fn lock_open_task(
    tx: &mut Tx,
    by: Actor<'_>,
    task: TaskId,
) -> Result<(Task, RunId), SandboxError> {
    find(tx, by.caller, &task.into()).await?;
    let unknown = || TaskError::NotFound(task.to_string());
    let task = tx.task_lock(task).await?.ok_or_else(unknown)?;
    if task.status.is_terminal() {
        return Err(SandboxError::Closed { status: task.status.to_shown() });
    }
    tx.task_lock_jobs(task.spec.id).await?;
    let run = tx.run_of_task(task.spec.id).await?.ok_or_else(|| {
        SandboxError::Invalid("the task has no run yet: it waits for its dependencies".to_owned())
    })?;
    if by.kind == ActorKind::Agent {
        reject_halted(tx, &task, run.id).await?;
    }
    Ok((task, run.id))
}

/// Rejects agents while the run is paused or its plan waits for approval.
pub(crate) async fn reject_halted(
    tx: &mut Tx,
    task: &Task,
    run: RunId,
) -> Result<(), SandboxError> {
    if task.paused_at.is_some() {
        let fault = "the task's run is paused: agents cannot run commands until it is resumed";
        return Err(SandboxError::Halted(fault));
    }
    let pending = tx.question_last(run).await?.filter(|pending| pending.answer.is_none());
    if pending.is_some_and(|pending| pending.question.kind == QuestionKind::Approval) {
        let fault = "the task's plan waits for approval: agents cannot run commands until a person \
                     approves it";
        return Err(SandboxError::Halted(fault));
    }
    Ok(())
}

/// Loads a sandbox of a task, also a destroyed one.
pub(crate) async fn find_sandbox(
    tx: &mut Tx,
    task: TaskId,
    id: JobId,
) -> Result<Sandbox, SandboxError> {
    let found = tx.sandbox_get(id).await?.filter(|sandbox| sandbox.task == task);
    found.ok_or(SandboxError::NotFound(id))
}
