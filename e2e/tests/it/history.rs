//! The history of a run is a path through the workflow's graph.

use cynode_wire::tasks::TransitionView;

/// The target of each edge; `None` is the end. A node that fails permanently leads to
/// `mark_failed`.
const EDGES: &[(&str, &str, Option<&str>)] = &[
    ("load_task_context", "loaded", Some("plan_steps")),
    ("plan_steps", "first_step", Some("dispatch_step")),
    ("plan_steps", "no_steps", Some("finalize_summary")),
    ("dispatch_step", "dispatched", Some("collect_result")),
    ("collect_result", "collected", Some("verify_step_result")),
    ("verify_step_result", "next_step", Some("dispatch_step")),
    ("verify_step_result", "retry_step", Some("dispatch_step")),
    ("verify_step_result", "all_verified", Some("finalize_summary")),
    ("verify_step_result", "no_retry_left", Some("mark_failed")),
];
const LAST_NODES: [&str; 2] = ["finalize_summary", "mark_failed"];

/// Panics unless the rows are one complete path, from the first node to one of the last.
pub(crate) fn assert_is_a_path(rows: &[TransitionView]) {
    let mut expected = Some("load_task_context");
    for (number, row) in (1..).zip(rows) {
        assert_eq!(row.sequence, number, "a transition is missing or double: {rows:#?}");
        assert_eq!(Some(row.node.as_str()), expected, "not where the last edge leads: {rows:#?}");
        expected = edge_target(row);
    }
    let last = rows.last().map(|row| row.node.as_str()).unwrap_or_default();
    assert!(LAST_NODES.contains(&last), "the path does not end: {rows:#?}");
}

fn edge_target(row: &TransitionView) -> Option<&'static str> {
    if LAST_NODES.contains(&row.node.as_str()) {
        return None;
    }
    if row.edge == "failed" {
        return Some("mark_failed");
    }
    let found = EDGES.iter().find(|(node, edge, _)| *node == row.node && *edge == row.edge);
    found.unwrap_or_else(|| panic!("the graph has no such edge: {row:?}")).2
}
