//! Going on from an earlier row of a run that has ended, in a new run of the same task.
//!
//! The new run begins with the state before the node that is retried: what was done before that is not
//! done again. The workspace of the task is the same.

use cynode_domain::ids::{RunId, TraceId};
use cynode_domain::run::{COLLECT, DISPATCH, FAILED, MARK_FAILED, RunVerb, VERIFY, next_node};
use cynode_domain::status::{JobStatus, RunStatus, TaskStatus};
use cynode_store::{
    Branch, JobStore, Run, Seed, StandingStore, SteerStore, Transition, Tx, WorkflowStore,
};
use cynode_wire::runs::{RetryRun, RunDetail};
use serde_json::{Value, json};

use super::steer::{Steering, Taken, record, take};
use super::{RunError, look};
use crate::Caller;
use crate::signals::Topic;

impl Steering {
    /// Retries an ended run from a node, and gives the new run.
    pub async fn retry(
        &self,
        caller: &Caller,
        run: &str,
        request: RetryRun,
    ) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        let retried = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let taken = take(tx, &caller, &run).await?;
                    retry(tx, &caller, taken, request.node.as_deref()).await
                })
            })
            .await?;
        self.signals.send(Topic::Runs);
        Ok(retried)
    }
}

async fn retry(
    tx: &mut Tx,
    caller: &Caller,
    taken: Taken,
    node: Option<&str>,
) -> Result<RunDetail, RunError> {
    may_retry(tx, &taken).await?;
    let old = taken.run.recorded.run;
    let after = begins_after(tx, &taken, node).await?;
    let seed = match after {
        0 => None,
        after => Some(seed(tx, old.id, after).await?),
    };
    if let Some(seed) = &seed {
        refuse_lost_job(tx, seed).await?;
    }
    let begins = match &seed {
        Some(seed) => next_node(&seed.node, &seed.edge).unwrap_or_default(),
        None => cynode_domain::run::LOAD,
    };
    let (id, trace, status) = (RunId::generate(), TraceId::generate(), RunStatus::Pending);
    let branch = Branch {
        run: Run { id, task: old.task, trace, status },
        parent: (old.id, after),
        graph_version: taken.run.graph_version,
        from: seed,
    };
    tx.task_reopen(old.task).await?;
    tx.run_branch(&branch).await?;
    let detail = json!({ "run_id": id, "node": begins, "after_row": after });
    record(tx, caller, &taken, (RunVerb::Retry, "run.retried", detail)).await?;
    let made = tx.run_standing(id).await?;
    look::detail(tx, made.ok_or_else(|| RunError::NotFound(id.to_string()))?).await
}

/// Refuses what is under way, done, or retried already.
async fn may_retry(tx: &mut Tx, taken: &Taken) -> Result<(), RunError> {
    let refused = |text: String| Err(RunError::Refused(text));
    let old = taken.run.recorded.run;
    if let Some(newest) = tx.run_of_task(old.task).await?
        && newest.id != old.id
    {
        return refused(format!("the run was retried already: the newest is {}", newest.id));
    }
    if !old.status.is_terminal() {
        return refused(format!(
            "the run is {}: only one that has ended is retried",
            taken.run.state
        ));
    }
    match taken.task.status {
        TaskStatus::Failed | TaskStatus::Canceled => {}
        status @ (TaskStatus::Pending
        | TaskStatus::Running
        | TaskStatus::Completed
        | TaskStatus::Superseded) => {
            let status = status.shown();
            return refused(format!("the task is {status}, and stays so: fork its run instead"));
        }
    }
    if let Some(open) = tx.job_list_open(old.task).await?.first() {
        let (id, status) = (open.asked.id, open.status);
        return refused(format!(
            "job {id} is still {status}: try again when its node has ended it"
        ));
    }
    Ok(())
}

/// The row whose state the new run begins with; 0 for the beginning.
async fn begins_after(tx: &mut Tx, taken: &Taken, node: Option<&str>) -> Result<i64, RunError> {
    let run = taken.run.recorded.run.id;
    let Some(last) = tx.history_last(run).await? else {
        return Ok(0);
    };
    let node = match node {
        Some(node) => node.to_owned(),
        None => match failed_node(tx, &last).await? {
            Some(node) => node,
            None => return Ok(last.sequence),
        },
    };
    match tx.history_find(run, &node, last.sequence).await? {
        Some(sequence) => Ok(sequence - 1),
        // It was to be next when the run was stopped.
        None if next_node(&last.node, &last.edge) == Some(node.as_str()) => Ok(last.sequence),
        None => {
            let node: String = node.chars().take(64).collect();
            Err(RunError::Invalid(vec![format!("the run has no row of node \"{node}\"")]))
        }
    }
}

/// The node that a run has to begin with again; nothing if it can go on where it stands. A step whose
/// result was not accepted, or never came, is dispatched again.
async fn failed_node(tx: &mut Tx, last: &Transition) -> Result<Option<String>, RunError> {
    let stopped = if last.node == MARK_FAILED {
        let before = last.sequence - 1;
        tx.history_range(last.run, before, before).await?.pop()
    } else {
        None
    };
    let node = match &stopped {
        Some(row) if row.edge == FAILED && row.node != COLLECT => Some(row.node.clone()),
        Some(row) if row.node == VERIFY || row.node == COLLECT => Some(DISPATCH.to_owned()),
        None if next_node(&last.node, &last.edge) == Some(COLLECT) => Some(DISPATCH.to_owned()),
        Some(_) | None => None,
    };
    Ok(node)
}

/// The state after a row of a run, and where it stands.
pub(super) async fn seed(tx: &mut Tx, run: RunId, sequence: i64) -> Result<Seed, RunError> {
    let newest = tx.history_last(run).await?.map_or(0, |row| row.sequence);
    let missing = || RunError::NoRow { run, sequence, newest };
    let row = tx.history_range(run, sequence, sequence).await?.pop().ok_or_else(missing)?;
    let state = tx.state_at(run, sequence).await?.ok_or_else(missing)?;
    if next_node(&row.node, &row.edge).is_none() {
        let refusal = format!("nothing follows row {sequence}: take an earlier one");
        return Err(RunError::Refused(refusal));
    }
    Ok(Seed { node: row.node, edge: row.edge, state })
}

/// A run that waits for a job which was canceled would wait in vain.
async fn refuse_lost_job(tx: &mut Tx, seed: &Seed) -> Result<(), RunError> {
    if next_node(&seed.node, &seed.edge) != Some(COLLECT) {
        return Ok(());
    }
    let job = seed.state["job"]["job_id"].as_str().and_then(|id| id.parse().ok());
    let job = match job {
        Some(id) => tx.job_get(id).await?,
        None => None,
    };
    match job {
        Some(job) if job.status != JobStatus::Canceled => Ok(()),
        _ => {
            let refusal =
                format!("the job that it would wait for was canceled: retry from {DISPATCH}");
            Err(RunError::Refused(refusal))
        }
    }
}

/// The state with another value in one of its fields.
pub(super) fn with(mut state: Value, field: &str, value: Value) -> Value {
    if let Some(fields) = state.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
    state
}
