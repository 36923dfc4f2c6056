//! Run states for display, and the edges between the nodes of the workflow graph.
//!
//! [`next_node`] resolves an edge for readers that do not drive the run. Node and edge names are stored
//! in databases, so this table is append-only; a test of the `workflow` crate compares it with the
//! graph.

words! {
    /// The state of a run for display: its status, and what it waits for.
    RunState("run state") {
        /// Waits for a free runner.
        Queued = "queued",
        /// Waits for tasks that its task depends on.
        Waiting = "waiting",
        /// A runner holds it.
        Running = "running",
        /// Pause requested; the runner is still in a workflow node.
        Pausing = "pausing",
        /// Not claimable until it is resumed.
        Paused = "paused",
        /// Waits for a person's answer.
        NeedsAnswer = "needs_answer",
        /// Every step was accepted.
        Completed = "completed",
        /// Failed permanently.
        Failed = "failed",
        /// Canceled.
        Canceled = "canceled",
    }

    /// An action of a person on a run.
    RunVerb("run verb") {
        /// Requested a pause.
        Pause = "pause",
        /// Resumed it.
        Resume = "resume",
        /// Answered its question.
        Answer = "answer",
        /// Continued from one of its rows in a new run of the same task.
        Retry = "retry",
        /// Continued from one of its rows in a new task.
        Fork = "fork",
    }
}

/// The node that creates the job of a step.
pub const DISPATCH_NODE: &str = "dispatch_step";
/// The node that waits for that job.
pub const COLLECT_NODE: &str = "collect_result";
/// The node that verifies the result.
pub const VERIFY_NODE: &str = "verify_step_result";
/// The node that plans the steps.
pub const PLAN_NODE: &str = "plan_steps";
/// The node that loads the task.
pub const LOAD_NODE: &str = "load_task_context";
/// The node that completes a run whose steps were all accepted.
pub const FINALIZE_NODE: &str = "finalize_summary";
/// The node that fails a run.
pub const MARK_FAILED_NODE: &str = "mark_failed";
/// The edge out of a node that failed permanently.
pub const FAILED_EDGE: &str = "failed";

/// Every edge of the graph: source node, edge, target node.
pub const EDGES: &[(&str, &str, &str)] = &[
    (LOAD_NODE, "loaded", PLAN_NODE),
    (PLAN_NODE, "first_step", DISPATCH_NODE),
    (PLAN_NODE, "no_steps", FINALIZE_NODE),
    (DISPATCH_NODE, "dispatched", COLLECT_NODE),
    (COLLECT_NODE, "collected", VERIFY_NODE),
    (VERIFY_NODE, "next_step", DISPATCH_NODE),
    (VERIFY_NODE, "all_verified", FINALIZE_NODE),
    (VERIFY_NODE, "retry_step", DISPATCH_NODE),
    (VERIFY_NODE, "no_retry_left", MARK_FAILED_NODE),
    (LOAD_NODE, FAILED_EDGE, MARK_FAILED_NODE),
    (PLAN_NODE, FAILED_EDGE, MARK_FAILED_NODE),
    (DISPATCH_NODE, FAILED_EDGE, MARK_FAILED_NODE),
    (COLLECT_NODE, FAILED_EDGE, MARK_FAILED_NODE),
    (VERIFY_NODE, FAILED_EDGE, MARK_FAILED_NODE),
    (FINALIZE_NODE, FAILED_EDGE, MARK_FAILED_NODE),
];

/// The target of `edge` out of `node`; `None` at the end of a run, or for names of a newer graph.
pub fn next_node(node: &str, edge: &str) -> Option<&'static str> {
    EDGES.iter().find(|(from, by, _)| *from == node && *by == edge).map(|(_, _, to)| *to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_leads_to_its_node_and_the_end_to_none() {
        assert_eq!(next_node("plan_steps", "first_step"), Some("dispatch_step"));
        assert_eq!(next_node("finalize_summary", "finished"), None);
        assert_eq!(next_node("a_newer_node", "on"), None);
    }
}
