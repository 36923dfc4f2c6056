//! Runners that are stopped past the end of their lease and woken: they can write nothing.

use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_runtime::failpoint;
use cynode_testkit::{postgres_database, query};
use nix::sys::signal::Signal;

use crate::fleet::{Fleet, NODE};
use crate::history::assert_is_a_path;
use crate::system::PATIENCE;
use crate::work::{commands, create, patiently, runs};

const LEASE: Duration = Duration::from_secs(1);
const LINES: [&str; 2] = ["echo ran >> step-1", "echo ran >> step-2"];
const ZOMBIE: &str = "zombie";
const HEIR: &str = "heir";

/// Right before a checkpoint, before a dispatch, between a dispatch and its record, and before the
/// end of the run.
const POINTS: [&str; 4] = [
    "node_done@plan_steps",
    "node_entered@dispatch_step",
    "effect_done@dispatch_step",
    "node_done@finalize_summary",
];

#[tokio::test]
async fn a_runner_that_wakes_after_its_lease_can_neither_checkpoint_nor_dispatch() {
    stopped_at_every_point(None).await;
}

#[tokio::test]
async fn a_runner_that_wakes_after_its_lease_can_neither_checkpoint_nor_dispatch_on_postgres() {
    let database = postgres_database().await;
    stopped_at_every_point(Some(&database.url)).await;
}

async fn stopped_at_every_point(database: Option<&str>) {
    let mut fleet = Fleet::new(database);
    let url = fleet.add_orchestrator("orchestrator").await;
    let client = fleet.client(&url);
    fleet.add_node(NODE, &url).await;
    for point in POINTS {
        fleet.add_runner(ZOMBIE, &url, LEASE);
        fleet.arm(point, failpoint::WAIT);
        let task = create(&client, commands(&LINES)).await;
        fleet.hit(point).await;
        fleet.signal(ZOMBIE, Signal::SIGSTOP);
        fleet.add_runner(HEIR, &url, LEASE);
        let before = taken_over(&mut fleet, &client, task).await;
        fleet.kill(HEIR);

        let said = fleet.said(ZOMBIE).len();
        fleet.signal(ZOMBIE, Signal::SIGCONT);
        fleet.release(point);

        gave_up(&fleet, said).await;
        assert_eq!(rows(&fleet, task).await, before, "it wrote, woken at {point}");
        works_again(&mut fleet, &client).await;
        fleet.kill(ZOMBIE);
    }
}

/// A request of the stopped runner is on its way: it arrives at the database after the takeover.
#[tokio::test]
async fn a_request_that_arrives_after_the_lease_of_its_sender_changes_nothing() {
    for point in ["save_arrived@plan_steps", "dispatch_arrived@dispatch_step"] {
        let database = postgres_database().await;
        let mut fleet = Fleet::new(Some(&database.url));
        let slow = fleet.add_orchestrator("slow").await;
        let quick = fleet.add_orchestrator("quick").await;
        let client = fleet.client(&quick);
        fleet.add_node(NODE, &quick).await;
        fleet.add_runner(ZOMBIE, &slow, LEASE);
        fleet.arm(point, failpoint::WAIT);
        let task = create(&client, commands(&LINES)).await;
        fleet.hit(point).await;
        // It may be stopped so late that it gives up before; it need not say so twice.
        let said = fleet.said(ZOMBIE).len();
        fleet.signal(ZOMBIE, Signal::SIGSTOP);
        fleet.add_runner(HEIR, &quick, LEASE);
        let before = taken_over(&mut fleet, &client, task).await;

        fleet.release(point);
        fleet.signal(ZOMBIE, Signal::SIGCONT);

        gave_up(&fleet, said).await;
        assert_eq!(rows(&fleet, task).await, before, "a late request wrote: {point}");
    }
}

/// Waits until another runner has brought the task to its end; every row that it left.
async fn taken_over(fleet: &mut Fleet, client: &Client, task: TaskId) -> Vec<Vec<String>> {
    let view = fleet.closed(client, task).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let id = task.to_string();
    assert_is_a_path(&patiently(async || client.task_history(&id).await).await);
    let counts = [1, 2].map(|step| runs(&fleet.node_state(NODE), task, step));
    assert_eq!(counts, [1, 1], "a step ran twice or never");
    rows(fleet, task).await
}

/// Everything that a runner can write about a task, and under which epoch.
async fn rows(fleet: &Fleet, task: TaskId) -> Vec<Vec<String>> {
    let of_task = format!("WHERE task_id = '{task}'");
    let tables = [
        format!("SELECT sequence, node_id, edge, epoch FROM workflow_history {of_task} ORDER BY 1"),
        format!("SELECT sequence, last_node_id, edge, epoch FROM workflow_checkpoints {of_task}"),
        format!("SELECT epoch, lease_id, holder_id FROM task_workflow_leases {of_task}"),
        format!("SELECT step_index, attempt, id, status FROM jobs {of_task} ORDER BY 1, 2"),
        format!(
            "SELECT e.key, e.sequence FROM workflow_effects e JOIN runs r ON r.id = e.run_id
             WHERE r.task_id = '{task}' ORDER BY 1"
        ),
        format!("SELECT kind, count(*) FROM events {of_task} GROUP BY kind ORDER BY 1"),
    ];
    let mut found = vec![];
    for sql in tables {
        found.extend(query(&fleet.database(), &sql).await);
    }
    found
}

/// Waits until the woken runner has noticed that the task is no longer its own.
async fn gave_up(fleet: &Fleet, said: usize) {
    let begun = Instant::now();
    while !fleet.said(ZOMBIE)[said..].contains("lease lost") {
        assert!(begun.elapsed() < PATIENCE, "it did not notice\n{}", fleet.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The woken runner is as good as any: it drives the next task.
async fn works_again(fleet: &mut Fleet, client: &Client) {
    let task = create(client, commands(&["true"])).await;
    assert_eq!(fleet.closed(client, task).await.status.as_str(), "completed");
}
