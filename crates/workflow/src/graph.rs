//! The workflow of a task: the seven nodes, and every way between them.

use std::sync::Arc;
use std::time::Duration;

use crate::control::ControlPlane;
use crate::engine::{Edge, Failure, Graph, GraphError, Node, Policy};
use crate::nodes::Control;
use crate::nodes::collect_result::CollectResult;
use crate::nodes::dispatch_step::DispatchStep;
use crate::nodes::finalize_summary::FinalizeSummary;
use crate::nodes::load_task_context::LoadTaskContext;
use crate::nodes::mark_failed::MarkFailed;
use crate::nodes::plan_steps::PlanSteps;
use crate::nodes::verify_step_result::VerifyStepResult;
use crate::state::{NodeFailure, RunState};

/// Grows with every change of nodes, edges or state that an older runner cannot continue.
pub const GRAPH_VERSION: u32 = 1;

/// The workflow of one task, acting through `plane`.
///
/// A node that fails for good leads to `mark_failed` with its reason.
pub fn task_graph(plane: Arc<dyn ControlPlane>) -> Result<Graph<RunState>, GraphError> {
    let control = Control::new(plane);
    Graph::new(LoadTaskContext::NAME, MarkFailed::NAME, remember_failure)
        .node(
            LoadTaskContext(control.clone()),
            seconds(30),
            vec![Edge::otherwise("loaded", PlanSteps::NAME)],
        )
        .node(
            PlanSteps,
            seconds(120),
            vec![
                Edge::when("first_step", DispatchStep::NAME, |state: &RunState| {
                    !state.plan.steps.is_empty()
                }),
                Edge::otherwise("no_steps", FinalizeSummary::NAME),
            ],
        )
        .node(
            DispatchStep(control.clone()),
            seconds(30),
            vec![Edge::otherwise("dispatched", CollectResult::NAME)],
        )
        // The node bounds itself by the limits of the job that it waits for.
        .node(
            CollectResult(control.clone()),
            Policy::unbounded(),
            vec![Edge::otherwise("collected", VerifyStepResult::NAME)],
        )
        .node(VerifyStepResult(control), seconds(120), after_verification())
        .node(FinalizeSummary, seconds(60), vec![])
        .node(MarkFailed, seconds(30), vec![])
        .build()
}

/// The two decisions of the graph: is there another step, and may this one be repeated.
fn after_verification() -> Vec<Edge<RunState>> {
    vec![
        Edge::when("next_step", DispatchStep::NAME, |state: &RunState| {
            state.is_accepted() && !state.is_at_last_step()
        })
        .then(|state| state.current_step_index += 1),
        Edge::when("all_verified", FinalizeSummary::NAME, RunState::is_accepted),
        Edge::when("retry_step", DispatchStep::NAME, RunState::may_retry),
        Edge::otherwise("no_retry_left", MarkFailed::NAME),
    ]
}

fn remember_failure(state: &mut RunState, failure: Failure) {
    state.failure = Some(NodeFailure { node: failure.node.to_owned(), reason: failure.reason });
}

const fn seconds(timeout: u64) -> Policy {
    Policy::within(Duration::from_secs(timeout))
}
