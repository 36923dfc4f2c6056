//! What starts a workflow. Every trigger comes through [`request`], and every start passes [`gate`].
//!
//! A start that is asked for makes a run that runners may claim; there is no queue and no second step.
//! A run whose task has to wait is made too, and is claimable as soon as nothing is left to wait for.
//! The list of triggers, with one picture, is `docs/reference/start-triggers.md`.

use cynode_domain::ids::{RunId, TraceId};
use cynode_domain::standstill::REPLANS_SINCE;
use cynode_domain::start::{self, Denied, Trigger};
use cynode_domain::status::RunStatus;
use cynode_store::{EventStore, NewEvent, Run, Task, TaskStore, Tx, WorkflowStore};
use serde_json::json;

use super::event;

/// Makes the run of a new task, in the transaction that makes the task, and tells what asked for it.
pub(super) async fn request(
    tx: &mut Tx,
    task: &Task,
    trigger: Trigger,
) -> Result<(), cynode_store::Error> {
    let run = Run {
        id: RunId::generate(),
        task: task.asked.id,
        trace: TraceId::generate(),
        status: RunStatus::Pending,
    };
    tx.run_insert(&run).await?;
    if !task.asked.options.step_criteria.is_empty() {
        // An older runner would forget the criteria of steps.
        tx.run_raise_version(run.id, REPLANS_SINCE).await?;
    }
    let data = json!({ "name": task.asked.name, "trigger": trigger });
    tx.event_append(&NewEvent { run: Some(run.id), ..event(task, "task.created", data) }).await
}

/// Whether the workflow of a task may start now.
pub(crate) async fn gate(
    tx: &mut Tx,
    task: &Task,
) -> Result<Result<(), Denied>, cynode_store::Error> {
    let mut depends_on = vec![];
    for id in tx.dependency_list(task.asked.id).await? {
        if let Some(on) = tx.task_get(id).await? {
            depends_on.push((on.asked.name, on.status));
        }
    }
    Ok(start::gate(task.status, depends_on))
}
