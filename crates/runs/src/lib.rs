//! Runs: state, history, live events, the operations that people perform on them, and the reconciler.
//!
//! `queries`, `history`, `diff` and `explain` read; each operation has its own file. A run is named by its id, or by its
//! task, which means the task's newest run.
//!
//! Invariants: every operation is one transaction under the lock of the task, with the act and its event in it. No
//! operation takes the lease of a live runner: a pause takes effect between two nodes, a fork only reads the run, and
//! the others are rejected while a runner holds the lease.

mod answer;
mod diff;
mod events;
mod explain;
mod fork;
mod history;
mod operations;
mod pause;
mod queries;
mod retry;
mod sweeper;
mod traces;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{RunId, TraceId};
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{RunOverview, Store, Tx};

pub use self::events::{EventError, EventService, EventSubscription};
pub use self::operations::RunOperations;
pub use self::sweeper::Sweeper;
use cynode_execution::{tasks, tasks::TaskError};
use cynode_resources::projects::{ProjectError, is_shared_with};
use cynode_resources::{Caller, PageError};

/// Why an operation on a run was rejected.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run does not exist, or the caller may not see it.
    #[error("there is no run \"{0}\"")]
    NotFound(String),
    /// No row of the trace is visible to the caller.
    #[error("there is no trace \"{0}\"")]
    TraceNotFound(TraceId),
    #[error("run {run} has no row {sequence}; its newest is {newest}")]
    RowNotFound { run: RunId, sequence: i64, newest: i64 },
    /// The state of the run does not allow the operation.
    #[error("{0}")]
    Rejected(String),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for RunError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) | Self::TraceNotFound(_) | Self::RowNotFound { .. } => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Rejected(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Task(error) => error.classify(),
            Self::Project(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The read side of runs. Cheap to clone.
#[derive(Clone)]
pub struct RunQueries {
    store: Store,
}

impl RunQueries {
    /// Creates the service.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

/// Finds a run by its id, or by the id or name of its task, if it is the caller's.
async fn find_run(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<RunId>,
) -> Result<RunOverview, RunError> {
    let found = find_shared_run(tx, caller, name_or_id).await?;
    if caller.may_see(found.task.created_by) {
        Ok(found)
    } else {
        Err(RunError::NotFound(name_or_id.excerpt()))
    }
}

/// Same as [`find_run`], also if the project of its task is shared with the caller: for reading only.
async fn find_shared_run(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<RunId>,
) -> Result<RunOverview, RunError> {
    let unknown = || RunError::NotFound(name_or_id.excerpt());
    let mut found = match name_or_id {
        NameOrId::Id(id) => tx.run_overview(*id).await?,
        NameOrId::Name(_) => None,
    };
    if found.is_none() {
        let task = match tasks::find_shared(tx, caller, &name_or_id.retype()).await {
            Err(TaskError::NotFound(_)) => return Err(unknown()),
            found => found?,
        };
        let run = tx.run_of_task(task.spec.id).await?.ok_or_else(unknown)?;
        found = tx.run_overview(run.id).await?;
    }
    let found = found.ok_or_else(unknown)?;
    let may_read = caller.may_see(found.task.created_by)
        || is_shared_with(tx, caller, found.task.project).await?;
    if may_read { Ok(found) } else { Err(unknown()) }
}

/// Rejects an operation on an ended run.
fn reject_ended(run: &RunOverview, participle: &str) -> Result<(), RunError> {
    if run.record.run.status.is_terminal() {
        let refusal = format!("the run is already {}; it cannot be {participle}", run.state);
        return Err(RunError::Rejected(refusal));
    }
    Ok(())
}
