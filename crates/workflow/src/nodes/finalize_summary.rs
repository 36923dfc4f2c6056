//! Completes a run whose steps were all accepted, with a summary and the verification status.
//!
//! The transition out of this node carries the end of the run, so that the orchestrator ends task, run
//! and lease in one transaction.

use cynode_domain::verification::VerificationStatus;
use cynode_wire::workflow::{Finish, Outcome};
use cynode_workflow_state::WorkflowState;

use crate::engine::{NodeContext, StateBinding, WorkflowNode, WorkflowNodeError};
use crate::summary;

/// Completes a run whose steps were all accepted.
#[derive(Debug)]
pub struct FinalizeSummaryNode;

/// The outcome of a completed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCompletion {
    pub summary: String,
    pub verification: VerificationStatus,
}

impl WorkflowNode for FinalizeSummaryNode {
    const NAME: &'static str = "finalize_summary";
    type Input = RunCompletion;
    type Output = Finish;

    async fn run(
        &self,
        _cx: &mut NodeContext<'_>,
        completed: RunCompletion,
    ) -> Result<Finish, WorkflowNodeError> {
        let RunCompletion { summary, verification } = completed;
        Ok(Finish { outcome: Outcome::Completed, summary, verification: Some(verification) })
    }
}

impl StateBinding<WorkflowState> for FinalizeSummaryNode {
    fn input(state: &WorkflowState) -> Result<RunCompletion, WorkflowNodeError> {
        let verification = state.tally.status();
        Ok(RunCompletion { summary: summary::render_completed(state), verification })
    }

    fn apply(state: &mut WorkflowState, finish: Finish) {
        state.finish = Some(finish);
    }
}
