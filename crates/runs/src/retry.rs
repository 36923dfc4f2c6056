//! Retrying an ended run: a new run of the same task continues from an earlier row.
//!
//! The new run starts with the state before the retried node: earlier nodes are not executed again. The workspace of
//! the task is reused.

use cynode_domain::ids::RunId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::run::{
    COLLECT_NODE, DISPATCH_NODE, FAILED_EDGE, MARK_FAILED_NODE, RunVerb, VERIFY_NODE, next_node,
};
use cynode_domain::status::{JobStatus, RunStatus, TaskStatus};
use cynode_domain::text::truncate_chars;
use cynode_store::{BranchSeed, Run, RunBranch, Transition, Tx};
use cynode_wire::runs::{RetryRun, RunDetail};
use cynode_workflow_state::StoredState;
use serde_json::json;

use super::operations::{LockedRun, RunOperations, lock_run, record_act, reject_lost_attachments};
use super::{RunError, queries};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;

impl RunOperations {
    /// Retries an ended run from a node, and returns the new run.
    pub async fn retry(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        request: RetryRun,
    ) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        let retried = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let locked = lock_run(tx, &caller, &run).await?;
                    insert_retry(tx, &caller, locked, request.node.as_deref()).await
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(retried)
    }
}

async fn insert_retry(
    tx: &mut Tx,
    caller: &Caller,
    locked: LockedRun,
    node: Option<&str>,
) -> Result<RunDetail, RunError> {
    require_retryable(tx, &locked).await?;
    reject_lost_attachments(tx, &locked.task).await?;
    let old = locked.run.record.run;
    let after = find_retry_row(tx, &locked, node).await?;
    let seed = match after {
        0 => None,
        after => Some(load_seed(tx, old.id, after).await?),
    };
    if let Some(seed) = &seed {
        reject_canceled_job(tx, seed).await?;
    }
    let begins = match &seed {
        Some(seed) => next_node(&seed.node, &seed.edge).unwrap_or_default(),
        None => cynode_domain::run::LOAD_NODE,
    };
    let (id, trace, status) = (RunId::generate(), old.trace, RunStatus::Pending);
    let branch = RunBranch {
        run: Run { id, task: old.task, trace, status },
        parent: (old.id, after),
        graph_version: locked.run.graph_version,
        from: seed,
    };
    tx.task_reopen(old.task).await?;
    tx.run_branch(&branch).await?;
    let detail = json!({ "run_id": id, "node": begins, "after_row": after });
    record_act(tx, caller, &locked, RunVerb::Retry, "run.retried", detail).await?;
    let made = tx.run_overview(id).await?;
    queries::load_detail(tx, made.ok_or_else(|| RunError::NotFound(id.to_string()))?).await
}

/// Rejects runs that are open, completed, or already retried.
async fn require_retryable(tx: &mut Tx, locked: &LockedRun) -> Result<(), RunError> {
    let refused = |text: String| Err(RunError::Rejected(text));
    let old = locked.run.record.run;
    if let Some(parent) = &locked.task.parent {
        return refused(format!(
            "the task is an attempt at {} of a request, which starts the next one itself: see `cynork pm show {}`",
            parent.unit, parent.task
        ));
    }
    if let Some(newest) = tx.run_of_task(old.task).await?
        && newest.id != old.id
    {
        return refused(format!("the run was retried already: the newest is {}", newest.id));
    }
    if !old.status.is_terminal() {
        return refused(format!(
            "the run is {}: only an ended run can be retried",
            locked.run.state
        ));
    }
    match locked.task.status {
        TaskStatus::Failed | TaskStatus::Canceled => {}
        status @ (TaskStatus::Pending
        | TaskStatus::Running
        | TaskStatus::Completed
        | TaskStatus::Superseded) => {
            let status = status.to_shown();
            return refused(format!(
                "the task is {status} and cannot be retried: fork its run instead"
            ));
        }
    }
    if let Some(open) = tx.job_list_open(old.task).await?.first() {
        let (id, status) = (open.spec.id, open.status);
        return refused(format!("job {id} is still {status}: retry once its node has stopped it"));
    }
    Ok(())
}

/// Finds the row whose state the new run starts with; 0 means the empty state.
async fn find_retry_row(
    tx: &mut Tx,
    locked: &LockedRun,
    node: Option<&str>,
) -> Result<i64, RunError> {
    let run = locked.run.record.run.id;
    let Some(last) = tx.history_last(run).await? else {
        return Ok(0);
    };
    let node = match node {
        Some(node) => node.to_owned(),
        None => match find_failed_node(tx, &last).await? {
            Some(node) => node,
            None => return Ok(last.sequence),
        },
    };
    match tx.history_find(run, &node, last.sequence).await? {
        Some(sequence) => Ok(sequence - 1),
        // The node was next when the run was stopped.
        None if next_node(&last.node, &last.edge) == Some(node.as_str()) => Ok(last.sequence),
        None => {
            let node = truncate_chars(&node, 64);
            Err(RunError::Invalid(vec![format!("the run has no row of node \"{node}\"")]))
        }
    }
}

/// The node to retry; `None` if the run can continue after its last row. A step whose result was rejected or never
/// arrived is dispatched again.
async fn find_failed_node(tx: &mut Tx, last: &Transition) -> Result<Option<String>, RunError> {
    let stopped = if last.node == MARK_FAILED_NODE {
        let before = last.sequence - 1;
        tx.history_range(last.run, before, before).await?.pop()
    } else {
        None
    };
    let node = match &stopped {
        Some(row) if row.edge == FAILED_EDGE && row.node != COLLECT_NODE => Some(row.node.clone()),
        Some(row) if row.node == VERIFY_NODE || row.node == COLLECT_NODE => {
            Some(DISPATCH_NODE.to_owned())
        }
        None if next_node(&last.node, &last.edge) == Some(COLLECT_NODE) => {
            Some(DISPATCH_NODE.to_owned())
        }
        Some(_) | None => None,
    };
    Ok(node)
}

/// Loads the state and the position after a row of a run.
pub(super) async fn load_seed(
    tx: &mut Tx,
    run: RunId,
    sequence: i64,
) -> Result<BranchSeed, RunError> {
    let newest = tx.history_last(run).await?.map_or(0, |row| row.sequence);
    let missing = || RunError::RowNotFound { run, sequence, newest };
    let row = tx.history_range(run, sequence, sequence).await?.pop().ok_or_else(missing)?;
    let state = tx.state_at(run, sequence).await?.ok_or_else(missing)?;
    if next_node(&row.node, &row.edge).is_none() {
        let refusal = format!("no node follows row {sequence}: choose an earlier row");
        return Err(RunError::Rejected(refusal));
    }
    Ok(BranchSeed { node: row.node, edge: row.edge, state })
}

/// Rejects a retry that would wait for a canceled job.
async fn reject_canceled_job(tx: &mut Tx, seed: &BranchSeed) -> Result<(), RunError> {
    if next_node(&seed.node, &seed.edge) != Some(COLLECT_NODE) {
        return Ok(());
    }
    let job = StoredState::read(&seed.state).ok().and_then(|stored| stored.state.job);
    let job = match job {
        Some(job) => tx.job_get(job.job_id).await?,
        None => None,
    };
    match job {
        Some(job) if job.status != JobStatus::Canceled => Ok(()),
        _ => {
            let refusal = format!("its job was canceled: retry from {DISPATCH_NODE}");
            Err(RunError::Rejected(refusal))
        }
    }
}
