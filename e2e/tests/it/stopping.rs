//! Stopping tasks: their processes, and the tasks that wait for them.

use crate::processes::{eventually, with_arguments};
use crate::system::{PATIENCE, System};
use crate::work::{closed, commands, create};

/// Processes of the host that sleep for that long.
fn sleepers(seconds: &str) -> Vec<i32> {
    with_arguments(|line| line.first() == Some(&"sleep") && line.get(1) == Some(&seconds))
}

/// A time to sleep that no other test process uses.
fn own_time(digits: u32) -> String {
    format!("{digits}.{}", std::process::id())
}

/// Waits until no sandbox of a job is left.
async fn sandboxes_end(system: &System) {
    let are_gone = || system.shims().is_empty().then_some(());
    eventually("the end of the sandboxes", PATIENCE, are_gone).await;
}

#[tokio::test]
async fn a_canceled_task_leaves_no_process_on_the_host() {
    let system = System::new().await;
    let (polite, deaf) = (own_time(9001), own_time(9002));
    // One that ends when asked to, and one that has to be killed.
    let lines = [
        format!("sleep {polite}"),
        format!("(trap '' TERM; exec sleep {deaf}) & trap '' TERM; wait; wait"),
    ];
    let mut tasks = vec![];
    for (line, time) in lines.iter().zip([&polite, &deaf]) {
        tasks.push(create(&system.client, commands(&[line])).await);
        eventually("the command", PATIENCE, || sleepers(time).pop()).await;
    }

    for task in &tasks {
        system.cynork(&["task", "cancel", &task.to_string()]).fine();
    }
    let gone = || (sleepers(&polite).is_empty() && sleepers(&deaf).is_empty()).then_some(());
    eventually("the end of the commands", PATIENCE, gone).await;

    for task in tasks {
        assert_eq!(closed(&system.client, task, PATIENCE).await.status.as_str(), "canceled");
    }
    sandboxes_end(&system).await;
    let after = system.cynork(&["task", "create", "--command", "echo fine", "--wait"]);
    assert_eq!(after.fine().stdout, "fine\n");
}

#[tokio::test]
async fn canceling_a_task_cancels_the_tasks_that_wait_for_it() {
    let system = System::new().await;
    let first = create(&system.client, commands(&["sleep 60"])).await;
    let mut second = commands(&["true"]);
    second.depends_on = vec![first.to_string()];
    let second = create(&system.client, second).await;
    let mut third = commands(&["true"]);
    third.depends_on = vec![second.to_string()];
    let third = create(&system.client, third).await;
    eventually("the first job", PATIENCE, || system.shims().pop()).await;

    let said = system.cynork(&["task", "cancel", &first.to_string(), "-o", "json"]).fine().json();

    assert_eq!(said["cascaded"].as_array().unwrap().len(), 2, "{said}");
    for task in [first, second, third] {
        assert_eq!(closed(&system.client, task, PATIENCE).await.status.as_str(), "canceled");
    }
    sandboxes_end(&system).await;
}

#[tokio::test]
async fn a_task_starts_when_what_it_waits_for_has_completed() {
    let system = System::new().await;
    let first = create(&system.client, commands(&["sleep 0.5"])).await;
    let mut second = commands(&["true"]);
    second.depends_on = vec![first.to_string()];
    let second = create(&system.client, second).await;

    let second = closed(&system.client, second, PATIENCE).await;
    let first = closed(&system.client, first, PATIENCE).await;

    assert_eq!((first.status.as_str(), second.status.as_str()), ("completed", "completed"));
    assert!(second.started_at >= first.ended_at, "{second:#?}");
}

#[tokio::test]
async fn a_task_that_waits_for_a_failed_one_does_not_start_and_can_be_canceled() {
    let system = System::new().await;
    let first = create(&system.client, commands(&["exit 1"])).await;
    let mut second = commands(&["true"]);
    second.depends_on = vec![first.to_string()];
    let second = create(&system.client, second).await;
    assert_eq!(closed(&system.client, first, PATIENCE).await.status.as_str(), "failed");

    // Whoever could have started it has had the time for a whole task since.
    let other = create(&system.client, commands(&["true"])).await;
    closed(&system.client, other, PATIENCE).await;
    let waiting = system.client.task_get(&second.to_string()).await.unwrap();
    system.cynork(&["task", "cancel", &second.to_string()]).fine();

    assert_eq!((waiting.status.as_str(), waiting.started_at), ("queued", None));
    assert_eq!(closed(&system.client, second, PATIENCE).await.status.as_str(), "canceled");
}
