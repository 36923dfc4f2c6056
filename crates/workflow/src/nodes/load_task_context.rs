//! Loads the task: its request, acceptance criteria, limits and retry policy.

use std::sync::Arc;

use cynode_wire::workflow::{LoadTask, TaskContextView};
use cynode_workflow_state::{RunTaskRequest, TaskStepBounds, WorkflowState};

use crate::engine::{NodeContext, StateBinding, WorkflowNode, WorkflowNodeError};
use crate::run_handle::RunHandle;

/// Loads the task.
#[derive(Debug)]
pub struct LoadTaskContextNode(pub Arc<RunHandle>);

impl WorkflowNode for LoadTaskContextNode {
    const NAME: &'static str = "load_task_context";
    type Input = ();
    type Output = TaskContextView;

    async fn run(
        &self,
        _cx: &mut NodeContext<'_>,
        (): (),
    ) -> Result<TaskContextView, WorkflowNodeError> {
        Ok(self.0.call(&LoadTask { task_id: self.0.lease_token().task_id }).await?)
    }
}

impl StateBinding<WorkflowState> for LoadTaskContextNode {
    fn input(_state: &WorkflowState) -> Result<(), WorkflowNodeError> {
        Ok(())
    }

    fn apply(state: &mut WorkflowState, task: TaskContextView) {
        state.acceptance_criteria = task.acceptance_criteria.into();
        let request = RunTaskRequest {
            mode: task.input_mode,
            prompt: task.prompt,
            commands: task.commands,
            expected_outputs: task.expected_outputs,
            step_criteria: task.step_criteria,
            approve_plan: task.approve_plan,
        };
        state.request = Some(request.into());
        state.bounds = TaskStepBounds {
            limits: task.limits,
            retry_interrupted: task.retry_interrupted,
            max_attempts: task.max_attempts,
        };
        state.preferences_effective = task.preferences.into();
        state.policy = Some(task.policy.into());
    }
}
