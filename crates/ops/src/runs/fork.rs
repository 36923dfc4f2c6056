//! Going on from any row of a run in a new task, with a workspace of its own.
//!
//! A step that was under way at that row is dispatched anew: its job belongs to the other task. The new
//! task has the attachments of the old one and none of its outputs, which are evidence about the old one.

use cynode_domain::ids::{ArtifactId, RunId, TraceId};
use cynode_domain::run::{COLLECT, DISPATCH, FAILED, RunVerb};
use cynode_domain::status::RunStatus;
use cynode_store::{
    Artifact, ArtifactStore, Branch, EventStore, NewEvent, Run, Seed, StandingStore, SteerStore,
    Task, TaskStore, Tx, WorkflowStore,
};
use cynode_wire::runs::{ForkRun, RunDetail};
use serde_json::json;

use super::retry::{seed, with};
use super::steer::{Steering, Taken, record};
use super::{RunError, find, look};
use crate::Caller;
use crate::artifacts::ATTACHMENT;
use crate::signals::Topic;
use crate::tasks::{Copied, copy, event};

impl Steering {
    /// Makes a new task that goes on from a row of a run, and gives its run. A request with a key
    /// that was seen before gives the same run.
    pub async fn fork(
        &self,
        caller: &Caller,
        run: &str,
        request: ForkRun,
    ) -> Result<RunDetail, RunError> {
        let (caller, run, now) = (caller.clone(), run.to_owned(), self.clock.now());
        let forked = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let found = find(tx, &caller, &run).await?;
                    let task = tx.task_get(found.recorded.run.task).await?;
                    let task = task.ok_or(RunError::NotFound(run))?;
                    let taken = Taken { run: found, task };
                    let copied = Copied {
                        name: request.task_name.clone(),
                        key: request.idempotency_key.clone(),
                        now,
                    };
                    fork(tx, &caller, &taken, request.sequence, copied).await
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(forked)
    }
}

async fn fork(
    tx: &mut Tx,
    caller: &Caller,
    taken: &Taken,
    sequence: i64,
    copied: Copied,
) -> Result<RunDetail, RunError> {
    let old = taken.run.recorded.run.id;
    let row = settled(tx, old, sequence).await?;
    let seed = seed(tx, old, row).await?;
    let (task, is_new) = copy(tx, caller, &taken.task, &copied).await?;
    let id = if is_new {
        branch(tx, caller, taken, (row, seed, &task)).await?
    } else {
        let known = tx.run_of_task(task.asked.id).await?;
        known.ok_or_else(|| RunError::NotFound(task.asked.name.clone()))?.id
    };
    let made = tx.run_standing(id).await?;
    look::detail(tx, made.ok_or_else(|| RunError::NotFound(id.to_string()))?).await
}

/// The row itself, or the one before its step was dispatched if that was under way.
async fn settled(tx: &mut Tx, run: RunId, sequence: i64) -> Result<i64, RunError> {
    let newest = tx.history_last(run).await?.map_or(0, |row| row.sequence);
    let missing = || RunError::NoRow { run, sequence, newest };
    let row = tx.history_range(run, sequence, sequence).await?.pop().ok_or_else(missing)?;
    if row.edge == FAILED || (row.node != DISPATCH && row.node != COLLECT) {
        return Ok(sequence);
    }
    let dispatched = tx.history_find(run, DISPATCH, sequence).await?;
    Ok(dispatched.map_or(sequence, |dispatched| (dispatched - 1).max(1)))
}

async fn branch(
    tx: &mut Tx,
    caller: &Caller,
    taken: &Taken,
    (row, seed, task): (i64, Seed, &Task),
) -> Result<RunId, RunError> {
    let old = taken.run.recorded.run;
    // Inputs only: what the old task's jobs left behind is no evidence about the new task.
    let inputs = tx.artifact_list(old.task).await?.into_iter();
    for artifact in inputs.filter(|artifact| artifact.kind == ATTACHMENT) {
        let (id, task) = (ArtifactId::generate(), task.asked.id);
        tx.artifact_put(&Artifact { id, task, job: None, ..artifact }).await?;
    }
    let (id, trace, status) = (RunId::generate(), TraceId::generate(), RunStatus::Pending);
    let state = with(seed.state, "task_id", json!(task.asked.id));
    let branch = Branch {
        run: Run { id, task: task.asked.id, trace, status },
        parent: (old.id, row),
        graph_version: taken.run.graph_version,
        from: Some(Seed { state, ..seed }),
    };
    tx.run_branch(&branch).await?;
    let lineage = json!({ "run_id": old.id, "row": row });
    let data = json!({ "name": task.asked.name, "forked_from": lineage });
    tx.event_append(&NewEvent { run: Some(id), ..event(task, "task.created", data) }).await?;
    let detail = json!({ "task": task.asked.name, "run_id": id, "after_row": row });
    record(tx, caller, taken, (RunVerb::Fork, "run.forked", detail)).await?;
    Ok(id)
}
