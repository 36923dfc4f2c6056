//! Moving a run from node to node, under the lease's epoch.
//!
//! A transition goes the fast way first, where those of many runs share one statement. What is not
//! moved there goes the slow way, alone: it waits for whoever has locked the task, and is told why if
//! it is refused.

use std::sync::Arc;

use cynode_domain::changes::StateRecord;
use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_runtime::failpoint;
use cynode_store::{
    Close, Effect, Fenced, Held, Move, MoveStore, Moved, TaskStore, Told, Tx, WorkflowStore,
};
use cynode_wire::steering::SavedView;
use cynode_wire::workflow::{Finish, Hold, Outcome, RecordEffect, SaveCheckpoint};
use serde_json::json;

use super::{Workflow, WorkflowError, check, lease_ms};
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;

const MAX_WORD_BYTES: usize = 64;
const MAX_KEY_BYTES: usize = 200;
const MAX_SUMMARY_CHARS: usize = 10_000;

impl Workflow {
    /// Stores a transition, and ends the run if the request says so. The same transition again
    /// changes nothing, so that a runner may repeat a request whose answer was lost. Says whether the
    /// run is to pause.
    pub async fn checkpoint(&self, request: SaveCheckpoint) -> Result<SavedView, WorkflowError> {
        let wanted = Arc::new(wanted(request)?);
        failpoint::hit("save_arrived", &wanted.node);
        let moved = match self.store.transit(Arc::clone(&wanted)).await? {
            Some(moved) => moved,
            None => self.save_alone(Arc::clone(&wanted)).await?,
        };
        failpoint::hit("save_committed", &wanted.node);
        let Some(close) = &wanted.close else {
            self.signals.send(Topic::Events);
            return Ok(SavedView { pause: moved.is_paused });
        };
        if moved.is_awaited && close.task == TaskStatus::Completed {
            // In a transaction of its own: of two tasks that end at the same time, the later one
            // sees both. The sweeper does the same for a process that dies here.
            let on = Some(wanted.held.task);
            self.store
                .write_alone(move |tx| Box::pin(async move { tx.runs_unblock(on).await }))
                .await?;
        }
        self.signals.send(Topic::Runs);
        failpoint::hit("end_announced", &wanted.node);
        Ok(SavedView::default())
    }

    async fn save_alone(&self, wanted: Arc<Move>) -> Result<Moved, WorkflowError> {
        self.store.write(move |tx| Box::pin(async move { save(tx, &wanted).await })).await
    }

    /// Remembers the answer of an effect. The first answer under a key stays.
    pub async fn effect(&self, request: RecordEffect) -> Result<(), WorkflowError> {
        let RecordEffect { hold, effect } = request;
        if !(1..=MAX_KEY_BYTES).contains(&effect.key.len()) || effect.key.contains('\0') {
            let fault = format!("the key of an effect needs 1 to {MAX_KEY_BYTES} bytes");
            return Err(WorkflowError::Invalid(fault));
        }
        let effect = Arc::new(Effect { key: effect.key, answer: effect.answer });
        let first = Arc::clone(&effect);
        // Keys are made of the transition's number, the node and what the node calls the effect.
        let node = effect.key.split('/').nth(1).unwrap_or_default().to_owned();
        failpoint::hit("effect_arrived", &node);
        let is_written = self
            .store
            .write_alone(move |tx| {
                Box::pin(async move { tx.effect_journal(held(hold), &first).await })
            })
            .await?;
        failpoint::hit("effect_committed", &node);
        if is_written {
            return Ok(());
        }
        self.store.write(move |tx| Box::pin(async move { journal(tx, hold, &effect).await })).await
    }
}

