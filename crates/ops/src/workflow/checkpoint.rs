//! Moving a run from node to node: one transaction per transition, under the lease's epoch.

use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_store::{
    Effect, EventStore, Fenced, LeaseStore, NewEvent, Task, TaskStore, Transition, Tx,
    WorkflowStore,
};
use cynode_wire::workflow::{Finish, Outcome, RecordEffect, SaveCheckpoint};
use serde_json::json;

use super::{Workflow, WorkflowError, check};
use crate::signals::Topic;
use crate::tasks::event;

const MAX_WORD_BYTES: usize = 64;
const MAX_KEY_BYTES: usize = 200;
const MAX_SUMMARY_CHARS: usize = 10_000;

impl Workflow {
    /// Stores a transition, and ends the run if the request says so. The same transition again
    /// changes nothing, so that a runner may repeat a request whose answer was lost.
    pub async fn checkpoint(&self, request: SaveCheckpoint) -> Result<(), WorkflowError> {
        let is_word =
            |text: &str| (1..=MAX_WORD_BYTES).contains(&text.len()) && !text.contains('\0');
        if !is_word(&request.last_node_id) || !is_word(&request.edge) {
            let fault = format!("last_node_id and edge need 1 to {MAX_WORD_BYTES} bytes");
            return Err(WorkflowError::Invalid(fault));
        }
        let finishes = request.finish.is_some();
        self.store.write(move |tx| Box::pin(save(tx, request))).await?;
        self.signals.send(Topic::Events);
        if finishes {
            self.signals.send(Topic::Runs);
        }
        Ok(())
    }

    /// Remembers the answer of an effect. The first answer under a key stays.
    pub async fn effect(&self, request: RecordEffect) -> Result<(), WorkflowError> {
        let key = &request.effect.key;
        if !(1..=MAX_KEY_BYTES).contains(&key.len()) || key.contains('\0') {
            let fault = format!("the key of an effect needs 1 to {MAX_KEY_BYTES} bytes");
            return Err(WorkflowError::Invalid(fault));
        }
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let lease = check(tx, request.hold).await?;
                    let last = tx.checkpoint_get(lease.task).await?;
                    let sequence = last.map_or(0, |checkpoint| checkpoint.sequence) + 1;
                    let effect = Effect { key: request.effect.key, answer: request.effect.answer };
                    tx.effect_record(lease.run, sequence, &effect).await?;
                    Ok(())
                })
            })
            .await
    }
}

async fn save(tx: &mut Tx, request: SaveCheckpoint) -> Result<(), WorkflowError> {
    // The task before the lease, in the order that everybody locks them; from here on, nobody else
    // moves this task.
    let task = tx.task_lock(request.hold.task_id).await?;
    let task = task.ok_or(WorkflowError::NoTask(request.hold.task_id))?;
    let run = tx.run_of_task(task.asked.id).await?.ok_or(WorkflowError::NoTask(task.asked.id))?;
    let last = tx.checkpoint_get(task.asked.id).await?.map_or(0, |checkpoint| checkpoint.sequence);
    let transition = Transition {
        run: run.id,
        task: task.asked.id,
        sequence: request.sequence,
        node: request.last_node_id,
        edge: request.edge,
        step_index: request.step_index,
        job: request.job_id,
        state: request.state,
        epoch: request.hold.epoch,
        duration_ms: request.duration_ms,
        recorded_at: None,
    };
    if request.sequence == last && is_stored(tx, &transition).await? {
        return Ok(());
    }
    let lease = check(tx, request.hold).await?;
    if lease.run != run.id {
        return Err(Fenced.into());
    }
    if request.sequence != last + 1 {
        return Err(WorkflowError::OutOfOrder { last, given: request.sequence });
    }
    tx.transition_save(&transition).await?;
    tx.event_append(&transition_event(&task, &transition)).await?;
    match request.finish {
        Some(finish) => {
            tx.lease_release(lease.task, lease.id, lease.epoch).await?;
            close(tx, &task, &transition, finish).await
        }
        None => Ok(()),
    }
}

/// Whether this very transition was stored before, in the same epoch.
async fn is_stored(tx: &mut Tx, transition: &Transition) -> Result<bool, WorkflowError> {
    let stored = tx.history_last(transition.run).await?;
    Ok(stored.is_some_and(|stored| {
        stored.sequence == transition.sequence
            && stored.epoch == transition.epoch
            && stored.node == transition.node
            && stored.edge == transition.edge
            && stored.state == transition.state
    }))
}

async fn close(
    tx: &mut Tx,
    task: &Task,
    transition: &Transition,
    finish: Finish,
) -> Result<(), WorkflowError> {
    let (task_status, run_status) = match finish.outcome {
        Outcome::Completed => (TaskStatus::Completed, RunStatus::Completed),
        Outcome::Failed => (TaskStatus::Failed, RunStatus::Failed),
    };
    // A summary may quote what a command printed, which may be anything.
    let fit = finish.summary.chars().filter(|c| *c != '\0');
    let summary: String = fit.take(MAX_SUMMARY_CHARS).collect();
    if task.status.advance(task_status).is_err() {
        // Only a fenced holder could get here, and its lease was checked: refuse all the same.
        return Err(Fenced.into());
    }
    tx.task_set_status(task.asked.id, task_status, Some(&summary)).await?;
    tx.run_set_status(transition.run, run_status).await?;
    let data = json!({ "status": task_status.api_name(), "summary": summary });
    let closed = NewEvent { run: Some(transition.run), ..event(task, "task.closed", data) };
    Ok(tx.event_append(&closed).await?)
}

fn transition_event(task: &Task, transition: &Transition) -> NewEvent {
    let data = json!({
        "sequence": transition.sequence,
        "node": transition.node,
        "edge": transition.edge,
        "step_index": transition.step_index,
        "job_id": transition.job,
        "duration_ms": transition.duration_ms,
    });
    NewEvent {
        run: Some(transition.run),
        job: transition.job,
        ..event(task, "workflow.transition", data)
    }
}
