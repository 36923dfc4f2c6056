//! Where a run stands for people, and the ways between the nodes of a task's workflow.
//!
//! [`next_node`] says where an edge leads, for those who look at a run and do not drive it. Names of
//! nodes and edges are in every database, so that this table only grows; a test of the `workflow`
//! crate holds it against the graph.

words! {
    /// Where a run stands for people: its status, and what it waits for.
    RunState("run state") {
        /// A runner will take it as soon as one is free.
        Queued = "queued",
        /// Waits for tasks that its task depends on.
        Waiting = "waiting",
        /// A runner drives it.
        Running = "running",
        /// Asked to pause; its runner is still in a node.
        Pausing = "pausing",
        /// Nobody takes it until somebody resumes it.
        Paused = "paused",
        /// Waits for a person's answer.
        NeedsAnswer = "needs_answer",
        /// Every step was accepted.
        Completed = "completed",
        /// Failed for good.
        Failed = "failed",
        /// Stopped from outside.
        Canceled = "canceled",
    }

    /// What somebody did to a run.
    RunVerb("run verb") {
        /// Asked it to pause.
        Pause = "pause",
        /// Let it go on.
        Resume = "resume",
        /// Answered its question.
        Answer = "answer",
        /// Went on from one of its rows in a new run of the same task.
        Retry = "retry",
        /// Went on from one of its rows in a new task.
        Fork = "fork",
    }
}

/// The node that has a job made for a step.
pub const DISPATCH: &str = "dispatch_step";
/// The node that waits for that job.
pub const COLLECT: &str = "collect_result";
/// The node that has the result judged.
pub const VERIFY: &str = "verify_step_result";
/// The node that makes the plan.
pub const PLAN: &str = "plan_steps";
/// The node that reads the task.
pub const LOAD: &str = "load_task_context";
/// The node that ends a run whose every step was accepted.
pub const FINALIZE: &str = "finalize_summary";
/// The node that ends a run that failed for good.
pub const MARK_FAILED: &str = "mark_failed";
/// The edge out of a node that failed for good.
pub const FAILED: &str = "failed";

/// Every way of the graph: from where, by which edge, to where.
pub const WAYS: &[(&str, &str, &str)] = &[
    (LOAD, "loaded", PLAN),
    (PLAN, "first_step", DISPATCH),
    (PLAN, "no_steps", FINALIZE),
    (DISPATCH, "dispatched", COLLECT),
    (COLLECT, "collected", VERIFY),
    (VERIFY, "next_step", DISPATCH),
    (VERIFY, "all_verified", FINALIZE),
    (VERIFY, "retry_step", DISPATCH),
    (VERIFY, "no_retry_left", MARK_FAILED),
    (LOAD, FAILED, MARK_FAILED),
    (PLAN, FAILED, MARK_FAILED),
    (DISPATCH, FAILED, MARK_FAILED),
    (COLLECT, FAILED, MARK_FAILED),
    (VERIFY, FAILED, MARK_FAILED),
    (FINALIZE, FAILED, MARK_FAILED),
];

/// Where `edge` out of `node` leads; nothing at the end of a run, or for names of a newer graph.
pub fn next_node(node: &str, edge: &str) -> Option<&'static str> {
    WAYS.iter().find(|(from, by, _)| *from == node && *by == edge).map(|(_, _, to)| *to)
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
