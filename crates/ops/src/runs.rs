//! Runs: where they stand, how they went, and what people do to them.
//!
//! Looking is in `look`, `history`, `diff` and `explain`; the verbs have a file each. A run is
//! named by its id, or by its task: that is the task's newest run.
//!
//! Invariants: every verb is one transaction, with the act and its event in it, under the lock of the
//! task. None of them takes a lease from a runner at work: a pause is heard between two nodes, a fork
//! only reads the run, and the rest is refused while somebody drives it.

mod answer;
mod diff;
mod explain;
mod fork;
mod history;
mod look;
mod pause;
mod retry;
mod steer;

use cynode_domain::ids::RunId;
use cynode_store::{StandingRun, StandingStore, Store, Tx, WorkflowStore};

pub use self::answer::Voice;
pub(crate) use self::answer::expire;
pub use self::steer::Steering;
use crate::projects::ProjectError;
use crate::tasks::{self, TaskError};
use crate::{BadCursor, Caller};

/// Why a run was not shown, or something was not done to it.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no such run, or the caller may not see it.
    #[error("there is no run \"{0}\"")]
    NotFound(String),
    /// There is no such row.
    #[error("run {run} has no row {sequence}; its newest is {newest}")]
    NoRow {
        /// The run.
        run: RunId,
        /// The row that was asked for.
        sequence: i64,
        /// The newest that there is.
        newest: i64,
    },
    /// The run is not in a state that allows it.
    #[error("{0}")]
    Refused(String),
    /// The request breaks rules; every one of them is named.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The project was not found.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Runs, looked at. Cheap to clone.
#[derive(Clone)]
pub struct Runs {
    store: Store,
}

impl Runs {
    /// Runs kept in `store`.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

/// The run that `wanted` names by its id, or by the id or name of its task, if the caller may see it.
async fn find(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<StandingRun, RunError> {
    let unknown = || RunError::NotFound(wanted.chars().take(100).collect());
    let mut found = match wanted.parse::<RunId>() {
        Ok(id) => tx.run_standing(id).await?,
        Err(_) => None,
    };
    if found.is_none() {
        let task = match tasks::find(tx, caller, wanted).await {
            Err(TaskError::NotFound(_)) => return Err(unknown()),
            found => found?,
        };
        let run = tx.run_of_task(task.asked.id).await?.ok_or_else(unknown)?;
        found = tx.run_standing(run.id).await?;
    }
    found.filter(|run| caller.may_see(run.task.created_by)).ok_or_else(unknown)
}

/// Refuses what can be done to a run under way only.
fn refuse_ended(run: &StandingRun, verb: &str) -> Result<(), RunError> {
    if run.recorded.run.status.is_terminal() {
        let refusal = format!("the run is {} already: there is nothing to {verb}", run.state);
        return Err(RunError::Refused(refusal));
    }
    Ok(())
}
