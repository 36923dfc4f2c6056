//! Runs that outlive their runner's version, compact checkpoints, and claims of several tasks.

use std::sync::Arc;
use std::time::Duration;

use cynode_client::Client;
use cynode_orchestrator::OrchestratorServer;
use cynode_runtime::clock::SystemClock;
use cynode_runtime::secret_file;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::workflow::{
    ClaimRun, GrantView, GraphVersions, Outcome, ReleaseLease, ResumeRun, SaveCheckpoint, StartRun,
};
use cynode_workflow_state::changes::Changes;
use serde_json::json;

use crate::actors::{HarnessRunner, checkpoint};
use crate::harness::{OrchestratorHarness, refused, task_request};

const ONE: GraphVersions = GraphVersions { oldest: 1, newest: 1 };
const SEVEN: GraphVersions = GraphVersions { oldest: 2, newest: 7 };

async fn claim(runner: &HarnessRunner, versions: GraphVersions, max: u32) -> Vec<GrantView> {
    let body = ClaimRun {
        holder_id: runner.holder,
        lease_ms: None,
        wait_ms: 0,
        max: Some(max),
        graph_versions: Some(versions),
    };
    let view = runner.client.workflow_call(&body).await.unwrap();
    view.grant.into_iter().chain(view.more).collect()
}

pub(crate) async fn a_run_goes_on_only_with_a_runner_that_knows_its_graph(
    harness: OrchestratorHarness,
) {
    let (task, one, other) = (harness.task().await.id, harness.runner(), harness.runner());
    let lease = claim(&one, ONE, 1).await[0].lease;
    one.checkpoint(lease, 1).await.unwrap();
    one.client.workflow_call(&ReleaseLease::new(lease)).await.unwrap();

    assert!(claim(&other, SEVEN, 1).await.is_empty());
    let body = StartRun {
        task_id: task,
        holder_id: other.holder,
        lease_ms: None,
        graph_versions: Some(SEVEN),
    };
    let problem = refused(other.client.workflow_call(&body).await, 409);
    let expected = "the task may not start: its run needs a runner for graph version 1, \
                    and this one supports 2 to 7";
    assert_eq!(problem.detail, expected);

    let again = claim(&one, ONE, 1).await;
    assert_eq!(again[0].checkpoint.as_ref().unwrap().sequence, 1);
}

pub(crate) async fn a_runner_that_cannot_go_on_leaves_the_run_as_it_is_and_says_why(
    harness: OrchestratorHarness,
) {
    let (admin, task) = (harness.admin(), harness.task().await);
    let (one, other) = (harness.runner(), harness.runner());
    let lease = claim(&one, ONE, 1).await[0].lease;
    one.checkpoint(lease, 1).await.unwrap();
    let reason = "the checkpoint has graph version 7; this runner supports 1".to_owned();

    let release = ReleaseLease {
        reason: Some(reason.clone()),
        graph_version: Some(7),
        ..ReleaseLease::new(lease)
    };
    one.client.workflow_call(&release).await.unwrap();

    let view = admin.task_get(&task.task_name).await.unwrap();
    assert_eq!((view.status.as_str(), view.blocked_reason), ("running", Some(reason)));
    refused(one.checkpoint(lease, 2).await, 409);
    assert!(claim(&one, ONE, 1).await.is_empty());
    let resumed = one.client.workflow_call(&ResumeRun { task_id: task.id }).await.unwrap();
    assert_eq!(resumed.sequence, 1);
    // A runner that supports the version may start it at once.
    let body = StartRun {
        task_id: task.id,
        holder_id: other.holder,
        lease_ms: None,
        graph_versions: Some(SEVEN),
    };
    let granted = other.client.workflow_call(&body).await.unwrap();
    assert_eq!(granted.checkpoint.unwrap().sequence, 1);
    assert_eq!(admin.task_get(&task.task_name).await.unwrap().blocked_reason, None);
    other.finish(granted.lease, 2, Outcome::Completed).await.unwrap();
}

