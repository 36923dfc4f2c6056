//! Who goes on with a job or a task when its process is gone.

use std::fs;
use std::time::{Duration, Instant};

use cynode_domain::ids::TaskId;
use nix::sys::signal::Signal;

use crate::processes::{eventually, send};
use crate::system::{Database, PATIENCE, System};
use crate::work::{Interruption, assert_ran_once, closed, commands, countable, create, runs};

/// A task of one step that has begun, counted; it ends once it is let go.
async fn begun(system: &System) -> TaskId {
    let line = "echo ran >> step-1; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let task = create(&system.client, commands(&[line])).await;
    has_begun(system, task).await;
    task
}

/// Lets a task that has [`begun`] come to its end.
fn let_go(system: &System, task: TaskId) {
    let workspace = system.data_dir().join(format!("node/workspaces/{task}"));
    fs::write(workspace.join("go"), "").unwrap();
}

async fn has_begun(system: &System, task: TaskId) {
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (runs(&state, task, 1) > 0).then_some(())).await;
}

#[tokio::test]
async fn a_job_outlives_its_killed_node_and_is_delivered_once() {
    let system = System::new().await;
    let task = begun(&system).await;
    let (node, shims) = (system.role("node").await, system.shims());

    send(node, Signal::SIGKILL);

    eventually("another node", PATIENCE, || {
        system.roles("node").into_iter().find(|pid| *pid != node)
    })
    .await;
    assert_eq!((shims.len(), system.shims()), (1, shims), "the job's supervisor changed");
    let_go(&system, task);
    let view = closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let result = system.client.task_result(&task.to_string()).await.unwrap();
    let [job] = &result.jobs[..] else { panic!("{result:#?}") };
    assert_eq!(job.attempt, 1);
    assert_eq!(job.result.as_ref().unwrap().stdout, "done\n");
    assert_eq!(runs(&system.data_dir().join("node"), task, 1), 1);
}

#[tokio::test]
async fn a_stopped_runner_hands_its_tasks_over_at_once() {
    // A minute: nobody waits that long for the lease here, so it must have been given up.
    let lease = Duration::from_mins(1);
    let config = format!("[runner]\nlease_ms = {}\n", lease.as_millis());
    let system = System::with(Database::Embedded, &config).await;
    let mut tasks = vec![];
    for _ in 0..4 {
        tasks.push(create(&system.client, countable()).await);
    }
    has_begun(&system, tasks[0]).await;
    let stopped = Instant::now();

    send(system.role("runner").await, Signal::SIGTERM);

    for task in tasks {
        let view = closed(&system.client, task, PATIENCE).await;
        let state = system.data_dir().join("node");
        assert_ran_once(&system.client, &state, &view, Interruption::Wrong).await;
    }
    assert!(stopped.elapsed() < lease, "the tasks waited for the lease");
}

#[tokio::test]
async fn a_killed_runner_whose_end_was_seen_leaves_its_tasks_to_the_next_at_once() {
    // A minute: nobody waits that long for the lease here, so somebody must have ended it.
    let lease = Duration::from_mins(1);
    let config = format!("[runner]\nlease_ms = {}\n", lease.as_millis());
    let system = System::with(Database::Embedded, &config).await;
    let task = begun(&system).await;
    let killed = Instant::now();

    send(system.role("runner").await, Signal::SIGKILL);
    let_go(&system, task);

    let view = closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert!(killed.elapsed() < lease, "the task waited for the lease");
    assert_eq!(runs(&system.data_dir().join("node"), task, 1), 1);
}

#[tokio::test]
async fn a_stopped_node_reports_its_jobs_as_interrupted() {
    let system = System::new().await;
    let task = create(&system.client, commands(&["echo ran >> step-1; sleep 60"])).await;
    has_begun(&system, task).await;

    send(system.role("node").await, Signal::SIGTERM);

    let view = closed(&system.client, task, PATIENCE).await;
    let summary = view.summary.unwrap();
    assert_eq!(view.status.as_str(), "failed");
    assert!(summary.contains("interrupted: the node was stopped"), "{summary}");
    assert!(summary.contains("not run again"), "{summary}");
    assert_eq!(runs(&system.data_dir().join("node"), task, 1), 1);
}

#[tokio::test]
async fn an_interrupted_job_that_may_be_repeated_is_run_again() {
    let system = System::new().await;
    let line = "echo ran >> step-1; [ $(wc -l < step-1) -gt 1 ] || sleep 60";
    let mut body = commands(&[line]);
    // Attempts after a failure are another matter: it has one.
    body.retry_interrupted = true;
    let task = create(&system.client, body).await;
    has_begun(&system, task).await;

    send(system.role("node").await, Signal::SIGTERM);

    let view = closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(runs(&system.data_dir().join("node"), task, 1), 2);
}
