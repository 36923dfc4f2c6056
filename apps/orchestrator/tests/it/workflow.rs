//! The workflow contract: who drives a task, and how it is handed on.

use cynode_domain::ids::TaskId;
use cynode_domain::verdict::VerdictStatus;
use cynode_wire::workflow::{
    ClaimRun, EffectView, Outcome, ReleaseLease, RenewLease, ResumeRun, StartStatus,
};
use futures_util::future::join_all;
use serde_json::json;

use crate::harness::{OrchestratorHarness, eventually, refused, task_request};

pub(crate) async fn a_start_is_started_then_already_running_and_names_its_holder_to_others(
    harness: OrchestratorHarness,
) {
    let (task, one, other) = (harness.task().await.id, harness.runner(), harness.runner());

    let first = one.start(task).await.unwrap();
    let again = one.start(task).await.unwrap();
    let problem = refused(other.start(task).await, 409);

    assert_eq!((first.status, again.status), (StartStatus::Started, StartStatus::AlreadyRunning));
    assert_eq!((first.lease, first.run_id), (again.lease, again.run_id));
    assert_eq!(problem.detail, format!("task is leased to {}", one.holder));
    let view = harness.admin().task_get(&task.to_string()).await.unwrap();
    assert_eq!((view.status.as_str(), view.run_id), ("running", Some(first.run_id)));
}

pub(crate) async fn a_start_of_an_unknown_task_is_not_found(harness: OrchestratorHarness) {
    refused(harness.runner().start(TaskId::generate()).await, 404);
}

pub(crate) async fn the_gate_says_why_a_task_may_not_start(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let first = harness.task().await;
    let second =
        admin.task_create(&task_request(json!({ "depends_on": [first.id] }))).await.unwrap();

    let problem = refused(runner.start(second.id).await, 409);
    let expected = format!("dependencies not satisfied: \"{}\" is queued", first.task_name);
    assert!(problem.detail.ends_with(&expected), "{}", problem.detail);

    let lease = runner.start(first.id).await.unwrap().lease;
    runner.finish(lease, 1, Outcome::Failed).await.unwrap();
    let problem = refused(runner.start(second.id).await, 409);
    assert!(problem.detail.ends_with("is failed"), "{}", problem.detail);
    let problem = refused(runner.start(first.id).await, 409);
    assert_eq!(problem.detail, "the task may not start: it is already failed");
}

pub(crate) async fn a_waiting_claim_wakes_when_a_task_is_created(harness: OrchestratorHarness) {
    let runner = harness.runner();
    assert_eq!(runner.claim(0).await, None);

    // The claim waits for longer than the test has patience.
    let (grant, task) = tokio::join!(runner.claim(30_000), harness.task());

    assert_eq!(grant.unwrap().lease.task_id, task.id);
}

pub(crate) async fn a_waiting_claim_wakes_when_a_dependency_completes(
    harness: OrchestratorHarness,
) {
    let (one, other) = (harness.runner(), harness.runner());
    let first = harness.task().await.id;
    let second = task_request(json!({ "depends_on": [first] }));
    let second = harness.admin().task_create(&second).await.unwrap().id;
    let lease = one.claim(0).await.unwrap().lease;
    assert_eq!((lease.task_id, other.claim(0).await), (first, None));

    let (grant, finished) =
        tokio::join!(other.claim(30_000), one.finish(lease, 1, Outcome::Completed));

    finished.unwrap();
    assert_eq!(grant.unwrap().lease.task_id, second);
}

pub(crate) async fn concurrent_claimers_never_get_the_same_task(harness: OrchestratorHarness) {
    for _ in 0..10 {
        harness.task().await;
    }
    let runners: Vec<_> = (0..15).map(|_| harness.runner()).collect();

    let grants = join_all(runners.iter().map(|runner| runner.claim(0))).await;

    let mut tasks: Vec<_> = grants.iter().flatten().map(|grant| grant.lease.task_id).collect();
    tasks.sort_unstable();
    tasks.dedup();
    assert_eq!((tasks.len(), grants.iter().flatten().count()), (10, 10));
}

pub(crate) async fn a_released_task_can_be_started_by_another_at_once(
    harness: OrchestratorHarness,
) {
    let (task, one, other) = (harness.task().await.id, harness.runner(), harness.runner());
    let first = one.start(task).await.unwrap();

    one.client.workflow_call(&ReleaseLease::new(first.lease)).await.unwrap();
    let second = other.start(task).await.unwrap();

    assert!(second.lease.epoch > first.lease.epoch);
    assert_eq!((second.status, second.run_id), (StartStatus::Started, first.run_id));
    // Releasing a lease that is no longer held changes nothing.
    one.client.workflow_call(&ReleaseLease::new(first.lease)).await.unwrap();
    other.checkpoint(second.lease, 1).await.unwrap();
}

