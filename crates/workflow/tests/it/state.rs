//! The stored state: a change here affects every run in flight.

use std::collections::BTreeSet;
use std::sync::Arc;

use cynode_domain::ids::{JobId, TaskId};
use cynode_workflow::graph::build_task_graph;
use cynode_workflow::resume::resume_run;
use cynode_workflow::run_handle::RunHandle;
use cynode_workflow::workflow::TaskState;
use cynode_workflow_state::{
    ContinuationOutcome, ContinuationRecord, GRAPH_VERSION, StepRevision, WorkflowState,
};
use serde_json::json;

use crate::fake::{FakeAttempt, FakeOrchestrator, drive_to_end};

#[tokio::test(start_paused = true)]
async fn the_stored_state_keeps_its_shape() {
    let fake = FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, FakeAttempt::bad());

    let state = drive_to_end(&fake).await;

    insta::assert_json_snapshot!(state, {
        ".task_id" => "[task]",
        ".job.job_id" => "[job]",
        ".last_result.job_id" => "[job]",
        ".revision.job_id" => "[job]",
    });
}

#[test]
fn the_reference_names_exactly_the_fields_of_the_state() {
    let reference = include_str!("../../../../docs/reference/checkpoints.md");
    let (_, section) = reference.split_once("\n## The state\n").unwrap();
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let documented: BTreeSet<String> = section.lines().filter_map(name).collect();
    let (job_id, reason) = (JobId::generate(), "why".to_owned());
    // These fields are absent while empty.
    let mut state = WorkflowState::new(TaskId::generate());
    state.tally.by_rule = 1;
    state.revision = Some(StepRevision { job_id, action: None, reason: reason.clone() });
    state.continuation =
        Some(ContinuationRecord { job_id, number: 1, how: ContinuationOutcome::Retry, reason });

    let stored = serde_json::to_value(&state).unwrap();

    let stored: BTreeSet<String> = stored.as_object().unwrap().keys().cloned().collect();
    assert_eq!(documented, stored);
}

#[test]
fn a_state_with_only_its_first_fields_is_still_read() {
    let task_id = TaskId::generate();

    let state: WorkflowState =
        serde_json::from_value(json!({"graph_version": 1, "task_id": task_id})).unwrap();

    assert_eq!(state, WorkflowState { graph_version: 1, ..WorkflowState::new(task_id) });
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_of_a_graph_that_is_not_known_is_left_alone() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    drive_to_end(&fake).await;
    let mut grant = fake.grant();
    let graph =
        build_task_graph(Arc::new(RunHandle::new(Arc::clone(&fake) as _, grant.lease))).unwrap();

    for unknown in [0, GRAPH_VERSION + 1] {
        grant.checkpoint.as_mut().unwrap().state["graph_version"] = json!(unknown);

        let refused = resume_run(&graph, &grant).unwrap_err();

        assert_eq!(refused.required_graph_version(), Some(unknown));
        let expected = format!(
            "the checkpoint has graph version {unknown}; this runner supports {} to {}",
            WorkflowState::OLDEST,
            GRAPH_VERSION
        );
        assert_eq!(refused.to_string(), expected);
    }
}
