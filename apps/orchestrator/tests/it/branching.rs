//! Going on from an earlier row: retries in the same task, forks into another.

use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_domain::run::{RunState, RunVerb};
use cynode_wire::jobs::JobResult;
use cynode_wire::runs::{DiffQuery, ForkRun, ParentView, RetryRun, RunQuery};
use cynode_wire::tasks::TaskView;
use cynode_wire::workflow::Outcome;
use futures_util::future::join_all;
use serde_json::json;

use crate::actors::{HarnessRunner, exited_result};
use crate::harness::{OrchestratorHarness, create_commands_task, refused, task_request};
use crate::runs::{fail, planned, through_a_step};
use crate::start_triggers::created;
use crate::steering::{acts, state};

/// A task whose first step has failed permanently.
async fn failed(harness: &OrchestratorHarness, runner: &HarnessRunner) -> TaskView {
    let task =
        harness.admin().task_create(&create_commands_task(&["make", "make test"])).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(runner, lease, JobId::generate()).await;
    fail(runner, lease).await;
    task
}

pub(crate) async fn a_failed_run_is_retried_from_the_step_that_failed(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = failed(&harness, &runner).await;
    let waits = admin.task_create(&task_request(json!({ "depends_on": [task.id] }))).await;
    assert!(waits.is_err(), "nothing waits for a failed task");
    let old = task.run_id.unwrap();

    let retried = admin.run_retry(&task.task_name, &RetryRun::default()).await.unwrap();

    assert_eq!(retried.run.state, RunState::Queued);
    assert_eq!(retried.run.parent, Some(ParentView { run_id: old, sequence: 2 }));
    let view = admin.task_get(&task.task_name).await.unwrap();
    assert_eq!((view.status.as_str(), view.closed, view.summary), ("queued", false, None));
    assert_eq!(view.run_id, Some(retried.run.id));
    let grant = runner.claim(0).await.unwrap();
    let checkpoint = grant.checkpoint.unwrap();
    assert_eq!((checkpoint.sequence, checkpoint.last_node_id.as_str()), (1, "plan_steps"));
    assert_eq!(checkpoint.state["plan"], planned()["plan"]);
    assert_eq!(checkpoint.state["attempts_by_step"], json!(null));
    assert_eq!(grant.effects, []);
    // Its runner resumes after that row and ends the task like any other run.
    runner.checkpoint(grant.lease, 2).await.unwrap();
    runner.finish(grant.lease, 3, Outcome::Completed).await.unwrap();
    assert_eq!(admin.task_get(&task.task_name).await.unwrap().status.as_str(), "completed");
    let of_task = RunQuery { task: Some(task.task_name), ..RunQuery::default() };
    assert_eq!(admin.run_list(&of_task).await.unwrap().items.len(), 2);
    assert_eq!(acts(&admin, &old.to_string()).await, [(6, RunVerb::Retry)]);
    assert_eq!(state(&admin, &old.to_string()).await, RunState::Failed);
    let diff = DiffQuery { from: Some(2), to: Some(1), with: Some(retried.run.id.to_string()) };
    assert_eq!(admin.run_diff(&old.to_string(), &diff).await.unwrap().differences, []);
}

pub(crate) async fn a_run_is_retried_from_any_node_that_it_had(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let from = |node: &str| RetryRun { node: Some(node.to_owned()) };
    for (node, last) in [
        ("verify_step_result", Some("collect_result")),
        ("plan_steps", Some("load_task_context")),
        ("load_task_context", None),
    ] {
        let task = failed(&harness, &runner).await.task_name;
        let problem = refused(admin.run_retry(&task, &from("lunch")).await, 400);
        assert_eq!(problem.detail, "the run has no row of node \"lunch\"");

        admin.run_retry(&task, &from(node)).await.unwrap();

        let grant = runner.claim(0).await.unwrap();
        let found = grant.checkpoint.map(|checkpoint| checkpoint.last_node_id);
        assert_eq!(found.as_deref(), last, "{node}");
        runner.finish(grant.lease, last.map_or(1, |_| 2), Outcome::Failed).await.unwrap();
    }
    // Its job does not exist here, so it could not be awaited.
    let task = failed(&harness, &runner).await.task_name;
    let problem = refused(admin.run_retry(&task, &from("collect_result")).await, 409);
    assert!(problem.detail.ends_with("retry from dispatch_step"), "{}", problem.detail);
}

pub(crate) async fn only_an_ended_run_that_did_not_complete_is_retried_and_only_once(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let all = RetryRun::default();
    let task = harness.task().await.task_name;
    let problem = refused(admin.run_retry(&task, &all).await, 409);
    assert_eq!(problem.detail, "the run is queued: only an ended run can be retried");
    let lease = runner.claim(0).await.unwrap().lease;
    runner.finish(lease, 1, Outcome::Completed).await.unwrap();
    let problem = refused(admin.run_retry(&task, &all).await, 409);
    assert_eq!(problem.detail, "the task is completed and cannot be retried: fork its run instead");

    let task = failed(&harness, &runner).await;
    let old = task.run_id.unwrap().to_string();
    let retries = join_all((0..4).map(|_| admin.run_retry(&old, &all))).await;
    assert_eq!(retries.iter().filter(|retry| retry.is_ok()).count(), 1);
    let problem = refused(admin.run_retry(&old, &all).await, 409);
    assert!(problem.detail.starts_with("the run was retried already"), "{}", problem.detail);
}