/// The request as the store takes it, if it is well formed.
fn wanted(request: SaveCheckpoint) -> Result<Move, WorkflowError> {
    let is_word = |text: &str| (1..=MAX_WORD_BYTES).contains(&text.len()) && !text.contains('\0');
    if !is_word(&request.last_node_id) || !is_word(&request.edge) {
        let fault = format!("last_node_id and edge need 1 to {MAX_WORD_BYTES} bytes");
        return Err(WorkflowError::Invalid(fault));
    }
    let data = json!({
        "sequence": request.sequence,
        "node": request.last_node_id,
        "edge": request.edge,
        "step_index": request.step_index,
        "job_id": request.job_id,
        "duration_ms": request.duration_ms,
    });
    let record = match (request.state, request.changes) {
        (Some(state), None) if state.is_object() => StateRecord::Whole(state),
        (Some(_), None) => {
            let fault = "the state of a checkpoint must be a JSON object";
            return Err(WorkflowError::Invalid(fault.to_owned()));
        }
        (None, Some(changes)) => StateRecord::Changes(changes),
        (Some(_), Some(_)) | (None, None) => {
            let fault = "send either the whole state or the changes";
            return Err(WorkflowError::Invalid(fault.to_owned()));
        }
    };
    Ok(Move {
        held: held(request.hold),
        sequence: request.sequence,
        node: request.last_node_id,
        edge: request.edge,
        subject: (request.step_index, request.job_id),
        record,
        duration_ms: request.duration_ms,
        lease_ms: request.lease_ms.map(|asked| lease_ms(Some(asked))).transpose()?,
        event: Told { kind: "workflow.transition", data },
        close: request.finish.as_ref().map(close),
    })
}

fn held(hold: Hold) -> Held {
    Held { task: hold.task_id, lease: hold.lease_id, epoch: hold.epoch }
}

fn close(finish: &Finish) -> Close {
    let (task, run) = match finish.outcome {
        Outcome::Completed => (TaskStatus::Completed, RunStatus::Completed),
        Outcome::Failed => (TaskStatus::Failed, RunStatus::Failed),
    };
    // A summary may quote what a command printed, which may be anything.
    let fit = finish.summary.chars().filter(|c| *c != '\0');
    let summary: String = fit.take(MAX_SUMMARY_CHARS).collect();
    let verification = finish.verification.filter(|_| task == TaskStatus::Completed);
    let mut data = json!({ "status": task.shown(), "summary": summary });
    if let Some(verification) = verification {
        data["verification"] = json!(verification);
    }
    let event = Told { kind: "task.closed", data: data.without_secrets() };
    Close { task, run, summary, verification, event }
}

/// Stores a transition alone, or says why not.
async fn save(tx: &mut Tx, wanted: &Move) -> Result<Moved, WorkflowError> {
    let (id, hold) = (wanted.held.task, wanted.held);
    // The task before the lease, in the order that everybody locks them; from here on, nobody else
    // moves this task.
    let task = tx.task_lock(id).await?.ok_or(WorkflowError::NoTask(id))?;
    let run = tx.run_of_task(task.asked.id).await?.ok_or(WorkflowError::NoTask(id))?;
    let last = tx.checkpoint_position(id).await?;
    if wanted.sequence == last && is_stored(tx, wanted, run.id).await? {
        return Ok(Moved { is_paused: task.paused_at.is_some(), is_awaited: false });
    }
    let hold = Hold { task_id: id, lease_id: hold.lease, epoch: hold.epoch };
    let lease = check(tx, hold).await?;
    if lease.run != run.id {
        return Err(Fenced.into());
    }
    if last.checked_add(1) != Some(wanted.sequence) {
        return Err(WorkflowError::OutOfOrder { last, given: wanted.sequence });
    }
    tx.position_open(wanted.held, run.id).await?;
    // What is still not moved has ended: only a fenced holder could get here.
    tx.run_move(wanted).await?.ok_or_else(|| Fenced.into())
}

/// Whether this very transition was stored before, in the same epoch.
async fn is_stored(
    tx: &mut Tx,
    wanted: &Move,
    run: cynode_domain::ids::RunId,
) -> Result<bool, WorkflowError> {
    let stored = tx.history_last(run).await?;
    Ok(stored.is_some_and(|stored| {
        stored.sequence == wanted.sequence
            && stored.epoch == wanted.held.epoch
            && stored.node == wanted.node
            && stored.edge == wanted.edge
            && stored.record == wanted.record
    }))
}

async fn journal(tx: &mut Tx, hold: Hold, effect: &Effect) -> Result<(), WorkflowError> {
    let lease = check(tx, hold).await?;
    let sequence = tx.checkpoint_position(lease.task).await? + 1;
    tx.effect_record(lease.run, sequence, effect).await?;
    Ok(())
}
