//! Dispatches a job for the current step. The orchestrator chooses the worker node.

use std::sync::Arc;

use cynode_domain::plan::Step;
use cynode_wire::workflow::DispatchStep;
use cynode_workflow_state::{DispatchedStepJob, WorkflowState};

use crate::engine::{NodeContext, StateBinding, WorkflowNode, WorkflowNodeError};
use crate::run_handle::RunHandle;

/// Dispatches a job for the current step.
#[derive(Debug)]
pub struct DispatchStepNode(pub Arc<RunHandle>);

/// The attempt to dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDispatchInput {
    /// From 0.
    pub step_index: u32,
    /// From 1.
    pub attempt: u32,
    pub step: Step,
}

impl WorkflowNode for DispatchStepNode {
    const NAME: &'static str = "dispatch_step";
    type Input = StepDispatchInput;
    type Output = DispatchedStepJob;

    async fn run(
        &self,
        cx: &mut NodeContext<'_>,
        dispatch: StepDispatchInput,
    ) -> Result<DispatchedStepJob, WorkflowNodeError> {
        let StepDispatchInput { step_index, attempt, step } = dispatch;
        let key = format!("dispatch/{step_index}/{attempt}");
        let body = DispatchStep { lease: self.0.lease_token(), step_index, attempt, step };
        let job_id = cx.effect(&key, async { Ok(self.0.call(&body).await?.job_id) }).await?;
        Ok(DispatchedStepJob { job_id, step_index, attempt })
    }
}

impl StateBinding<WorkflowState> for DispatchStepNode {
    fn input(state: &WorkflowState) -> Result<StepDispatchInput, WorkflowNodeError> {
        let step_index = state.current_step_index;
        let step = state.current_step().cloned();
        let step = step.ok_or_else(|| {
            WorkflowNodeError::Denied(format!("the plan has no step {}", step_index + 1))
        })?;
        Ok(StepDispatchInput { step_index, attempt: state.attempts() + 1, step })
    }

    fn apply(state: &mut WorkflowState, job: DispatchedStepJob) {
        state.attempts_by_step.record(job.step_index, job.attempt);
        state.job = Some(job);
    }
}