pub(crate) async fn a_canceled_run_goes_on_when_its_jobs_have_ended(harness: OrchestratorHarness) {
    harness.must_end_idle();
    let (admin, runner, node) = (harness.admin(), harness.runner(), harness.node("anvil").await);
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.checkpoint(lease, 1).await.unwrap();
    let job = runner.dispatch(lease, 0).await.unwrap();
    assert_eq!(node.take().await, job);
    admin.task_cancel(&task).await.unwrap();

    let problem = refused(admin.run_retry(&task, &RetryRun::default()).await, 409);
    assert!(problem.detail.contains("is still running"), "{}", problem.detail);
    let result = JobResult { ending: JobEnding::Canceled, ..exited_result(0) };
    node.client.node_finish(job, &result).await.unwrap();
    let refusal = admin.run_retry(&task, &RetryRun::default()).await;

    // The row of this test names an edge that the graph does not have.
    let problem = refused(refusal, 409);
    assert_eq!(problem.detail, "no node follows row 1: choose an earlier row");
    let from = RetryRun { node: Some("plan_steps".to_owned()) };
    admin.run_retry(&task, &from).await.unwrap();
    let grant = runner.claim(0).await.unwrap();
    assert_eq!(grant.checkpoint, None);
    runner.finish(grant.lease, 1, Outcome::Completed).await.unwrap();
}

pub(crate) async fn a_run_is_forked_from_any_row_into_a_task_of_its_own(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = failed(&harness, &runner).await;
    let old = task.run_id.unwrap();
    let fork = |sequence| ForkRun { sequence, ..ForkRun::default() };
    // In rows 3 and 4 a step is under way: the new task dispatches it itself.
    for (row, begins) in [(1, 1), (2, 2), (3, 2), (4, 2), (5, 5)] {
        let forked = admin.run_fork(&task.task_name, &fork(row)).await.unwrap().run;

        assert_eq!(forked.parent, Some(ParentView { run_id: old, sequence: begins }));
        assert_eq!(forked.state, RunState::Queued);
        assert_eq!(forked.task_name, format!("{}-{}", task.task_name, row + 1));
        let grant = runner.claim(0).await.unwrap();
        assert_eq!(grant.run_id, forked.id);
        let checkpoint = grant.checkpoint.unwrap();
        assert_eq!(
            (checkpoint.sequence, &checkpoint.state["task_id"]),
            (1, &json!(forked.task_id))
        );
        let view = admin.task_get(&forked.task_name).await.unwrap();
        assert_eq!(view.commands, ["make", "make test"]);
        let created = created(&harness, forked.task_id).await;
        assert_eq!(created["trigger"], "fork");
        assert_eq!(created["forked_from"], json!({ "run_id": old, "row": begins }));
        runner.finish(grant.lease, 2, Outcome::Completed).await.unwrap();
    }
    let problem = refused(admin.run_fork(&task.task_name, &fork(6)).await, 409);
    assert_eq!(problem.detail, "no node follows row 6: choose an earlier row");
    refused(admin.run_fork(&task.task_name, &fork(7)).await, 404);
    refused(admin.run_fork(&task.task_name, &fork(0)).await, 404);
    assert_eq!(acts(&admin, &task.task_name).await.len(), 5);
    assert_eq!(admin.task_get(&task.task_name).await.unwrap().status.as_str(), "failed");
}

pub(crate) async fn a_fork_has_its_name_and_key_and_the_files_of_its_parent(
    harness: OrchestratorHarness,
) {
    let (admin, runner, bob) = (harness.admin(), harness.runner(), harness.user("bob").await);
    let body = task_request(json!({ "task_name": "build-7",
        "attachments": [{ "name": "notes.txt", "content_base64": "aGVsbG8=" }] }));
    let task = admin.task_create(&body).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    let key = Some("once".to_owned());
    let fork = ForkRun { sequence: 2, task_name: None, idempotency_key: key };

    let forks = join_all((0..4).map(|_| admin.run_fork(&task.task_name, &fork))).await;

    let ids: Vec<_> = forks.into_iter().map(|fork| fork.unwrap().run.task_id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let made = admin.task_get(&ids[0].to_string()).await.unwrap();
    assert_eq!(made.task_name, "build-8");
    let content = admin.artifact_content(&made.task_name, "notes.txt").await.unwrap();
    assert_eq!(&content[..], b"hello");
    let named = |name: &str| ForkRun {
        sequence: 2,
        task_name: Some(name.to_owned()),
        ..ForkRun::default()
    };
    let named_run = admin.run_fork(&task.task_name, &named("Other Way")).await.unwrap().run;
    assert_eq!(named_run.task_name, "other-way");
    refused(admin.run_fork(&task.task_name, &named("\0")).await, 400);
    refused(bob.run_fork(&task.task_name, &fork).await, 404);
    // A run under way is forked without being disturbed.
    fail(&runner, lease).await;
}
