//! Turns the request into steps, by rule: the same request always gives the same plan.

use cynode_domain::plan::{self, Plan};

use crate::engine::{Node, NodeCx, NodeError, On};
use crate::state::{Request, RunState, Shared};

/// Turns the request into steps.
#[derive(Debug)]
pub struct PlanSteps;

impl Node for PlanSteps {
    const NAME: &'static str = "plan_steps";
    type Input = Shared<Request>;
    type Output = Plan;

    async fn run(&self, _cx: &mut NodeCx<'_>, request: Self::Input) -> Result<Plan, NodeError> {
        let request = plan::Request {
            mode: request.mode,
            prompt: &request.prompt,
            commands: &request.commands,
            expected_outputs: &request.expected_outputs,
        };
        plan::by_rule(&request).map_err(|error| NodeError::Denied(error.to_string()))
    }
}

impl On<RunState> for PlanSteps {
    fn input(state: &RunState) -> Result<Shared<Request>, NodeError> {
        let request = state.request.clone();
        request.ok_or_else(|| NodeError::Denied("the state holds no request to plan".to_owned()))
    }

    /// The plan says all that the request did: keeping both would double every checkpoint.
    fn apply(state: &mut RunState, plan: Plan) {
        state.plan = plan.into();
        state.request = None;
        state.current_step_index = 0;
    }
}
