//! Canceling a task.

use cynode_domain::job::JobEnding;
use cynode_domain::status::JobStatus;
use cynode_wire::jobs::JobResult;
use cynode_wire::workflow::{Outcome, RenewLease};
use futures_util::future::join_all;
use serde_json::json;

use crate::actors::exited_result;
use crate::harness::{OrchestratorHarness, refused, task_request};

pub(crate) async fn canceling_fences_the_runner_and_stops_the_jobs(harness: OrchestratorHarness) {
    harness.must_end_idle();
    let (admin, runner, node) = (harness.admin(), harness.runner(), harness.node("anvil").await);
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    let running = runner.dispatch(lease, 0).await.unwrap();
    assert_eq!(node.take().await, running);
    let queued = runner.dispatch(lease, 1).await.unwrap();

    let canceled = admin.task_cancel(&task).await.unwrap();

    assert!(canceled.canceled && canceled.cascaded.is_empty());
    refused(runner.checkpoint(lease, 1).await, 409);
    refused(runner.client.workflow_call(&RenewLease::new(lease, None)).await, 409);
    assert_eq!(runner.claim(0).await, None);
    let news = node.poll(&[running]).await;
    assert_eq!((news.cancel, news.assignments), (vec![running], vec![]));
    let result = JobResult { ending: JobEnding::Canceled, ..exited_result(0) };
    node.client.node_finish(running, &result).await.unwrap();
    let view = admin.task_result(&task).await.unwrap();
    assert_eq!(
        (view.status.as_str(), view.summary.as_deref()),
        ("canceled", Some("canceled by admin"))
    );
    let status = |id| view.jobs.iter().find(|job| job.id == id).unwrap().status;
    assert_eq!((status(running), status(queued)), (JobStatus::Canceled, JobStatus::Canceled));
}

pub(crate) async fn canceling_cascades_to_everything_that_waits(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let first = harness.task().await;
    let second =
        admin.task_create(&task_request(json!({ "depends_on": [first.id] }))).await.unwrap();
    let both = task_request(json!({ "depends_on": [first.id, second.id] }));
    let third = admin.task_create(&both).await.unwrap();
    let bystander = harness.task().await;

    let canceled = admin.task_cancel(&first.task_name).await.unwrap();

    let mut cascaded = canceled.cascaded;
    cascaded.sort_unstable();
    assert_eq!(cascaded, [second.id, third.id]);
    let second = admin.task_get(&second.task_name).await.unwrap();
    let reason = format!("canceled because it depends on {}", first.task_name);
    assert_eq!((second.status.as_str(), second.summary), ("canceled", Some(reason)));
    assert_eq!(harness.runner().claim(0).await.unwrap().lease.task_id, bystander.id);
}

pub(crate) async fn canceling_twice_changes_nothing(harness: OrchestratorHarness) {
    let (admin, task) = (harness.admin(), harness.task().await.task_name);
    admin.task_cancel(&task).await.unwrap();
    let before = admin.task_get(&task).await.unwrap();

    assert!(admin.task_cancel(&task).await.unwrap().canceled);

    assert_eq!(admin.task_get(&task).await.unwrap(), before);
}

pub(crate) async fn a_completed_task_cannot_be_canceled(harness: OrchestratorHarness) {
    let (task, runner) = (harness.task().await.task_name, harness.runner());
    let lease = runner.claim(0).await.unwrap().lease;
    runner.finish(lease, 1, Outcome::Completed).await.unwrap();

    let problem = refused(harness.admin().task_cancel(&task).await, 409);

    assert_eq!(problem.detail, "the task is completed already");
}

/// The answer that handed it out may have been lost: there is nothing to stop.
pub(crate) async fn a_job_that_was_canceled_before_it_arrived_is_not_handed_out(
    harness: OrchestratorHarness,
) {
    harness.must_end_idle();
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    let job = runner.dispatch(lease, 0).await.unwrap();
    assert_eq!(node.poll(&[]).await.assignments.len(), 1);

    harness.admin().task_cancel(&task).await.unwrap();

    assert_eq!(node.poll(&[]).await, cynode_wire::nodes::PollView::default());
    assert_eq!(node.poll(&[job]).await.forget, [job]);
}

pub(crate) async fn claims_and_cancellations_at_once_leave_no_task_half_canceled(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let mut tasks = vec![];
    for _ in 0..12 {
        tasks.push(harness.task().await.id);
    }
    let names: Vec<_> = tasks.iter().map(ToString::to_string).collect();

    let (claims, cancellations, starts) = tokio::join!(
        join_all((0..12).map(|_| runner.claim(0))),
        join_all(names.iter().map(|name| admin.task_cancel(name))),
        join_all(tasks.iter().map(|task| runner.start(*task))),
    );

    for canceled in cancellations {
        assert!(canceled.unwrap().canceled);
    }
    let grants = claims.into_iter().flatten().chain(starts.into_iter().filter_map(Result::ok));
    for grant in grants {
        refused(runner.checkpoint(grant.lease, 1).await, 409);
    }
    assert_eq!(runner.claim(0).await, None);
}
