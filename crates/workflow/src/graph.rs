//! The workflow of a task: the seven nodes, and every way between them.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::run_policy::RunPolicy;

use crate::control::ControlPlane;
use crate::engine::{Backoff, Edge, Failure, Graph, GraphError, Node, Policy};
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
///
/// 2: a run that stood still goes on as the project manager or a person said; a runner of before would
/// fail it in spite of the answer.
/// 3: a person is asked what an analyst could not tell; a runner of before cannot read such a verdict.
/// 4: a person is asked about criteria that nobody judged; a runner of before would accept them.
/// 5: plans say who planned each step and what must be true of its result; a runner of before would forget
/// both.
pub const GRAPH_VERSION: u32 = 5;

/// The workflow of one task, acting through `plane`.
///
/// A node that fails for good leads to `mark_failed` with its reason.
pub fn task_graph(plane: Arc<dyn ControlPlane>) -> Result<Graph<RunState>, GraphError> {
    let (control, usual) = (Control::new(plane), RunPolicy::default());
    let usual = |node| policy_of(&usual, node, Policy::unbounded());
    Graph::new(LoadTaskContext::NAME, MarkFailed::NAME, remember_failure)
        .tuned_by(policy_in_force)
        .node(
            LoadTaskContext(control.clone()),
            usual(LoadTaskContext::NAME),
            vec![Edge::otherwise("loaded", PlanSteps::NAME)],
        )
        .node(
            PlanSteps(control.clone()),
            usual(PlanSteps::NAME),
            vec![
                Edge::when("first_step", DispatchStep::NAME, |state: &RunState| {
                    !state.plan.steps.is_empty()
                }),
                Edge::otherwise("no_steps", FinalizeSummary::NAME),
            ],
        )
        .node(
            DispatchStep(control.clone()),
            usual(DispatchStep::NAME),
            vec![Edge::otherwise("dispatched", CollectResult::NAME)],
        )
        // How long the job may take is bounded by its own limits; the policy says for how long nobody
        // may say anything about it.
        .node(
            CollectResult(control.clone()),
            usual(CollectResult::NAME),
            vec![Edge::otherwise("collected", VerifyStepResult::NAME)],
        )
        .node(VerifyStepResult(control), usual(VerifyStepResult::NAME), after_verification())
        .node(FinalizeSummary, usual(FinalizeSummary::NAME), vec![])
        .node(MarkFailed, usual(MarkFailed::NAME), vec![])
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
        Edge::when("retry_step", DispatchStep::NAME, |state: &RunState| {
            state.may_retry() || state.is_continued()
        }),
        Edge::otherwise("no_retry_left", MarkFailed::NAME),
    ]
}

fn remember_failure(state: &mut RunState, failure: Failure) {
    state.failure = Some(NodeFailure {
        node: failure.node.to_owned(),
        reason: failure.reason,
        class: Some(failure.class),
        attempts: Some(failure.attempts),
    });
}

/// What the state says about how a node is tried. Runs of before that have no say.
fn policy_in_force(state: &RunState, node: &'static str, usual: Policy) -> Policy {
    state.policy.as_ref().map_or(usual, |policy| policy_of(policy, node, usual))
}

fn policy_of(policy: &RunPolicy, node: &str, usual: Policy) -> Policy {
    let seconds = policy.timeout_of(node).map(|seconds| Duration::from_secs(seconds.into()));
    Policy {
        attempts: policy.attempts_at(node),
        backoff: Backoff {
            first: Duration::from_millis(policy.first_pause_ms.into()),
            cap: Duration::from_millis(policy.longest_pause_ms.into()),
        },
        timeout: seconds.or(usual.timeout),
    }
}
