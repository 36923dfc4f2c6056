//! Ends a run whose every step was verified, with a summary for people.
//!
//! The transition that this node leads to carries the end of the run, so that the orchestrator
//! ends task, run and lease in one transaction.

use cynode_wire::workflow::{Finish, Outcome};

use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::RunState;
use crate::summary;

/// Ends a run whose every step was verified.
#[derive(Debug)]
pub struct FinalizeSummary;

impl Node for FinalizeSummary {
    const NAME: &'static str = "finalize_summary";
    type Input = String;
    type Output = Finish;

    async fn run(&self, _cx: &mut NodeCx<'_>, summary: String) -> Result<Finish, NodeError> {
        Ok(Finish { outcome: Outcome::Completed, summary })
    }
}

impl On<RunState> for FinalizeSummary {
    fn input(state: &RunState) -> Result<String, NodeError> {
        Ok(summary::completed(state))
    }

    fn apply(state: &mut RunState, finish: Finish) {
        state.finish = Some(finish);
    }
}