pub(crate) async fn one_claim_may_take_several_tasks(harness: OrchestratorHarness) {
    let runner = harness.runner();
    for _ in 0..5 {
        harness.task().await;
    }

    let granted = claim(&runner, ONE, 3).await;

    let mut tasks: Vec<_> = granted.iter().map(|grant| grant.lease.task_id).collect();
    tasks.dedup();
    assert_eq!(tasks.len(), 3);
    assert_eq!(claim(&runner, ONE, 64).await.len(), 2);
    let (holder_id, max) = (runner.holder, Some(65));
    let body = ClaimRun { holder_id, lease_ms: None, wait_ms: 0, max, graph_versions: None };
    refused(runner.client.workflow_call(&body).await, 400);
}

pub(crate) async fn who_goes_on_gets_the_whole_state_of_compact_checkpoints(
    harness: OrchestratorHarness,
) {
    let (task, one, other) = (harness.task().await.id, harness.runner(), harness.runner());
    let lease = one.start(task).await.unwrap().lease;
    one.checkpoint(lease, 1).await.unwrap();
    let changes = |value: serde_json::Value| -> Option<Changes> {
        Some(serde_json::from_value(value).unwrap())
    };
    let reported = [
        json!({ "set": { "job": null }, "merge": { "attempts": { "0": 1 } } }),
        json!({ "unset": ["job"], "merge": { "attempts": { "1": 2 } } }),
    ];
    for (sequence, reported) in (2..).zip(reported) {
        let body = SaveCheckpoint {
            state: None,
            changes: changes(reported),
            ..checkpoint(lease, sequence)
        };
        one.client.workflow_call(&body).await.unwrap();
        // The same again is known; another one under its number is not.
        one.client.workflow_call(&body).await.unwrap();
        let other = SaveCheckpoint { changes: changes(json!({})), ..body };
        refused(one.client.workflow_call(&other).await, 409);
    }
    let neither = SaveCheckpoint { state: None, ..checkpoint(lease, 4) };
    refused(one.client.workflow_call(&neither).await, 400);
    one.client.workflow_call(&ReleaseLease::new(lease)).await.unwrap();

    let granted = other.start(task).await.unwrap();

    let expected = json!({ "sequence": 1, "attempts": { "0": 1, "1": 2 } });
    assert_eq!(granted.checkpoint.unwrap().state, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_ends_on_one_orchestrator_wakes_a_claim_on_another() {
    let harness = OrchestratorHarness::postgres().await;
    let directory = tempfile::tempdir().unwrap();
    for file in ["runner.token", "node-join.token"] {
        std::fs::copy(harness.data_dir().join(file), directory.path().join(file)).unwrap();
    }
    let second =
        OrchestratorServer::start(&harness.options, directory.path(), Arc::new(SystemClock));
    let second = second.await.unwrap();
    let url = format!("http://{}", second.address());
    let (shutdown, tasks) = (Shutdown::new(), BackgroundTasks::new());
    let stop = shutdown.clone();
    tasks.spawn("second orchestrator", async move { second.serve(stop).await });
    let token = secret_file::read(directory.path().join("runner.token")).unwrap();
    let (one, far) = (harness.runner(), HarnessRunner::new(Client::new(&url, token).unwrap()));
    let first = harness.task().await.id;
    let body = task_request(json!({ "depends_on": [first] }));
    let second = harness.admin().task_create(&body).await.unwrap().id;
    let lease = one.claim(0).await.unwrap().lease;

    let (grant, finished) =
        tokio::join!(far.claim(30_000), one.finish(lease, 1, Outcome::Completed));

    finished.unwrap();
    assert_eq!(grant.unwrap().lease.task_id, second);
    shutdown.trigger();
    assert!(tasks.finish(Duration::from_secs(20)).await);
}
