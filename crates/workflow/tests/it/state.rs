//! The state as it is stored: a change here is a change for every run in flight.

use cynode_domain::ids::TaskId;
use cynode_workflow::graph::task_graph;
use cynode_workflow::held::HeldTask;
use cynode_workflow::resume::{ResumeError, resume};
use cynode_workflow::state::RunState;
use serde_json::json;
use std::sync::Arc;

use crate::fake::{Attempt, Fake, drive_to_end};

#[tokio::test(start_paused = true)]
async fn the_stored_state_keeps_its_shape() {
    let fake = Fake::with_commands(&["make"]).attempt(0, 1, Attempt::bad());

    let state = drive_to_end(&fake).await;

    insta::assert_json_snapshot!(state, {
        ".task_id" => "[task]",
        ".job.job_id" => "[job]",
        ".last_result.job_id" => "[job]",
    });
}

#[test]
fn a_state_with_only_its_first_fields_is_still_read() {
    let task_id = TaskId::generate();

    let state: RunState =
        serde_json::from_value(json!({"graph_version": 1, "task_id": task_id})).unwrap();

    assert_eq!(state, RunState::new(task_id));
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_of_a_newer_graph_is_left_alone() {
    let fake = Fake::with_commands(&["make"]);
    drive_to_end(&fake).await;
    let mut grant = fake.grant();
    let checkpoint = grant.checkpoint.as_mut().unwrap();
    checkpoint.state["graph_version"] = json!(99);
    let graph = task_graph(Arc::new(HeldTask::new(Arc::clone(&fake) as _, grant.hold))).unwrap();

    let refused = resume(&graph, &grant);

    assert!(matches!(refused, Err(ResumeError::Newer { found: 99 })), "{refused:?}");
}
