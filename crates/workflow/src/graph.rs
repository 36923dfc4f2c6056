//! The task workflow: the seven nodes and every edge between them.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_domain::run_policy::RunPolicy;
use cynode_workflow_state::{NodeFailure, WorkflowState};

use crate::engine::{
    Graph, GraphEdge, GraphError, NodePermanentFailure, NodeRetryPolicy, WorkflowNode,
};
use crate::nodes::collect_result::CollectResultNode;
use crate::nodes::dispatch_step::DispatchStepNode;
use crate::nodes::finalize_summary::FinalizeSummaryNode;
use crate::nodes::load_task_context::LoadTaskContextNode;
use crate::nodes::mark_failed::MarkFailedNode;
use crate::nodes::plan_steps::PlanStepsNode;
use crate::nodes::verify_step_result::VerifyStepResultNode;
use crate::run_handle::RunHandle;

/// Builds the graph of one run.
///
/// A node that fails permanently leads to `mark_failed` with its reason.
pub fn build_task_graph(run: Arc<RunHandle>) -> Result<Graph<WorkflowState>, GraphError> {
    let usual = RunPolicy::default();
    let usual = |node| node_policy(&usual, node, NodeRetryPolicy::without_timeout());
    Graph::new(LoadTaskContextNode::NAME, MarkFailedNode::NAME, record_failure)
        .with_policy_tuning(effective_policy)
        .add_node(
            LoadTaskContextNode(Arc::clone(&run)),
            usual(LoadTaskContextNode::NAME),
            vec![GraphEdge::otherwise("loaded", PlanStepsNode::NAME)],
        )
        .add_node(
            PlanStepsNode(Arc::clone(&run)),
            usual(PlanStepsNode::NAME),
            vec![
                GraphEdge::when("first_step", DispatchStepNode::NAME, |state: &WorkflowState| {
                    !state.plan.steps.is_empty()
                }),
                GraphEdge::otherwise("no_steps", FinalizeSummaryNode::NAME),
            ],
        )
        .add_node(
            DispatchStepNode(Arc::clone(&run)),
            usual(DispatchStepNode::NAME),
            vec![GraphEdge::otherwise("dispatched", CollectResultNode::NAME)],
        )
        // The job's duration is bounded by its own limits; the policy bounds the time without a status report.
        .add_node(
            CollectResultNode(Arc::clone(&run)),
            usual(CollectResultNode::NAME),
            vec![GraphEdge::otherwise("collected", VerifyStepResultNode::NAME)],
        )
        .add_node(
            VerifyStepResultNode(run),
            usual(VerifyStepResultNode::NAME),
            verification_edges(),
        )
        .add_node(FinalizeSummaryNode, usual(FinalizeSummaryNode::NAME), vec![])
        .add_node(MarkFailedNode, usual(MarkFailedNode::NAME), vec![])
        .build()
}

/// The two decisions of the graph: whether there is another step, and whether this one may be retried.
fn verification_edges() -> Vec<GraphEdge<WorkflowState>> {
    vec![
        GraphEdge::when("next_step", DispatchStepNode::NAME, |state: &WorkflowState| {
            state.is_accepted() && !state.is_at_last_step() && !cynode_fault::fault!("WFL-06")
        })
        .then(|state| state.current_step_index += 1),
        GraphEdge::when("all_verified", FinalizeSummaryNode::NAME, WorkflowState::is_accepted),
        GraphEdge::when("retry_step", DispatchStepNode::NAME, |state: &WorkflowState| {
            state.may_retry() || state.is_continued()
        }),
        GraphEdge::otherwise("no_retry_left", MarkFailedNode::NAME),
    ]
}

fn record_failure(state: &mut WorkflowState, failure: NodePermanentFailure) {
    state.failure = Some(NodeFailure {
        node: failure.node.to_owned(),
        reason: failure.reason,
        class: Some(failure.class),
        attempts: Some(failure.attempts),
    });
}

/// The effective policy of a node. Runs of older versions have no policy in their state.
fn effective_policy(
    state: &WorkflowState,
    node: &'static str,
    usual: NodeRetryPolicy,
) -> NodeRetryPolicy {
    state.policy.as_ref().map_or(usual, |policy| node_policy(policy, node, usual))
}

fn node_policy(policy: &RunPolicy, node: &str, usual: NodeRetryPolicy) -> NodeRetryPolicy {
    let seconds = policy.timeout_of(node).map(|seconds| Duration::from_secs(seconds.into()));
    NodeRetryPolicy {
        attempts: policy.attempts_at(node),
        backoff: Backoff {
            first: Duration::from_millis(policy.first_pause_ms.into()),
            cap: Duration::from_millis(policy.longest_pause_ms.into()),
        },
        timeout: seconds.or(usual.timeout),
    }
}
