//! Shared parts of the operations on a run: locking its task and recording the act.

use cynode_domain::ids::RunId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::run::RunVerb;
use cynode_runtime::clock::SharedClock;
use cynode_store::{NewEvent, RunAction, RunOverview, Store, Task, Tx};
use cynode_wire::runs::RunDetail;
use serde_json::Value;

use super::{RunError, find_run, queries};
use cynode_execution::artifacts::StorageLimits;
use cynode_execution::tasks::task_event;
use cynode_resources::{Caller, Signals};

/// The write side of runs: pause, resume, answer, retry and fork. Cheap to clone.
#[derive(Clone)]
pub struct RunOperations {
    pub(super) store: Store,
    pub(super) clock: SharedClock,
    pub(super) signals: Signals,
    pub(super) storage_limits: StorageLimits,
}

impl RunOperations {
    /// Creates the service.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals, storage_limits: StorageLimits::default() }
    }

    /// Sets the most bytes that files may take.
    #[must_use]
    pub fn with_storage_limits(self, storage_limits: StorageLimits) -> Self {
        Self { storage_limits, ..self }
    }
}

/// A run with its task locked: no other transaction claims, ends or changes it.
pub(super) struct LockedRun {
    pub(super) run: RunOverview,
    pub(super) task: Task,
}

/// Finds a run and locks its task.
pub(super) async fn lock_run(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<RunId>,
) -> Result<LockedRun, RunError> {
    let unknown = || RunError::NotFound(name_or_id.excerpt());
    let seen = find_run(tx, caller, name_or_id).await?.record.run;
    let task = tx.task_lock(seen.task).await?.ok_or_else(unknown)?;
    // Read again: the run may have moved before the lock was acquired.
    let run = tx.run_overview(seen.id).await?.ok_or_else(unknown)?;
    Ok(LockedRun { run, task })
}

/// Rejects another run of a task whose attachments were deleted: its commands would not find them.
pub(super) async fn reject_lost_attachments(tx: &mut Tx, task: &Task) -> Result<(), RunError> {
    if !tx.task_lost_attachments(task.spec.id).await? {
        return Ok(());
    }
    let name = &task.spec.name;
    let refusal =
        format!("attachments of task \"{name}\" were deleted: create a new task with these files");
    Err(RunError::Rejected(refusal))
}

/// Records an act of the caller on a run, and appends its event.
pub(super) async fn record_act(
    tx: &mut Tx,
    caller: &Caller,
    locked: &LockedRun,
    verb: RunVerb,
    kind: &'static str,
    detail: Value,
) -> Result<(), RunError> {
    let run = locked.run.record.run;
    let act = RunAction {
        run: run.id,
        task: run.task,
        sequence: locked.run.position.as_ref().map_or(0, |position| position.sequence),
        verb,
        user: caller.user,
        handle: caller.handle.clone(),
        detail: detail.clone(),
        recorded_at: None,
    };
    tx.run_action_insert(&act).await?;
    let mut data = detail;
    if let Some(fields) = data.as_object_mut() {
        fields.insert("by".to_owned(), Value::String(caller.handle.clone()));
    }
    let event = task_event(&locked.task, kind, data);
    tx.event_append(&NewEvent { run: Some(run.id), ..event }).await?;
    Ok(())
}

/// Loads the run after an operation.
pub(super) async fn load_after(tx: &mut Tx, locked: &LockedRun) -> Result<RunDetail, RunError> {
    let id = locked.run.record.run.id;
    let found = tx.run_overview(id).await?;
    queries::load_detail(tx, found.ok_or_else(|| RunError::NotFound(id.to_string()))?).await
}
