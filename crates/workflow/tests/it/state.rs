//! The state as it is stored: a change here is a change for every run in flight.

use cynode_domain::ids::TaskId;
use cynode_workflow::graph::{GRAPH_VERSION, task_graph};
use cynode_workflow::held::HeldTask;
use cynode_workflow::resume::resume;
use cynode_workflow::state::RunState;
use cynode_workflow::workflow::TaskState;
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
        ".revision.job_id" => "[job]",
    });
}

#[test]
fn a_state_with_only_its_first_fields_is_still_read() {
    let task_id = TaskId::generate();

    let state: RunState =
        serde_json::from_value(json!({"graph_version": 1, "task_id": task_id})).unwrap();

    assert_eq!(state, RunState { graph_version: 1, ..RunState::new(task_id) });
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_of_a_graph_that_is_not_known_is_left_alone() {
    let fake = Fake::with_commands(&["make"]);
    drive_to_end(&fake).await;
    let mut grant = fake.grant();
    let graph = task_graph(Arc::new(HeldTask::new(Arc::clone(&fake) as _, grant.hold))).unwrap();

    for unknown in [0, GRAPH_VERSION + 1] {
        grant.checkpoint.as_mut().unwrap().state["graph_version"] = json!(unknown);

        let refused = resume(&graph, &grant).unwrap_err();

        assert_eq!(refused.needs(), Some(unknown));
        let expected = format!(
            "the checkpoint is of graph version {unknown}, and this runner knows {} to {}",
            RunState::OLDEST,
            GRAPH_VERSION
        );
        assert_eq!(refused.to_string(), expected);
    }
}
