//! What every verb on a run does: take the run with its task locked, and record the act.

use cynode_domain::run::RunVerb;
use cynode_runtime::clock::SharedClock;
use cynode_store::{
    Act, EventStore, NewEvent, StandingRun, StandingStore, SteerStore, Store, Task, TaskStore, Tx,
};
use cynode_wire::runs::RunDetail;
use serde_json::Value;

use super::{RunError, find, look};
use crate::tasks::event;
use crate::{Caller, Signals};

/// What people do to runs. Cheap to clone.
#[derive(Clone)]
pub struct Steering {
    pub(super) store: Store,
    pub(super) clock: SharedClock,
    pub(super) signals: Signals,
}

impl Steering {
    /// Steers runs kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }
}

/// A run whose task is locked: nobody claims, ends or steers it until the transaction ends.
pub(super) struct Taken {
    pub(super) run: StandingRun,
    pub(super) task: Task,
}

/// Takes the run that `wanted` names.
pub(super) async fn take(tx: &mut Tx, caller: &Caller, wanted: &str) -> Result<Taken, RunError> {
    let unknown = || RunError::NotFound(wanted.chars().take(100).collect());
    let seen = find(tx, caller, wanted).await?.recorded.run;
    let task = tx.task_lock(seen.task).await?.ok_or_else(unknown)?;
    // Read again: until the lock was had, anybody may have moved it.
    let run = tx.run_standing(seen.id).await?.ok_or_else(unknown)?;
    Ok(Taken { run, task })
}

/// Remembers what the caller did to a run, and tells everybody who may see its task.
pub(super) async fn record(
    tx: &mut Tx,
    caller: &Caller,
    taken: &Taken,
    (verb, kind, detail): (RunVerb, &'static str, Value),
) -> Result<(), RunError> {
    let run = taken.run.recorded.run;
    let act = Act {
        run: run.id,
        task: run.task,
        sequence: taken.run.place.as_ref().map_or(0, |place| place.sequence),
        verb,
        user: caller.user,
        handle: caller.handle.clone(),
        detail: detail.clone(),
        recorded_at: None,
    };
    tx.act_insert(&act).await?;
    let mut data = detail;
    if let Some(fields) = data.as_object_mut() {
        fields.insert("by".to_owned(), Value::String(caller.handle.clone()));
    }
    let told = event(&taken.task, kind, data);
    tx.event_append(&NewEvent { run: Some(run.id), ..told }).await?;
    Ok(())
}

/// The run as it stands after a verb.
pub(super) async fn shown(tx: &mut Tx, taken: &Taken) -> Result<RunDetail, RunError> {
    let id = taken.run.recorded.run.id;
    let found = tx.run_standing(id).await?;
    look::detail(tx, found.ok_or_else(|| RunError::NotFound(id.to_string()))?).await
}