pub(crate) async fn an_expired_lease_is_taken_over_with_checkpoint_and_effects(
    harness: OrchestratorHarness,
) {
    let (task, one, other) = (harness.task().await.id, harness.runner(), harness.runner());
    let first = one.start(task).await.unwrap();
    one.effect(first.lease, "before", json!(1)).await.unwrap();
    one.checkpoint(first.lease, 1).await.unwrap();
    one.effect(first.lease, "after", json!({ "text": "\0" })).await.unwrap();
    one.effect(first.lease, "after", json!("the first answer stays")).await.unwrap();
    one.client.workflow_call(&RenewLease::new(first.lease, Some(1_000))).await.unwrap();

    let second = eventually("the lease is over", async || other.claim(0).await).await;

    assert!(second.lease.epoch > first.lease.epoch);
    let checkpoint = second.checkpoint.unwrap();
    assert_eq!((checkpoint.sequence, checkpoint.state), (1, json!({ "sequence": 1 })));
    let after = EffectView { key: "after".to_owned(), answer: json!({ "text": "\0" }) };
    assert_eq!(second.effects, [after]);
    refused(one.checkpoint(first.lease, 2).await, 409);
}

pub(crate) async fn a_dispatched_step_has_one_job_however_often_it_is_asked_for(
    harness: OrchestratorHarness,
) {
    let runner = harness.runner();
    harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;

    let made = join_all((0..5).map(|_| runner.dispatch(lease, 0))).await;
    let next = runner.dispatch(lease, 1).await.unwrap();

    let made: Vec<_> = made.into_iter().map(Result::unwrap).collect();
    assert!(made.iter().all(|job| *job == made[0] && *job != next));
    let result = harness.admin().task_result(&lease.task_id.to_string()).await.unwrap();
    assert_eq!(result.jobs.len(), 2);
}

pub(crate) async fn a_finished_task_is_closed_and_lets_its_dependents_start(
    harness: OrchestratorHarness,
) {
    harness.must_end_idle();
    let (admin, runner, node) = (harness.admin(), harness.runner(), harness.node("anvil").await);
    let task = harness.task().await;
    let next = admin.task_create(&task_request(json!({ "depends_on": [task.id] }))).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    node.end(job, 0).await.unwrap();
    assert_eq!(runner.verify(lease, job).await.unwrap().status, VerdictStatus::Pass);

    runner.finish(lease, 1, Outcome::Completed).await.unwrap();

    let closed = admin.task_get(&task.task_name).await.unwrap();
    assert_eq!((closed.status.as_str(), closed.closed), ("completed", true));
    assert_eq!(closed.summary.as_deref(), Some("All is done."));
    assert!(closed.ended_at >= closed.started_at && closed.ended_at.is_some());
    // The lease ended in the same moment.
    let problem = refused(runner.client.workflow_call(&RenewLease::new(lease, None)).await, 409);
    assert!(problem.detail.contains("no longer in force"));
    let lease = runner.claim(0).await.unwrap().lease;
    assert_eq!(lease.task_id, next.id);
    runner.finish(lease, 1, Outcome::Failed).await.unwrap();
    let history = admin.task_history(&task.task_name).await.unwrap();
    assert_eq!((history.len(), history[0].node.as_str()), (1, "plan_steps"));
}

pub(crate) async fn a_task_without_checkpoint_cannot_be_resumed(harness: OrchestratorHarness) {
    let (task, runner) = (harness.task().await.id, harness.runner());
    let body = ResumeRun { task_id: task };
    refused(runner.client.workflow_call(&body).await, 404);
    refused(runner.client.workflow_call(&ResumeRun { task_id: TaskId::generate() }).await, 404);

    let lease = runner.start(task).await.unwrap().lease;
    runner.checkpoint(lease, 1).await.unwrap();

    assert_eq!(runner.client.workflow_call(&body).await.unwrap().sequence, 1);
}

pub(crate) async fn a_result_is_judged_by_the_criteria_of_the_task(harness: OrchestratorHarness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let body = task_request(json!({ "acceptance_criteria": [
        { "kind": "exit_code", "equals": 3 },
        { "kind": "output_matches", "pattern": "^out$" },
        { "kind": "output_matches", "pattern": "^ou$" },
        { "kind": "file_exists", "path": "report.txt" },
    ] }));
    harness.admin().task_create(&body).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    refused(runner.verify(lease, job).await, 400);
    node.end(job, 3).await.unwrap();

    let verdict = runner.verify(lease, job).await.unwrap();

    // The command printed "out" and a line break.
    assert_eq!(verdict.first_failure(), Some("standard output does not match ^ou$"));
    assert_eq!(verdict.findings.len(), 4);
}

pub(crate) async fn lease_times_out_of_range_are_refused(harness: OrchestratorHarness) {
    let (task, runner) = (harness.task().await.id, harness.runner());
    for lease_ms in [0, 999, 3_600_001] {
        refused(runner.start_for(task, lease_ms).await, 400);
        let (holder_id, lease_ms) = (runner.holder, Some(lease_ms));
        let body = ClaimRun { holder_id, lease_ms, wait_ms: 0, max: None, graph_versions: None };
        refused(runner.client.workflow_call(&body).await, 400);
    }
}
