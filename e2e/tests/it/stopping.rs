//! Canceling tasks: their processes, and the tasks that depend on them.

use crate::processes::{eventually, find_by_arguments};
use crate::system::{PATIENCE, System};
use crate::work::{commands, create_task_once, wait_until_closed};

/// Processes of the host that sleep for this long.
fn find_sleepers(seconds: &str) -> Vec<i32> {
    find_by_arguments(|line| line.first() == Some(&"sleep") && line.get(1) == Some(&seconds))
}

/// A duration that no other test process uses.
fn unique_sleep_time(digits: u32) -> String {
    format!("{digits}.{}", std::process::id())
}

/// Waits until no sandbox of a job is left.
async fn wait_until_no_sandboxes(system: &System) {
    let are_gone = || system.find_shims().is_empty().then_some(());
    eventually("the end of the sandboxes", PATIENCE, are_gone).await;
}

#[tokio::test]
async fn a_canceled_task_leaves_no_process_on_the_host() {
    let system = System::new().await;
    let (polite, deaf) = (unique_sleep_time(9001), unique_sleep_time(9002));
    // One that ends on SIGTERM, and one that must be killed.
    let lines = [
        format!("sleep {polite}"),
        format!("(trap '' TERM; exec sleep {deaf}) & trap '' TERM; wait; wait"),
    ];
    let mut tasks = vec![];
    for (line, time) in lines.iter().zip([&polite, &deaf]) {
        tasks.push(create_task_once(&system.client, commands(&[line])).await);
        eventually("the command", PATIENCE, || find_sleepers(time).pop()).await;
    }

    for task in &tasks {
        system.cynork(&["task", "cancel", &task.to_string()]).expect_success();
    }
    let gone =
        || (find_sleepers(&polite).is_empty() && find_sleepers(&deaf).is_empty()).then_some(());
    eventually("the end of the commands", PATIENCE, gone).await;

    for task in tasks {
        assert_eq!(
            wait_until_closed(&system.client, task, PATIENCE).await.status.as_str(),
            "canceled"
        );
    }
    wait_until_no_sandboxes(&system).await;
    let after = system.cynork(&["task", "create", "--command", "echo fine", "--wait"]);
    assert_eq!(after.expect_success().stdout, "fine\n");
}

#[tokio::test]
async fn canceling_a_task_cancels_the_tasks_that_wait_for_it() {
    let system = System::new().await;
    let first = create_task_once(&system.client, commands(&["sleep 60"])).await;
    let mut second = commands(&["true"]);
    second.depends_on = vec![first.to_string()];
    let second = create_task_once(&system.client, second).await;
    let mut third = commands(&["true"]);
    third.depends_on = vec![second.to_string()];
    let third = create_task_once(&system.client, third).await;
    eventually("the first job", PATIENCE, || system.find_shims().pop()).await;

    let said = system
        .cynork(&["task", "cancel", &first.to_string(), "-o", "json"])
        .expect_success()
        .json();

    assert_eq!(said["cascaded"].as_array().unwrap().len(), 2, "{said}");
    for task in [first, second, third] {
        assert_eq!(
            wait_until_closed(&system.client, task, PATIENCE).await.status.as_str(),
            "canceled"
        );
    }
    wait_until_no_sandboxes(&system).await;
}

#[tokio::test]
async fn a_task_starts_when_what_it_waits_for_has_completed() {
    let system = System::new().await;
    let first = create_task_once(&system.client, commands(&["sleep 0.5"])).await;
    let mut second = commands(&["true"]);
    second.depends_on = vec![first.to_string()];
    let second = create_task_once(&system.client, second).await;

    let second = wait_until_closed(&system.client, second, PATIENCE).await;
    let first = wait_until_closed(&system.client, first, PATIENCE).await;

    assert_eq!((first.status.as_str(), second.status.as_str()), ("completed", "completed"));
    assert!(second.started_at >= first.ended_at, "{second:#?}");
}

#[tokio::test]
async fn a_task_that_waits_for_a_failed_one_does_not_start_and_can_be_canceled() {
    let system = System::new().await;
    let first = create_task_once(&system.client, commands(&["exit 1"])).await;
    let mut second = commands(&["true"]);
    second.depends_on = vec![first.to_string()];
    let second = create_task_once(&system.client, second).await;
    assert_eq!(wait_until_closed(&system.client, first, PATIENCE).await.status.as_str(), "failed");

    // A whole task has run since, so it would have started by now.
    let other = create_task_once(&system.client, commands(&["true"])).await;
    wait_until_closed(&system.client, other, PATIENCE).await;
    let waiting = system.client.task_get(&second.to_string()).await.unwrap();
    system.cynork(&["task", "cancel", &second.to_string()]).expect_success();

    assert_eq!((waiting.status.as_str(), waiting.started_at), ("queued", None));
    assert_eq!(
        wait_until_closed(&system.client, second, PATIENCE).await.status.as_str(),
        "canceled"
    );
}
