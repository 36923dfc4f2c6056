//! Ends a run that failed for good, with the reason for people.
//!
//! The transition that this node leads to carries the end of the run, so that the orchestrator
//! ends task, run and lease in one transaction.

use cynode_wire::workflow::{Finish, Outcome};

use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::RunState;
use crate::summary;

/// Ends a run that failed for good.
#[derive(Debug)]
pub struct MarkFailed;

impl Node for MarkFailed {
    const NAME: &'static str = "mark_failed";
    type Input = String;
    type Output = Finish;

    async fn run(&self, _cx: &mut NodeCx<'_>, summary: String) -> Result<Finish, NodeError> {
        Ok(Finish { outcome: Outcome::Failed, summary, verification: None })
    }
}

impl On<RunState> for MarkFailed {
    fn input(state: &RunState) -> Result<String, NodeError> {
        Ok(summary::failed(state))
    }

    fn apply(state: &mut RunState, finish: Finish) {
        state.finish = Some(finish);
    }
}
