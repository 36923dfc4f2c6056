//! Ends a run whose every step was accepted, with a summary for people and what was verified.
//!
//! The transition that this node leads to carries the end of the run, so that the orchestrator
//! ends task, run and lease in one transaction.

use cynode_domain::verification::VerificationStatus;
use cynode_wire::workflow::{Finish, Outcome};

use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::RunState;
use crate::summary;

/// Ends a run whose every step was accepted.
#[derive(Debug)]
pub struct FinalizeSummary;

/// What came of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completed {
    /// In words.
    pub summary: String,
    /// What was verified.
    pub verification: VerificationStatus,
}

impl Node for FinalizeSummary {
    const NAME: &'static str = "finalize_summary";
    type Input = Completed;
    type Output = Finish;

    async fn run(&self, _cx: &mut NodeCx<'_>, completed: Completed) -> Result<Finish, NodeError> {
        let Completed { summary, verification } = completed;
        Ok(Finish { outcome: Outcome::Completed, summary, verification: Some(verification) })
    }
}

impl On<RunState> for FinalizeSummary {
    fn input(state: &RunState) -> Result<Completed, NodeError> {
        let verification = state.tally.status();
        Ok(Completed { summary: summary::completed(state), verification })
    }

    fn apply(state: &mut RunState, finish: Finish) {
        state.finish = Some(finish);
    }
}
