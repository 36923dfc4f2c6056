//! Ends a failed run with a summary of the reason.
//!
//! The transition out of this node carries the end of the run, so that the orchestrator ends task, run
//! and lease in one transaction.

use cynode_wire::workflow::{Finish, Outcome};
use cynode_workflow_state::WorkflowState;

use crate::engine::{NodeContext, StateBinding, WorkflowNode, WorkflowNodeError};
use crate::summary;

/// Ends a failed run.
#[derive(Debug)]
pub struct MarkFailedNode;

impl WorkflowNode for MarkFailedNode {
    const NAME: &'static str = "mark_failed";
    type Input = String;
    type Output = Finish;

    async fn run(
        &self,
        _cx: &mut NodeContext<'_>,
        summary: String,
    ) -> Result<Finish, WorkflowNodeError> {
        Ok(Finish { outcome: Outcome::Failed, summary, verification: None })
    }
}

impl StateBinding<WorkflowState> for MarkFailedNode {
    fn input(state: &WorkflowState) -> Result<String, WorkflowNodeError> {
        Ok(summary::render_failed(state))
    }

    fn apply(state: &mut WorkflowState, finish: Finish) {
        state.finish = Some(finish);
    }
}
