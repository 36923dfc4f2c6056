//! Runners that are stopped past the end of their lease and woken: all their writes are rejected.

use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_runtime::failpoint;
use cynode_testkit::{postgres_database, query};
use nix::sys::signal::Signal;

use crate::fleet::{NODE, ProcessFleet};
use crate::history::assert_is_a_path;
use crate::system::PATIENCE;
use crate::work::{commands, count_step_runs, create_task_once, retry_while_unavailable};

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
    assert_stale_writes_rejected(None).await;
}

#[tokio::test]
async fn a_runner_that_wakes_after_its_lease_can_neither_checkpoint_nor_dispatch_on_postgres() {
    let database = postgres_database().await;
    assert_stale_writes_rejected(Some(&database.url)).await;
}

async fn assert_stale_writes_rejected(database: Option<&str>) {
    let mut fleet = ProcessFleet::new(database);
    let url = fleet.add_orchestrator("orchestrator").await;
    let client = fleet.client(&url);
    fleet.add_node(NODE, &url).await;
    for point in POINTS {
        fleet.add_runner(ZOMBIE, &url, LEASE);
        fleet.arm_failpoint(point, failpoint::WAIT);
        let task = create_task_once(&client, commands(&LINES)).await;
        fleet.wait_for_failpoint(point).await;
        fleet.signal(ZOMBIE, Signal::SIGSTOP);
        fleet.add_runner(HEIR, &url, LEASE);
        let before = wait_for_takeover(&mut fleet, &client, task).await;
        fleet.kill(HEIR);

        let said = fleet.read_member_log(ZOMBIE).len();
        fleet.signal(ZOMBIE, Signal::SIGCONT);
        fleet.release_failpoint(point);

        wait_for_lost_lease(&fleet, said).await;
        assert_eq!(load_task_rows(&fleet, task).await, before, "it wrote, woken at {point}");
        assert_runner_works(&mut fleet, &client).await;
        fleet.kill(ZOMBIE);
    }
}

/// A request of the stopped runner is in flight: it arrives at the database after the takeover.
#[tokio::test]
async fn a_request_that_arrives_after_the_lease_of_its_sender_changes_nothing() {
    for point in ["save_arrived@plan_steps", "dispatch_arrived@dispatch_step"] {
        let database = postgres_database().await;
        let mut fleet = ProcessFleet::new(Some(&database.url));
        let slow = fleet.add_orchestrator("slow").await;
        let quick = fleet.add_orchestrator("quick").await;
        let client = fleet.client(&quick);
        fleet.add_node(NODE, &quick).await;
        fleet.add_runner(ZOMBIE, &slow, LEASE);
        fleet.arm_failpoint(point, failpoint::WAIT);
        let task = create_task_once(&client, commands(&LINES)).await;
        fleet.wait_for_failpoint(point).await;
        // It may be stopped so late that it releases the run before; it need not log it twice.
        let said = fleet.read_member_log(ZOMBIE).len();
        fleet.signal(ZOMBIE, Signal::SIGSTOP);
        fleet.add_runner(HEIR, &quick, LEASE);
        let before = wait_for_takeover(&mut fleet, &client, task).await;

        fleet.release_failpoint(point);
        fleet.signal(ZOMBIE, Signal::SIGCONT);

        wait_for_lost_lease(&fleet, said).await;
        assert_eq!(load_task_rows(&fleet, task).await, before, "a late request wrote: {point}");
    }
}

/// Waits until another runner has completed the task; returns every row.
async fn wait_for_takeover(
    fleet: &mut ProcessFleet,
    client: &Client,
    task: TaskId,
) -> Vec<Vec<String>> {
    let view = fleet.wait_until_closed(client, task).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    let id = task.to_string();
    assert_is_a_path(&retry_while_unavailable(async || client.task_history(&id).await).await);
    let counts = [1, 2].map(|step| count_step_runs(&fleet.node_state(NODE), task, step));
    assert_eq!(counts, [1, 1], "a step ran twice or never");
    load_task_rows(fleet, task).await
}

/// Every row that a runner can write about a task, with its epoch.
async fn load_task_rows(fleet: &ProcessFleet, task: TaskId) -> Vec<Vec<String>> {
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

/// Waits until the woken runner has noticed the lost lease.
async fn wait_for_lost_lease(fleet: &ProcessFleet, said: usize) {
    let begun = Instant::now();
    while !fleet.read_member_log(ZOMBIE)[said..].contains("lease lost") {
        assert!(begun.elapsed() < PATIENCE, "it did not notice\n{}", fleet.read_all_logs());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The woken runner can drive the next task.
async fn assert_runner_works(fleet: &mut ProcessFleet, client: &Client) {
    let task = create_task_once(client, commands(&["true"])).await;
    assert_eq!(fleet.wait_until_closed(client, task).await.status.as_str(), "completed");
}
