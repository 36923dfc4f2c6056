//! Taking a task, keeping it, and letting go.

use std::time::Duration;

use cynode_domain::ids::{HolderId, TaskId};
use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_store::{EventStore, Lease, LeaseStore, Run, Task, TaskStore, Tx, WorkflowStore};
use cynode_wire::workflow::{
    CheckpointView, ClaimRun, ClaimView, EffectView, GrantView, Hold, ReleaseLease, RenewLease,
    ResumeRun, StartRun, StartStatus, TaskContextView,
};
use serde_json::json;
use tokio::time::Instant;

use super::{MAX_WAIT_MS, Workflow, WorkflowError, check, lease_ms, task_of};
use crate::signals::Topic;
use crate::tasks::event;

impl Workflow {
    /// Grants the oldest runnable task, waiting for one if there is none.
    pub async fn claim(&self, request: &ClaimRun) -> Result<ClaimView, WorkflowError> {
        let lease_ms = lease_ms(request.lease_ms)?;
        let wait = Duration::from_millis(u64::from(request.wait_ms.min(MAX_WAIT_MS)));
        let (holder, deadline) = (request.holder_id, Instant::now() + wait);
        let mut listener = self.signals.listen(Topic::Runs);
        loop {
            self.note_runner();
            let grant = self
                .store
                .write(move |tx| Box::pin(async move { claim_next(tx, holder, lease_ms).await }))
                .await?;
            if grant.is_some() || !listener.wait(deadline).await {
                return Ok(ClaimView { grant });
            }
        }
    }

    /// Grants one task. The same holder asking again gets the grant it has.
    pub async fn start(&self, request: &StartRun) -> Result<GrantView, WorkflowError> {
        let lease_ms = lease_ms(request.lease_ms)?;
        let (task, holder) = (request.task_id, request.holder_id);
        self.note_runner();
        self.store
            .write(move |tx| Box::pin(async move { start(tx, task, holder, lease_ms).await }))
            .await
    }

    /// The newest checkpoint of a task.
    pub async fn resume(&self, request: &ResumeRun) -> Result<CheckpointView, WorkflowError> {
        let id = request.task_id;
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    task_of(tx, id).await?;
                    checkpoint_view(tx, id).await
                })
            })
            .await?;
        found.ok_or(WorkflowError::NoCheckpoint(id))
    }

    /// Extends a lease in force.
    pub async fn renew(&self, request: &RenewLease) -> Result<(), WorkflowError> {
        let (hold, lease_ms) = (request.hold, lease_ms(request.lease_ms)?);
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let lease = check(tx, hold).await?;
                    Ok(tx.lease_renew(&lease, lease_ms).await??)
                })
            })
            .await
    }

    /// Gives a task up, so that another runner takes it at once.
    pub async fn release(&self, request: &ReleaseLease) -> Result<(), WorkflowError> {
        let hold = request.hold;
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.lease_release(hold.task_id, hold.lease_id, hold.epoch).await?;
                    Ok::<_, WorkflowError>(())
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(())
    }

    /// What `load_task_context` reads.
    pub async fn context(&self, id: TaskId) -> Result<TaskContextView, WorkflowError> {
        let task =
            self.store.read(move |tx| Box::pin(async move { task_of(tx, id).await })).await?;
        let (asked, options) = (task.asked.clone(), task.asked.options);
        Ok(TaskContextView {
            task_id: asked.id,
            task_name: asked.name,
            input_mode: asked.input_mode,
            prompt: asked.prompt,
            commands: asked.commands,
            acceptance_criteria: asked.acceptance_criteria,
            expected_outputs: options.expected_outputs,
            limits: options.limits,
            retry_interrupted: options.retry_interrupted,
            max_attempts: options.max_attempts,
        })
    }
}

async fn claim_next(
    tx: &mut Tx,
    holder: HolderId,
    lease_ms: u32,
) -> Result<Option<GrantView>, WorkflowError> {
    // On PostgreSQL a run may be granted to somebody else between the two statements; the next
    // look does not find it again.
    while let Some(run) = tx.run_next().await? {
        if let Some(lease) = tx.lease_grant(run.task, run.id, holder, lease_ms).await? {
            return grant(tx, &run, &lease, StartStatus::Started).await.map(Some);
        }
    }
    Ok(None)
}

async fn start(
    tx: &mut Tx,
    id: TaskId,
    holder: HolderId,
    lease_ms: u32,
) -> Result<GrantView, WorkflowError> {
    // Locked, so that nobody cancels the task between the gate and the grant.
    let task = tx.task_lock(id).await?.ok_or(WorkflowError::NoTask(id))?;
    let run = tx.run_of_task(id).await?.ok_or(WorkflowError::NoTask(id))?;
    pass_gate(tx, &task).await?;
    if let Some(lease) = tx.lease_grant(id, run.id, holder, lease_ms).await? {
        return grant(tx, &run, &lease, StartStatus::Started).await;
    }
    let lease = tx.lease_get(id).await?;
    match lease.and_then(|lease| lease.holder.map(|holder| (lease, holder))) {
        Some((lease, current)) if current == holder => {
            grant(tx, &run, &lease, StartStatus::AlreadyRunning).await
        }
        Some((_, other)) => Err(WorkflowError::Held { holder: other }),
        // It was released at this very moment; the caller may simply ask again.
        None => Err(WorkflowError::Gate { reason: "the lease just changed hands".to_owned() }),
    }
}

/// A task may start when it is open and everything it waits for has completed.
async fn pass_gate(tx: &mut Tx, task: &Task) -> Result<(), WorkflowError> {
    if task.status.is_terminal() {
        let reason = format!("it is {} already", task.status.api_name());
        return Err(WorkflowError::Gate { reason });
    }
    for id in tx.dependency_list(task.asked.id).await? {
        let on = task_of(tx, id).await?;
        if on.status != TaskStatus::Completed {
            let (name, status) = (on.asked.name, on.status.api_name());
            let reason = format!("dependencies not satisfied: \"{name}\" is {status}");
            return Err(WorkflowError::Gate { reason });
        }
    }
    Ok(())
}

async fn grant(
    tx: &mut Tx,
    run: &Run,
    lease: &Lease,
    status: StartStatus,
) -> Result<GrantView, WorkflowError> {
    let task = task_of(tx, run.task).await?;
    if task.status == TaskStatus::Pending {
        tx.task_set_status(run.task, TaskStatus::Running, None).await?;
        let started = event(&task, "task.started", json!({ "run_id": run.id }));
        tx.event_append(&started).await?;
    }
    if run.status == RunStatus::Pending {
        tx.run_set_status(run.id, RunStatus::Running).await?;
    }
    let checkpoint = checkpoint_view(tx, run.task).await?;
    let last = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.sequence);
    let effects = tx.effect_list(run.id, last).await?;
    Ok(GrantView {
        status,
        hold: Hold { task_id: run.task, lease_id: lease.id, epoch: lease.epoch },
        run_id: run.id,
        trace_id: run.trace,
        checkpoint,
        effects: effects
            .into_iter()
            .map(|effect| EffectView { key: effect.key, answer: effect.answer })
            .collect(),
    })
}

async fn checkpoint_view(
    tx: &mut Tx,
    task: TaskId,
) -> Result<Option<CheckpointView>, WorkflowError> {
    let checkpoint = tx.checkpoint_get(task).await?;
    Ok(checkpoint.map(|checkpoint| CheckpointView {
        task_id: task,
        state: checkpoint.state,
        last_node_id: checkpoint.last_node,
        edge: checkpoint.edge,
        sequence: checkpoint.sequence,
        updated_at: checkpoint.updated_at,
    }))
}
