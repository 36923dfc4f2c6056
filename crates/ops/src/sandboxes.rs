//! Reaching into the workspace of a task: what the project manager does itself.
//!
//! A sandbox is a handle on the workspace of a task on its node, known by the id of the job that
//! opened it. Every command is a job of its own in that workspace (ADR 19), so that confinement,
//! limits, logs, cancellation and what happens when a process dies are those of jobs. They are none
//! of the run's steps: see `EXEC_STEP` in `workflow/make.rs`.

mod exec;
mod files;
mod logs;
mod open;

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::question::QuestionKind;
use cynode_domain::status::ShownTaskStatus;
use cynode_runtime::clock::SharedClock;
use cynode_store::{
    PlacementStore, QuestionStore, Sandbox, SandboxStore, Store, Task, TaskStore, Tx, WorkflowStore,
};

pub use self::exec::{Exec, Ran};
pub use self::files::FileBytes;
pub use self::logs::{LogPiece, LogRequest};
pub use self::open::{IMAGE, OpenSandbox, Opened};
use crate::nodes::Placer;
use crate::runs::Voice;
use crate::tasks::{TaskError, find};
use crate::{Caller, Signals};

/// How many sandboxes of a task may be in use.
const MAX_OPEN: i64 = 8;
/// How many commands of a run may be running, opened sandboxes included.
const MAX_RUNNING: u32 = 8;
/// How many commands a run may have in all. Attempts beyond it would read as checks.
const MAX_EXECS: u32 = 999;
/// Of how many commands of a run it is kept what was run and what came of it, once they have ended.
const EXECS_KEPT: u32 = 100;

/// Why a sandbox did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// There is no such sandbox of this task.
    #[error("the task has no sandbox {0}: open one with sandbox.create")]
    NotFound(JobId),
    /// There is no such command of this sandbox.
    #[error("the sandbox has no command {0}")]
    NoExec(JobId),
    /// It was destroyed.
    #[error("the sandbox was destroyed: open another with sandbox.create")]
    Destroyed,
    /// The task is over, and its workspace is no longer worked in.
    #[error("the task is {status}: retry its run, or create a task for what is left to do")]
    Closed {
        /// How it closed.
        status: ShownTaskStatus,
    },
    /// A person has stopped the task for now, so an agent does nothing in its workspace either.
    #[error("{0}")]
    Halted(&'static str),
    /// Too many of something are in use.
    #[error("{0}")]
    TooMany(String),
    /// The task's workspace is elsewhere.
    #[error("the task's work belongs on node \"{is}\": leave node_slug out")]
    Elsewhere {
        /// Where it is.
        is: String,
    },
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// A file could not be written or read.
    #[error("{0}")]
    File(String),
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Handles on workspaces. Cheap to clone.
#[derive(Clone)]
pub struct Sandboxes {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    placer: Placer,
}

impl Sandboxes {
    /// Handles kept in `store`; `placer` chooses where the first job of a task runs.
    pub fn new((store, clock, signals): (Store, SharedClock, Signals), placer: Placer) -> Self {
        Self { store, clock, signals, placer }
    }
}

/// A task that is open, with its newest run; nobody else makes a job of it until the transaction
/// ends.
async fn open_task(
    tx: &mut Tx,
    (caller, voice): (&Caller, Voice),
    task: TaskId,
) -> Result<(Task, RunId), SandboxError> {
    find(tx, caller, &task.to_string()).await?;
    let unknown = || TaskError::NotFound(task.to_string());
    let task = tx.task_lock(task).await?.ok_or_else(unknown)?;
    if task.status.is_terminal() {
        return Err(SandboxError::Closed { status: task.status.shown() });
    }
    tx.task_lock_jobs(task.asked.id).await?;
    let run = tx.run_of_task(task.asked.id).await?.ok_or_else(|| {
        SandboxError::Invalid("the task has no run yet: it waits for others".to_owned())
    })?;
    if voice == Voice::Agent {
        refuse_halted(tx, &task, run.id).await?;
    }
    Ok((task, run.id))
}

/// What a person has stopped, or has to approve first, no agent works on by another way.
async fn refuse_halted(tx: &mut Tx, task: &Task, run: RunId) -> Result<(), SandboxError> {
    if task.paused_at.is_some() {
        let fault = "the task's run is paused: agents run nothing in it until it is resumed";
        return Err(SandboxError::Halted(fault));
    }
    let asked = tx.question_last(run).await?.filter(|asked| asked.answer.is_none());
    if asked.is_some_and(|asked| asked.question.kind == QuestionKind::Approval) {
        let fault = "the task's plan waits for approval: agents run nothing in it until a person \
                     has approved it";
        return Err(SandboxError::Halted(fault));
    }
    Ok(())
}

/// A sandbox of a task, whether or not it was destroyed.
async fn of_task(tx: &mut Tx, task: TaskId, id: JobId) -> Result<Sandbox, SandboxError> {
    let found = tx.sandbox_get(id).await?.filter(|sandbox| sandbox.task == task);
    found.ok_or(SandboxError::NotFound(id))
}
