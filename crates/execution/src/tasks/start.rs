//! Starting a workflow. Every trigger calls `insert_run`, or `insert_forked_run` if the run continues from a row of
//! another, and every start passes `check_start_gate`.
//!
//! A requested start inserts a run that runners may claim; there is no other queue. The run of a task with open
//! dependencies is inserted too, and becomes claimable when they have completed. The triggers are listed in
//! `docs/reference/start-triggers.md`.

use cynode_domain::ids::{RunId, TaskId, TraceId};
use cynode_domain::start::{self, Denied, Trigger};
use cynode_domain::status::RunStatus;
use cynode_domain::suspension::REPLANNING_GRAPH_VERSION;
use cynode_store::{NewEvent, Run, RunBranch, Task, Tx};
use serde_json::{Value, json};

use super::task_event;

/// Inserts the run of a new task, in the transaction that inserts the task, with an event that names the trigger. `parent`
/// is the request of a child task.
pub(super) async fn insert_run(
    tx: &mut Tx,
    task: &Task,
    trigger: Trigger,
    parent: Option<TaskId>,
) -> Result<RunId, cynode_store::Error> {
    let run = Run {
        id: RunId::generate(),
        task: task.spec.id,
        trace: trace_of_child(parent),
        status: RunStatus::Pending,
    };
    tx.run_insert(&run).await?;
    if !task.spec.options.step_criteria.is_empty() {
        // An older runner would drop the step criteria.
        tx.run_require_version(run.id, REPLANNING_GRAPH_VERSION).await?;
    }
    let data = json!({ "name": task.spec.name, "trigger": trigger });
    append_created_event(tx, task, run.id, data).await?;
    Ok(run.id)
}

/// A child task belongs to the trace of its request, which has the id of the request's task; any other task starts a trace.
fn trace_of_child(parent: Option<TaskId>) -> TraceId {
    parent.map_or_else(TraceId::generate, |request| TraceId::from(request.as_uuid()))
}

/// Inserts the run of a forked task, in the transaction that inserts the task, with an event that names the trigger and
/// the row from which the run continues.
pub async fn insert_forked_run(
    tx: &mut Tx,
    task: &Task,
    branch: &RunBranch,
) -> Result<(), cynode_store::Error> {
    tx.run_branch(branch).await?;
    let (run_id, row) = branch.parent;
    let data = json!({
        "name": task.spec.name, "trigger": Trigger::Fork,
        "forked_from": { "run_id": run_id, "row": row },
    });
    append_created_event(tx, task, branch.run.id, data).await
}

async fn append_created_event(
    tx: &mut Tx,
    task: &Task,
    run: RunId,
    data: Value,
) -> Result<(), cynode_store::Error> {
    tx.event_append(&NewEvent { run: Some(run), ..task_event(task, "task.created", data) }).await
}

/// Checks whether the workflow of a task may start now.
pub(crate) async fn check_start_gate(
    tx: &mut Tx,
    task: &Task,
) -> Result<Result<(), Denied>, cynode_store::Error> {
    let mut depends_on = vec![];
    for id in tx.dependency_list(task.spec.id).await? {
        if let Some(on) = tx.task_get(id).await? {
            depends_on.push((on.spec.name, on.status));
        }
    }
    Ok(start::check_start(task.status, depends_on))
}
