//! What the newest checkpoint of a task says about a step of its plan.

use cynode_domain::ids::TaskId;
use cynode_domain::plan::{Plan, Step};
use cynode_store::{Tx, WorkflowStore};
use serde::Deserialize;

/// A step of the plan in the newest checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedStep {
    pub(crate) step: Step,
    /// Whether no step follows it.
    pub(crate) is_last: bool,
}

/// The part of a run's state that holds the plan.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PlanState {
    plan: Plan,
}

/// The step with this index; nothing if the task has no checkpoint, or no such step.
pub(crate) async fn planned_step(
    tx: &mut Tx,
    task: TaskId,
    step_index: u32,
) -> Result<Option<PlannedStep>, cynode_store::Error> {
    let Some(checkpoint) = tx.checkpoint_get(task).await? else { return Ok(None) };
    let PlanState { plan } = PlanState::deserialize(&checkpoint.state).map_err(|error| {
        let (column, reason) = ("state".to_owned(), error.to_string());
        cynode_store::Error::Unreadable { column, reason }
    })?;
    let index = usize::try_from(step_index).unwrap_or(usize::MAX);
    let is_last = index.saturating_add(1) >= plan.steps.len();
    Ok(plan.steps.into_iter().nth(index).map(|step| PlannedStep { step, is_last }))
}
