//! Reports of worker nodes: output, files and results.

use std::collections::BTreeSet;

use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_domain::status::JobStatus;
use cynode_testkit::query;
use cynode_wire::jobs::{JobResult, JobView, Stream};
use cynode_wire::nodes::{Incarnation, PollView};
use cynode_wire::tasks::{Attachment, LogQuery};
use cynode_wire::workflow::PollJob;

use crate::actors::{HarnessNode, exited_result};
use crate::harness::{OrchestratorHarness, create_commands_task, eventually, refused};

/// A job that a node has taken, and the name of its task.
async fn taken(harness: &OrchestratorHarness) -> (HarnessNode, JobId, String) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    (node, job, task)
}

async fn only_job(harness: &OrchestratorHarness, task: &str) -> JobView {
    harness.admin().task_result(task).await.unwrap().jobs.remove(0)
}

pub(crate) async fn output_is_accepted_where_the_last_piece_ended(harness: OrchestratorHarness) {
    let (node, job, task) = taken(&harness).await;
    let append = async |offset: u64, data: &[u8]| {
        let stored = node.client.node_append_log(job, Stream::Stdout, offset, data).await;
        stored.unwrap().next_offset
    };

    assert_eq!(append(0, b"hello ").await, 6);
    assert_eq!(append(0, b"hello ").await, 6);
    assert_eq!(append(9, b"gap").await, 6);
    assert_eq!(append(6, b"world\n").await, 12);

    let logs = harness.admin().task_logs(&task, &LogQuery::default()).await.unwrap();
    assert_eq!((logs.stdout.as_str(), logs.stderr.as_str()), ("hello world\n", ""));
    let huge = vec![b'x'; 1024 * 1024];
    refused(node.client.node_append_log(job, Stream::Stdout, 12, &huge).await, 400);
    refused(node.client.node_append_log(job, Stream::Stdout, u64::MAX, b"x").await, 400);
    node.end(job, 0).await.unwrap();
    refused(node.client.node_append_log(job, Stream::Stdout, 12, b"late").await, 409);
    let query = LogQuery { stream: Some("stdout".to_owned()) };
    assert_eq!(harness.admin().task_logs(&task, &query).await.unwrap().stdout, "out\n");
}

pub(crate) async fn artifacts_are_stored_by_content_listed_and_downloaded(
    harness: OrchestratorHarness,
) {
    let (node, job, task) = taken(&harness).await;
    let admin = harness.admin();
    for (path, content) in [("a.txt", "same"), ("deep/b.txt", "same"), ("a.txt", "newer")] {
        let stored = node.client.node_put_artifact(job, path, content.into()).await.unwrap();
        assert_eq!((stored.path.as_str(), stored.job_id), (path, Some(job)));
    }

    let listed = admin.artifact_list(&task).await.unwrap();

    let seen: Vec<_> = listed.iter().map(|file| (file.path.as_str(), file.size_bytes)).collect();
    assert_eq!(seen, [("a.txt", 5), ("deep/b.txt", 4)]);
    assert_eq!(admin.artifact_content(&task, "a.txt").await.unwrap(), "newer".as_bytes());
    assert_eq!(admin.artifact_content(&task, "deep/b.txt").await.unwrap(), "same".as_bytes());
    let dir = harness.data_dir().join("blobs").join(&listed[1].sha256[..2]);
    assert!(dir.join(&listed[1].sha256[2..]).is_file());
    let incoming = std::fs::read_dir(harness.data_dir().join("blobs/incoming")).unwrap();
    assert_eq!(incoming.count(), 0);
    node.end(job, 0).await.unwrap();
    refused(node.client.node_put_artifact(job, "late.txt", "x".into()).await, 409);
}

pub(crate) async fn a_path_that_climbs_is_refused(harness: OrchestratorHarness) {
    let (node, job, task) = taken(&harness).await;

    for path in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a\\b", "a\0b", "a\nb"] {
        refused(node.client.node_put_artifact(job, path, "x".into()).await, 400);
    }
    let long = "x".repeat(1025);
    refused(node.client.node_put_artifact(job, &long, "x".into()).await, 400);

    assert_eq!(harness.admin().artifact_list(&task).await.unwrap(), []);
}

pub(crate) async fn the_same_result_again_changes_nothing_and_another_is_refused(
    harness: OrchestratorHarness,
) {
    let (node, job, task) = taken(&harness).await;
    for _ in 0..2 {
        node.end(job, 0).await.unwrap();
    }

    refused(node.end(job, 1).await, 409);

    let view = only_job(&harness, &task).await;
    assert_eq!((view.status, view.result), (JobStatus::Completed, Some(exited_result(0))));
}

