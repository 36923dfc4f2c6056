//! Forking a run: a new task with its own workspace continues from any row of the run.
//!
//! A step that was in progress at that row is dispatched again: its job belongs to the other task. The new task has the
//! attachments of the old one, as rows of its own that outlive those of the old one, and none of its outputs, which are
//! evidence about the old one. The old task is locked, so that its attachments are not deleted in between.

use cynode_domain::ids::{ArtifactId, RunId, TraceId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::run::{COLLECT_NODE, DISPATCH_NODE, FAILED_EDGE, RunVerb};
use cynode_domain::status::RunStatus;
use cynode_store::{Artifact, BranchSeed, Run, RunBranch, Task, Tx, counted_bytes};
use cynode_wire::runs::{ForkRun, RunDetail};
use cynode_workflow_state::StoredState;
use serde_json::json;

use super::operations::{LockedRun, RunOperations, lock_run, record_act, reject_lost_attachments};
use super::retry::load_seed;
use super::{RunError, queries};
use cynode_execution::artifacts::{ATTACHMENT, StorageLimits};
use cynode_execution::tasks::start::insert_forked_run;
use cynode_execution::tasks::{TaskCopyRequest, TaskError, copy_task, scope_of};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;

impl RunOperations {
    /// Creates a task that continues from a row of a run, and returns its run. Idempotent with an idempotency key. Fails if
    /// the rules do not allow the caller to clone the repository of the task, and records that.
    pub async fn fork(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        request: ForkRun,
    ) -> Result<RunDetail, RunError> {
        let (caller, run, now) = (caller.clone(), run.to_owned(), self.clock.now());
        let limits = self.storage_limits;
        let forked = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let locked = lock_run(tx, &caller, &run).await?;
                    let copied = TaskCopyRequest {
                        name: request.task_name.clone(),
                        key: request.idempotency_key.clone(),
                        now,
                    };
                    fork_run(tx, &caller, &locked, request.sequence, copied, limits).await
                })
            })
            .await;
        if let Err(RunError::Task(TaskError::RepositoryDenied(denial))) = &forked {
            denial.record(&self.store, self.clock.now()).await?;
        }
        let forked = forked?;
        self.signals.send(Topic::Runs);
        Ok(forked)
    }
}

async fn fork_run(
    tx: &mut Tx,
    caller: &Caller,
    locked: &LockedRun,
    sequence: i64,
    copied: TaskCopyRequest,
    limits: StorageLimits,
) -> Result<RunDetail, RunError> {
    let old = locked.run.record.run.id;
    let row = settled_row(tx, old, sequence).await?;
    let seed = load_seed(tx, old, row).await?;
    let (task, is_new) = copy_task(tx, caller, &locked.task, &copied).await?;
    let id = if is_new {
        reject_lost_attachments(tx, &locked.task).await?;
        let id = insert_branch(tx, caller, locked, row, seed, &task).await?;
        copy_attachments(tx, &locked.task, &task, limits).await?;
        id
    } else {
        let known = tx.run_of_task(task.spec.id).await?;
        known.ok_or_else(|| RunError::NotFound(task.spec.name.clone()))?.id
    };
    let made = tx.run_overview(id).await?;
    queries::load_detail(tx, made.ok_or_else(|| RunError::NotFound(id.to_string()))?).await
}

/// Returns the row itself, or the row before the dispatch if its step was in progress.
async fn settled_row(tx: &mut Tx, run: RunId, sequence: i64) -> Result<i64, RunError> {
    let newest = tx.history_last(run).await?.map_or(0, |row| row.sequence);
    let missing = || RunError::RowNotFound { run, sequence, newest };
    let row = tx.history_range(run, sequence, sequence).await?.pop().ok_or_else(missing)?;
    if row.edge == FAILED_EDGE || (row.node != DISPATCH_NODE && row.node != COLLECT_NODE) {
        return Ok(sequence);
    }
    let dispatched = tx.history_find(run, DISPATCH_NODE, sequence).await?;
    Ok(dispatched.map_or(sequence, |dispatched| (dispatched - 1).max(1)))
}

async fn insert_branch(
    tx: &mut Tx,
    caller: &Caller,
    locked: &LockedRun,
    row: i64,
    seed: BranchSeed,
    task: &Task,
) -> Result<RunId, RunError> {
    let old = locked.run.record.run;
    let (id, trace, status) = (RunId::generate(), TraceId::generate(), RunStatus::Pending);
    let state = StoredState::replace_task(seed.state, task.spec.id);
    let branch = RunBranch {
        run: Run { id, task: task.spec.id, trace, status },
        parent: (old.id, row),
        graph_version: locked.run.graph_version,
        from: Some(BranchSeed { state, ..seed }),
    };
    insert_forked_run(tx, task, &branch).await?;
    let detail = json!({ "task": task.spec.name, "run_id": id, "after_row": row });
    record_act(tx, caller, locked, RunVerb::Fork, "run.forked", detail).await?;
    Ok(id)
}

/// Copies the attachments only: outputs of the old task are not evidence about the new task.
async fn copy_attachments(
    tx: &mut Tx,
    from: &Task,
    to: &Task,
    limits: StorageLimits,
) -> Result<(), RunError> {
    let inputs = tx.artifact_list(from.spec.id).await?.into_iter();
    let mut added_bytes = 0;
    for artifact in inputs.filter(|artifact| artifact.kind == ATTACHMENT) {
        added_bytes += counted_bytes(artifact.size_bytes);
        let (id, task) = (ArtifactId::generate(), to.spec.id);
        tx.artifact_put(&Artifact { id, task, job: None, ..artifact }).await?;
    }
    if added_bytes > 0 {
        limits.check::<TaskError>(tx, scope_of(to), added_bytes).await?;
    }
    Ok(())
}
