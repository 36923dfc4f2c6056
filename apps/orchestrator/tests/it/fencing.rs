//! Writing under a lease: in order, once, and never with an old one.

use cynode_wire::workflow::{Finish, Outcome, ReleaseLease, RenewLease, ResumeRun, SaveCheckpoint};
use futures_util::future::join_all;
use serde_json::json;

use crate::actors::checkpoint;
use crate::harness::{OrchestratorHarness, refused};

pub(crate) async fn a_checkpoint_out_of_order_is_refused(harness: OrchestratorHarness) {
    let runner = harness.runner();
    harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.checkpoint(lease, 1).await.unwrap();

    for sequence in [3, 0, -1, i64::MAX] {
        let problem = refused(runner.checkpoint(lease, sequence).await, 409);
        assert_eq!(problem.detail, format!("transition {sequence} does not follow transition 1"));
    }
    // The same number with another state is another transition.
    let other = SaveCheckpoint { state: Some(json!({ "other": 1 })), ..checkpoint(lease, 1) };
    refused(runner.client.workflow_call(&other).await, 409);
    runner.checkpoint(lease, 2).await.unwrap();
}

pub(crate) async fn a_state_that_is_no_object_is_rejected_and_nothing_is_stored(
    harness: OrchestratorHarness,
) {
    let runner = harness.runner();
    harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;

    for state in [json!("text"), json!(7), json!([{}]), json!(true)] {
        let body = SaveCheckpoint { state: Some(state), ..checkpoint(lease, 1) };
        let problem = refused(runner.client.workflow_call(&body).await, 400);
        assert_eq!(problem.detail, "the state of a checkpoint must be a JSON object");
    }

    // The first transition is still the next one.
    let body = SaveCheckpoint { state: Some(json!({})), ..checkpoint(lease, 1) };
    runner.client.workflow_call(&body).await.unwrap();
}

pub(crate) async fn the_same_checkpoint_again_changes_nothing(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    for _ in 0..2 {
        runner.checkpoint(lease, 1).await.unwrap();
    }

    // Also the last one, whose lease is over by then.
    for _ in 0..2 {
        runner.finish(lease, 2, Outcome::Completed).await.unwrap();
    }

    assert_eq!(admin.task_history(&task).await.unwrap().len(), 2);
    refused(runner.checkpoint(lease, 3).await, 409);
}

pub(crate) async fn concurrent_copies_of_one_checkpoint_are_stored_once(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;

    let answers = join_all((0..8).map(|_| runner.checkpoint(lease, 1))).await;

    for answer in answers {
        answer.unwrap();
    }
    assert_eq!(admin.task_history(&task).await.unwrap().len(), 1);
}

pub(crate) async fn a_stale_holder_is_refused_everywhere(harness: OrchestratorHarness) {
    let (task, old, new) = (harness.task().await.id, harness.runner(), harness.runner());
    let stale = old.start(task).await.unwrap().lease;
    let job = old.dispatch(stale, 0).await.unwrap();
    old.client.workflow_call(&ReleaseLease::new(stale)).await.unwrap();
    let lease = new.start(task).await.unwrap().lease;

    refused(old.checkpoint(stale, 1).await, 409);
    refused(old.finish(stale, 1, Outcome::Completed).await, 409);
    refused(old.effect(stale, "key", json!(1)).await, 409);
    refused(old.dispatch(stale, 1).await, 409);
    refused(old.verify(stale, job).await, 409);
    let renewal = RenewLease::new(stale, None);
    refused(old.client.workflow_call(&renewal).await, 409);
    // A stale release takes nothing from the new holder.
    old.client.workflow_call(&ReleaseLease::new(stale)).await.unwrap();
    new.client.workflow_call(&RenewLease::new(lease, None)).await.unwrap();
    refused(new.client.workflow_call(&ResumeRun { task_id: task }).await, 404);
    new.checkpoint(lease, 1).await.unwrap();
}

/// A run that cannot be closed would be driven again and again.
pub(crate) async fn a_summary_may_quote_anything_a_command_printed(harness: OrchestratorHarness) {
    let runner = harness.runner();
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    let summary = format!("printed \0\u{1b}[31m🚀 {}", "x".repeat(20_000));
    let finish = Some(Finish { outcome: Outcome::Failed, summary, verification: None });
    let body = SaveCheckpoint { finish, ..checkpoint(lease, 1) };

    runner.client.workflow_call(&body).await.unwrap();

    let kept = harness.admin().task_get(&task).await.unwrap().summary.unwrap();
    assert!(kept.starts_with("printed \u{1b}[31m🚀"));
    assert_eq!(kept.chars().count(), 10_000);
}
