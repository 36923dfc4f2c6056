//! Takeover of a job or a task after its process ended.

use std::fs;
use std::time::{Duration, Instant};

use cynode_domain::ids::TaskId;
use nix::sys::signal::Signal;

use crate::processes::{eventually, send_signal};
use crate::system::{PATIENCE, System, SystemDatabase};
use crate::work::{
    InterruptionPolicy, assert_ran_once, commands, count_step_runs, countable_task,
    create_task_once, wait_until_closed,
};

/// A task of one counted step that has started; it ends once it is released.
async fn start_released_task(system: &System) -> TaskId {
    let line = "echo ran >> step-1; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let task = create_task_once(&system.client, commands(&[line])).await;
    wait_until_started(system, task).await;
    task
}

/// Releases a task that has started.
fn release_task(system: &System, task: TaskId) {
    let workspace = system.data_dir().join(format!("node/workspaces/{task}"));
    fs::write(workspace.join("go"), "").unwrap();
}

async fn wait_until_started(system: &System, task: TaskId) {
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (count_step_runs(&state, task, 1) > 0).then_some(()))
        .await;
}

#[tokio::test]
async fn a_job_outlives_its_killed_node_and_is_delivered_once() {
    let system = System::new().await;
    let task = start_released_task(&system).await;
    let (node, shims) = (system.wait_for_role("node").await, system.find_shims());

    send_signal(node, Signal::SIGKILL);

    eventually("another node", PATIENCE, || {
        system.find_roles("node").into_iter().find(|pid| *pid != node)
    })
    .await;
    assert_eq!((shims.len(), system.find_shims()), (1, shims), "the job's supervisor changed");
    release_task(&system, task);
    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let result = system.client.task_result(&task.to_string()).await.unwrap();
    let [job] = &result.jobs[..] else { panic!("{result:#?}") };
    assert_eq!(job.attempt, 1);
    assert_eq!(job.result.as_ref().unwrap().stdout, "done\n");
    assert_eq!(count_step_runs(&system.data_dir().join("node"), task, 1), 1);
}

#[tokio::test]
async fn a_stopped_runner_hands_its_tasks_over_at_once() {
    // A minute: the test does not wait that long for the lease, so the runner must have released
    // it.
    let lease = Duration::from_mins(1);
    let config = format!("[runner]\nlease_ms = {}\n", lease.as_millis());
    let system = System::with(SystemDatabase::Embedded, &config).await;
    let mut tasks = vec![];
    for _ in 0..4 {
        tasks.push(create_task_once(&system.client, countable_task()).await);
    }
    wait_until_started(&system, tasks[0]).await;
    let stopped = Instant::now();

    send_signal(system.wait_for_role("runner").await, Signal::SIGTERM);

    for task in tasks {
        let view = wait_until_closed(&system.client, task, PATIENCE).await;
        let state = system.data_dir().join("node");
        assert_ran_once(&system.client, &state, &view, InterruptionPolicy::Wrong).await;
    }
    assert!(stopped.elapsed() < lease, "the tasks waited for the lease");
}

#[tokio::test]
async fn a_killed_runner_whose_end_was_seen_leaves_its_tasks_to_the_next_at_once() {
    // A minute: the test does not wait that long for the lease, so the orchestrator must have ended
    // it.
    let lease = Duration::from_mins(1);
    let config = format!("[runner]\nlease_ms = {}\n", lease.as_millis());
    let system = System::with(SystemDatabase::Embedded, &config).await;
    let task = start_released_task(&system).await;
    let killed = Instant::now();

    send_signal(system.wait_for_role("runner").await, Signal::SIGKILL);
    release_task(&system, task);

    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert!(killed.elapsed() < lease, "the task waited for the lease");
    assert_eq!(count_step_runs(&system.data_dir().join("node"), task, 1), 1);
}

#[tokio::test]
async fn a_stopped_node_reports_its_jobs_as_interrupted() {
    let system = System::new().await;
    let task = create_task_once(&system.client, commands(&["echo ran >> step-1; sleep 60"])).await;
    wait_until_started(&system, task).await;

    send_signal(system.wait_for_role("node").await, Signal::SIGTERM);

    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    let summary = view.summary.unwrap();
    assert_eq!(view.status.as_str(), "failed");
    assert!(summary.contains("interrupted: the worker node was stopped"), "{summary}");
    assert!(summary.contains("not run again"), "{summary}");
    assert_eq!(count_step_runs(&system.data_dir().join("node"), task, 1), 1);
}

#[tokio::test]
async fn an_interrupted_job_that_may_be_repeated_is_run_again() {
    let system = System::new().await;
    let line = "echo ran >> step-1; [ $(wc -l < step-1) -gt 1 ] || sleep 60";
    let mut body = commands(&[line]);
    // Attempts after a failure do not matter here: it has one.
    body.retry_interrupted = true;
    let task = create_task_once(&system.client, body).await;
    wait_until_started(&system, task).await;

    send_signal(system.wait_for_role("node").await, Signal::SIGTERM);

    let view = wait_until_closed(&system.client, task, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(count_step_runs(&system.data_dir().join("node"), task, 1), 2);
}
