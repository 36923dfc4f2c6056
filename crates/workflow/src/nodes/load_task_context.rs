//! Reads the task: what is asked for, what must be true of the result, what it may use, and how hard
//! the run is to try.

use cynode_wire::workflow::TaskContextView;

use super::Control;
use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::{Bounds, Request, RunState};

/// Reads the task.
#[derive(Debug)]
pub struct LoadTaskContext(pub Control);

impl Node for LoadTaskContext {
    const NAME: &'static str = "load_task_context";
    type Input = ();
    type Output = TaskContextView;

    async fn run(&self, _cx: &mut NodeCx<'_>, (): ()) -> Result<TaskContextView, NodeError> {
        self.0.task_context().await
    }
}

impl On<RunState> for LoadTaskContext {
    fn input(_state: &RunState) -> Result<(), NodeError> {
        Ok(())
    }

    fn apply(state: &mut RunState, task: TaskContextView) {
        state.acceptance_criteria = task.acceptance_criteria.into();
        let request = Request {
            mode: task.input_mode,
            prompt: task.prompt,
            commands: task.commands,
            expected_outputs: task.expected_outputs,
            step_criteria: task.step_criteria,
            approve_plan: task.approve_plan,
        };
        state.request = Some(request.into());
        state.bounds = Bounds {
            limits: task.limits,
            retry_interrupted: task.retry_interrupted,
            max_attempts: task.max_attempts,
        };
        state.preferences_effective = task.preferences.into();
        state.policy = Some(task.policy.into());
    }
}
