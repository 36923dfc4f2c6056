//! Transitions of a run from node to node, fenced by the lease's epoch.
//!
//! A transition is a batch write first, which shares its commit with those of other runs. What is not
//! written there is written alone: it waits for the transaction that has locked the task, and the caller learns why if
//! it is rejected.

use std::sync::Arc;

use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_runtime::failpoint;
use cynode_store::{
    Effect, EffectWrite, EventPayload, RunClosure, StaleLease, TransitionOutcome, TransitionWrite,
    Tx,
};
use cynode_wire::run_suspension::CheckpointAckView;
use cynode_wire::workflow::{Finish, LeaseToken, Outcome, RecordEffect, SaveCheckpoint};
use cynode_workflow_state::changes::StateRecord;
use serde_json::json;

use super::{WorkflowError, WorkflowService, check_lease, validate_lease_ms};
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

const MAX_WORD_BYTES: usize = 64;
const MAX_KEY_BYTES: usize = 200;
const MAX_SUMMARY_CHARS: usize = 10_000;

impl WorkflowService {
    /// Persists a transition, and ends the run if the request has `finish`. Idempotent: a runner may repeat a
    /// request whose response was lost. The response tells the runner whether to pause.
    pub async fn checkpoint(
        &self,
        request: SaveCheckpoint,
    ) -> Result<CheckpointAckView, WorkflowError> {
        let write = Arc::new(validate_checkpoint(request)?);
        failpoint::hit("save_arrived", &write.node);
        let moved = match self.store.transition(Arc::clone(&write)).await? {
            Some(moved) => moved,
            None => self.persist_in_own_transaction(Arc::clone(&write)).await?,
        };
        failpoint::hit("save_committed", &write.node);
        let Some(close) = &write.close else {
            self.signals.send(Topic::Events);
            return Ok(CheckpointAckView { pause: moved.is_paused });
        };
        if moved.is_awaited && close.task == TaskStatus::Completed {
            // In its own transaction: of two tasks that end concurrently, the later one sees both. The
            // sweeper does the same for a process that dies here.
            let on = Some(write.lease.task_id);
            self.store.write(move |tx| Box::pin(async move { tx.runs_unblock(on).await })).await?;
        }
        self.signals.send(Topic::Runs);
        self.signals.send(Topic::Messages);
        failpoint::hit("end_announced", &write.node);
        Ok(CheckpointAckView::default())
    }

    async fn persist_in_own_transaction(
        &self,
        write: Arc<TransitionWrite>,
    ) -> Result<TransitionOutcome, WorkflowError> {
        self.store
            .write(move |tx| Box::pin(async move { persist_transition(tx, &write).await }))
            .await
    }

    /// Journals the answer of an effect. The first answer under a key wins.
    pub async fn effect(&self, request: RecordEffect) -> Result<(), WorkflowError> {
        let RecordEffect { lease, effect } = request;
        if !(1..=MAX_KEY_BYTES).contains(&effect.key.len()) || effect.key.contains('\0') {
            let fault = format!("the key of an effect needs 1 to {MAX_KEY_BYTES} bytes");
            return Err(WorkflowError::Invalid(fault));
        }
        // A key is `{sequence}/{node}/{name of the effect}`.
        let node = effect.key.split('/').nth(1).unwrap_or_default().to_owned();
        let effect = Effect { key: effect.key, answer: effect.answer };
        let write = Arc::new(EffectWrite { lease, effect });
        failpoint::hit("effect_arrived", &node);
        let is_written = self.store.batch(Arc::clone(&write)).await?;
        failpoint::hit("effect_committed", &node);
        if is_written {
            return Ok(());
        }
        self.store
            .write(move |tx| {
                Box::pin(async move { journal_effect(tx, lease, &write.effect).await })
            })
            .await
    }
}

/// Validates the request and converts it for the store.
fn validate_checkpoint(request: SaveCheckpoint) -> Result<TransitionWrite, WorkflowError> {
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
        (Some(state), None) if state.is_object() => StateRecord::Full(state),
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
    Ok(TransitionWrite {
        lease: request.lease,
        sequence: request.sequence,
        node: request.last_node_id,
        edge: request.edge,
        subject: (request.step_index, request.job_id),
        record,
        duration_ms: request.duration_ms,
        lease_ms: request.lease_ms.map(|request| validate_lease_ms(Some(request))).transpose()?,
        event: EventPayload { kind: "workflow.transition", data },
        close: request.finish.as_ref().map(close_write),
    })
}

fn close_write(finish: &Finish) -> RunClosure {
    let (task, run) = match finish.outcome {
        Outcome::Completed => (TaskStatus::Completed, RunStatus::Completed),
        Outcome::Failed => (TaskStatus::Failed, RunStatus::Failed),
    };
    // A summary may quote command output, which may contain any character.
    let fit = finish.summary.chars().filter(|c| *c != '\0');
    let summary: String = fit.take(MAX_SUMMARY_CHARS).collect();
    let verification = finish.verification.filter(|_| task == TaskStatus::Completed);
    let mut data = json!({ "status": task.to_shown(), "summary": summary });
    if let Some(verification) = verification {
        data["verification"] = json!(verification);
    }
    let event = EventPayload { kind: "task.closed", data: data.redact_secrets() };
    RunClosure { task, run, summary, verification, event }
}

/// Persists a transition in its own transaction, or fails with the reason.
async fn persist_transition(
    tx: &mut Tx,
    write: &TransitionWrite,
) -> Result<TransitionOutcome, WorkflowError> {
    let id = write.lease.task_id;
    // Lock order: the task before the lease.
    let task = tx.task_lock(id).await?.ok_or(WorkflowError::TaskNotFound(id))?;
    let run = tx.run_of_task(task.spec.id).await?.ok_or(WorkflowError::TaskNotFound(id))?;
    let stored = TransitionOutcome {
        is_paused: task.paused_at.is_some(),
        is_awaited: false,
        is_lease_due: false,
    };
    // Checked before the lease, because the last transition ends the lease.
    if is_stored(tx, write, run.id).await? {
        return Ok(stored);
    }
    let lease = check_lease(tx, write.lease).await?;
    if lease.run != run.id {
        return Err(StaleLease.into());
    }
    tx.checkpoint_adopt(write.lease, run.id).await?;
    // The checkpoint is locked only now: a batch may have stored a copy of this transition in the meantime.
    if is_stored(tx, write, run.id).await? {
        return Ok(stored);
    }
    let last = tx.checkpoint_position(id).await?;
    if last.checked_add(1) != Some(write.sequence) {
        return Err(WorkflowError::OutOfOrder { last, given: write.sequence });
    }
    // A run that still cannot move has ended: only a fenced holder gets here.
    tx.run_transition(write).await?.ok_or_else(|| StaleLease.into())
}

/// Whether the same transition is the last one stored, in the same epoch.
async fn is_stored(
    tx: &mut Tx,
    write: &TransitionWrite,
    run: cynode_domain::ids::RunId,
) -> Result<bool, WorkflowError> {
    let stored = tx.history_last(run).await?;
    Ok(stored.is_some_and(|stored| {
        stored.sequence == write.sequence
            && stored.epoch == write.lease.epoch
            && stored.node == write.node
            && stored.edge == write.edge
            && stored.record == write.record
    }))
}

async fn journal_effect(
    tx: &mut Tx,
    lease: LeaseToken,
    effect: &Effect,
) -> Result<(), WorkflowError> {
    let lease = check_lease(tx, lease).await?;
    let sequence = tx.checkpoint_position(lease.task).await? + 1;
    tx.effect_record(lease.run, sequence, effect).await?;
    Ok(())
}
