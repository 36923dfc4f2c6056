//! Work units: planning a task, submitting results, and routing what follows.
//!
//! Start at [`WorkService`]. A `WorkBoard` decides in memory which unit may start, which must be
//! revised, and when a component is completed; the operations load it, apply one transition, and
//! persist the changes in one transaction under the task's lock.

mod board;
mod plan;
mod queries;
mod route;
mod submit;

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::TaskId;
use cynode_domain::status::IllegalTransition;
use cynode_domain::work::MAX_REVISIONS;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Store, Task, Tx, WorkUnit};
use cynode_wire::work::WorkUnitView;
use serde_json::json;

pub(crate) use route::resume_blocked;
pub(crate) use submit::{apply_agent_status, check_reported_units};

pub use self::board::WorkBoard;
pub use self::plan::insert_plan;
use crate::messages::MessageError;
use cynode_execution::{tasks::TaskError, tasks::task_event};
use cynode_resources::{PageError, Signals};

#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error("the task has no plan of work")]
    NoPlan,
    #[error("the task has no work unit \"{0}\"")]
    NotFound(String),
    #[error("the task already has another plan of work")]
    PlanExists,
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error("{unit} belongs to the role {role}")]
    OtherRole {
        unit: String,
        /// The owning role.
        role: String,
    },
    #[error("another agent is working on {0}")]
    HeldByOtherAgent(String),
    #[error(
        "{0} has reached its limit of {MAX_REVISIONS} revisions: approve it with notes, or fail it"
    )]
    TooManyRevisions(String),
    /// The status does not allow the transition.
    #[error(transparent)]
    IllegalMove(#[from] IllegalTransition),
    /// The agent's role or status does not allow it.
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for WorkError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NoPlan | Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::OtherRole { .. } => Classification::new(ErrorClass::Forbidden, self),
            Self::PlanExists
            | Self::HeldByOtherAgent(_)
            | Self::TooManyRevisions(_)
            | Self::IllegalMove(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Message(error) => error.classify(),
            Self::Task(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Manages work units. Cheap to clone.
#[derive(Clone)]
pub struct WorkService {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl WorkService {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }
}

/// Loads the board of a task that has a plan.
pub async fn load_board(
    tx: &mut Tx,
    task: TaskId,
    now: DateTime<Utc>,
) -> Result<WorkBoard, WorkError> {
    let plan = tx.work_plan_get(task).await?.ok_or(WorkError::NoPlan)?;
    let units = tx.work_unit_list(task).await?;
    Ok(WorkBoard::new(plan.components, units, now))
}

/// Persists the changes on a board and appends their events.
pub async fn persist_board(tx: &mut Tx, task: &Task, board: &WorkBoard) -> Result<(), WorkError> {
    for unit in board.changed() {
        tx.work_unit_update(unit).await?;
        let data = json!({ "work_unit_id": unit.id, "status": unit.status, "role": unit.role });
        tx.event_append(&task_event(task, "work_unit.changed", data)).await?;
    }
    if board.is_completed() && tx.work_plan_complete(task.spec.id, board.now()).await? {
        tx.event_append(&task_event(task, "work_plan.completed", json!({}))).await?;
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
