//! Steps of the plan in the newest checkpoint of a task.

use cynode_domain::ids::TaskId;
use cynode_domain::plan::Step;
use cynode_store::Tx;
use cynode_workflow_state::StoredPosition;

/// A step of the plan in the newest checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedStep {
    pub step: Step,
    pub is_last: bool,
}

/// Loads the step with this index; `None` if the task has no checkpoint or no such step.
pub async fn load_planned_step(
    tx: &mut Tx,
    task: TaskId,
    step_index: u32,
) -> Result<Option<PlannedStep>, cynode_store::Error> {
    let Some(checkpoint) = tx.checkpoint_get(task).await? else { return Ok(None) };
    let StoredPosition { plan, .. } = StoredPosition::read(&checkpoint.state).map_err(|error| {
        let (column, reason) = ("state".to_owned(), error.to_string());
        cynode_store::Error::Unreadable { column, reason }
    })?;
    let index = usize::try_from(step_index).unwrap_or(usize::MAX);
    let is_last = index.saturating_add(1) >= plan.steps.len();
    Ok(plan.steps.into_iter().nth(index).map(|step| PlannedStep { step, is_last }))
}