pub(crate) async fn a_job_of_another_node_is_refused(harness: OrchestratorHarness) {
    let (node, job, _) = taken(&harness).await;
    let stranger = harness.node("stranger").await;

    refused(stranger.end(job, 0).await, 409);
    refused(stranger.client.node_append_log(job, Stream::Stdout, 0, b"x").await, 409);
    refused(stranger.client.node_put_artifact(job, "a", "x".into()).await, 409);
    refused(stranger.client.node_get_attachment(job, "a").await, 409);
    assert_eq!(stranger.poll(&[job]).await.forget, [job]);
    // Neither does naming the process that holds it help.
    let posing = stranger.client.clone().with_incarnation(node.process);
    refused(posing.node_finish(job, &exited_result(0)).await, 409);
    let start = Incarnation {
        id: node.process,
        succeeds: vec![stranger.process],
        predecessors_ended: true,
    };
    posing.node_start(&start).await.unwrap();
    refused(posing.node_finish(job, &exited_result(0)).await, 409);

    node.end(job, 0).await.unwrap();
    refused(stranger.end(job, 0).await, 409);
}

pub(crate) async fn a_job_whose_node_falls_silent_is_interrupted(harness: OrchestratorHarness) {
    let harness = harness.restart_with(|options| options.job_lease_ms = 1_000).await;
    let (node, job, task) = taken(&harness).await;
    let runner = harness.runner();

    let ended = eventually("the job is over", async || {
        let job =
            runner.client.workflow_call(&PollJob { job_id: job, wait_ms: 20_000 }).await.unwrap();
        job.status.is_terminal().then_some(job)
    })
    .await;

    assert_eq!(ended.status, JobStatus::LeaseExpired);
    assert!(matches!(ended.result.unwrap().ending, JobEnding::Interrupted { .. }));
    assert_eq!(node.poll(&[job]).await.forget, [job]);
    // The node stops a job that is no longer needed; earlier output is unaffected.
    let canceled = JobResult { ending: JobEnding::Canceled, ..exited_result(0) };
    node.client.node_finish(job, &canceled).await.unwrap();
    assert_eq!(only_job(&harness, &task).await.status, JobStatus::LeaseExpired);
}

pub(crate) async fn a_result_that_comes_late_makes_an_unknown_job_known(
    harness: OrchestratorHarness,
) {
    let harness = harness.restart_with(|options| options.job_lease_ms = 1_000).await;
    let (node, job, task) = taken(&harness).await;
    let stranger = harness.node("stranger").await;
    eventually("the lease runs out", async || {
        (only_job(&harness, &task).await.status == JobStatus::LeaseExpired).then_some(())
    })
    .await;
    refused(stranger.end(job, 0).await, 409);

    node.client.node_append_log(job, Stream::Stdout, 0, b"out\n").await.unwrap();
    node.client.node_put_artifact(job, "late.txt", "x".into()).await.unwrap();
    for _ in 0..2 {
        node.end(job, 3).await.unwrap();
    }

    let view = only_job(&harness, &task).await;
    assert_eq!((view.status, view.result), (JobStatus::Completed, Some(exited_result(3))));
    assert_eq!(harness.admin().artifact_list(&task).await.unwrap().len(), 1);
    refused(node.end(job, 0).await, 409);
}

pub(crate) async fn an_attachment_whose_content_is_missing_is_reported_as_missing(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let (name, content_base64) = ("data.csv".to_owned(), "MSwyCg==".to_owned());
    let mut body = create_commands_task(&["true"]);
    body.attachments = vec![Attachment { name, content_base64 }];
    let task = harness.admin().task_create(&body).await.unwrap();
    let file = harness.admin().artifact_list(&task.task_name).await.unwrap().remove(0);
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    let blobs = harness.data_dir().join("blobs");
    std::fs::remove_file(blobs.join(&file.sha256[..2]).join(&file.sha256[2..])).unwrap();

    let problem = refused(node.client.node_get_attachment(job, "data.csv").await, 404);

    assert!(problem.detail.contains("the content is missing"), "{problem:?}");
    node.end(job, 1).await.unwrap();
}

pub(crate) async fn a_job_stays_alive_while_its_node_waits_for_news(harness: OrchestratorHarness) {
    let harness = harness.restart_with(|options| options.job_lease_ms = 12_000).await;
    let (node, job, task) = taken(&harness).await;
    let url = &harness.database().url;
    let lease_end =
        async || query(url, "SELECT lease_expires_at FROM jobs").await.concat().concat();
    let mut seen = BTreeSet::from([lease_end().await]);

    // Without a signal, an embedded database is polled only every ten seconds: three times during this
    // long poll, which is not enough for the lease.
    let renewed = eventually("the lease is renewed four times", async || {
        seen.insert(lease_end().await);
        (seen.len() > 4).then_some(())
    });
    let holding = [job];
    tokio::select! {
        news = node.poll_for(&holding, 30_000) => panic!("the lease was hardly renewed: {news:?}"),
        () = renewed => {}
    }

    assert_eq!(node.poll(&[job]).await, PollView::default());
    assert_eq!(only_job(&harness, &task).await.status, JobStatus::Running);
    node.end(job, 0).await.unwrap();
}

/// The largest result there is: every byte of both streams needs six in JSON.
pub(crate) async fn output_may_hold_any_byte(harness: OrchestratorHarness) {
    let (node, job, task) = taken(&harness).await;
    let zeros = "\0".repeat(1024 * 1024);
    let result = JobResult { stdout: zeros.clone(), stderr: zeros, ..exited_result(0) };

    node.client.node_finish(job, &result).await.unwrap();

    let kept = eventually("the result is there", async || only_job(&harness, &task).await.result);
    assert_eq!(kept.await, result);
}
