//! Units of work: cutting a task into them, handing them in, and deciding what comes next.
//!
//! Start at [`Work`]. Which unit may begin, which must be looked at again and when a component is
//! done is decided on a [`board::Board`], in memory; the operations load it, make one move, and
//! write down what changed, in one transaction under the task's lock.

mod board;
mod look;
mod plan;
mod route;
mod submit;

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::status::IllegalMove;
use cynode_domain::work::MAX_REVISIONS;
use cynode_runtime::clock::SharedClock;
use cynode_store::{EventStore, Store, Task, Tx, WorkStore, WorkUnit};
use cynode_wire::work::WorkUnitView;
use serde_json::json;

pub(crate) use route::resume_blocked;
pub(crate) use submit::follow;

use self::board::Board;
use crate::messages::MessageError;
use crate::tasks::{TaskError, event};
use crate::{BadCursor, Signals};

/// Why work was not planned, handed in or routed.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The task has no plan.
    #[error("the task has no plan of work")]
    NoPlan,
    /// The task has no such unit.
    #[error("the task has no work unit \"{0}\"")]
    NotFound(String),
    /// The task has another plan.
    #[error("the task has another plan of work already")]
    PlanExists,
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The unit belongs to another role.
    #[error("{unit} is work of the {role}")]
    NotYours {
        /// The unit.
        unit: String,
        /// The role it belongs to.
        role: String,
    },
    /// Another agent has begun it.
    #[error("another agent works on {0}")]
    Taken(String),
    /// It was sent back as often as it may be.
    #[error(
        "{0} was sent back {MAX_REVISIONS} times: approve it with notes on what is left, or fail it"
    )]
    TooManyRevisions(String),
    /// The unit cannot go there from where it stands.
    #[error(transparent)]
    IllegalMove(#[from] IllegalMove),
    /// The agent may not speak.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The task was not found, or is closed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Units of work. Cheap to clone.
#[derive(Clone)]
pub struct Work {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl Work {
    /// Units of work kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }
}

/// The board of a task that has a plan.
async fn load(tx: &mut Tx, task: TaskId, now: DateTime<Utc>) -> Result<Board, WorkError> {
    let plan = tx.work_plan_get(task).await?.ok_or(WorkError::NoPlan)?;
    let units = tx.work_unit_list(task).await?;
    Ok(Board::new(plan.components, units, now))
}

/// Writes down what changed on a board, and tells everybody who watches the task.
async fn save(tx: &mut Tx, task: &Task, board: &Board) -> Result<(), WorkError> {
    for unit in board.changed() {
        tx.work_unit_update(unit).await?;
        let data = json!({ "work_unit_id": unit.id, "status": unit.status, "role": unit.role });
        tx.event_append(&event(task, "work_unit.changed", data)).await?;
    }
    if board.is_completed() && tx.work_plan_complete(task.asked.id, board.now()).await? {
        tx.event_append(&event(task, "work_plan.completed", json!({}))).await?;
    }
    Ok(())
}

pub(crate) fn view(unit: WorkUnit) -> WorkUnitView {
    WorkUnitView {
        task_id: unit.task,
        work_unit_id: unit.id,
        component: unit.component,
        kind: unit.kind,
        status: unit.status,
        assigned_role: unit.role,
        parent_work_unit_id: unit.parent,
        artifact_path: unit.artifact_path,
        summary: unit.summary,
        metadata: unit.metadata,
        notes: unit.notes,
        revision_count: unit.revision_count,
        revision_feedback: unit.revision_feedback,
        assigned_at: unit.assigned_at,
        completed_at: unit.completed_at,
        updated_at: unit.updated_at,
    }
}
