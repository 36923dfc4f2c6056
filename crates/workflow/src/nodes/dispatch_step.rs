//! Has a job made for the current step. Which worker node takes it is the orchestrator's choice.

use cynode_domain::plan::Step;

use super::Control;
use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::{Job, RunState};

/// Has a job made for the current step.
#[derive(Debug)]
pub struct DispatchStep(pub Control);

/// What is to be dispatched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// The step.
    pub step: Step,
}

impl Node for DispatchStep {
    const NAME: &'static str = "dispatch_step";
    type Input = Dispatch;
    type Output = Job;

    async fn run(&self, cx: &mut NodeCx<'_>, dispatch: Dispatch) -> Result<Job, NodeError> {
        let Dispatch { step_index, attempt, .. } = dispatch;
        let key = format!("dispatch/{step_index}/{attempt}");
        let job_id = cx.effect(&key, self.0.dispatch(&dispatch)).await?;
        Ok(Job { job_id, step_index, attempt })
    }
}

impl On<RunState> for DispatchStep {
    fn input(state: &RunState) -> Result<Dispatch, NodeError> {
        let step_index = state.current_step_index;
        let step = state.current_step().cloned();
        let step = step
            .ok_or_else(|| NodeError::Denied(format!("the plan has no step {}", step_index + 1)))?;
        Ok(Dispatch { step_index, attempt: state.attempts() + 1, step })
    }

    fn apply(state: &mut RunState, job: Job) {
        state.attempts_by_step.record(job.step_index, job.attempt);
        state.job = Some(job);
    }
}
