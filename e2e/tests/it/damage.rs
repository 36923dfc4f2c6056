//! A full disk, and a truncated journal: acknowledged writes survive, and failed writes are
//! reported.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cynode_client::{Client, ClientError};
use cynode_domain::ids::TaskId;
use cynode_testkit::query;
use nix::sys::signal::Signal;

use crate::fleet::{NODE, ProcessFleet};
use crate::history::assert_is_a_path;
use crate::seed::TestSeed;
use crate::work::{commands, create_task_once, retry_while_unavailable};

const ORCHESTRATOR: &str = "orchestrator";
const LEASE: Duration = Duration::from_secs(2);
/// Room for the journal of some tasks, but not of many.
const ROOM_KIB: u32 = 6 * 1024;
/// More than the room holds.
const MANY: usize = 400;
/// Number of truncated journals.
const CUTS: usize = 24;

#[tokio::test]
async fn a_full_disk_is_a_loud_refusal_and_loses_nothing_that_was_acknowledged() {
    let mut fleet = ProcessFleet::new(None);
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    let client = fleet.client(&url);
    let first = create_task_once(&client, commands(&["echo before"])).await;
    fleet.kill(ORCHESTRATOR);
    fleet.limit_files(ORCHESTRATOR, Some(ROOM_KIB));
    fleet.start(ORCHESTRATOR);
    fleet.retry_while_unavailable(async || client.task_get(&first.to_string()).await).await;

    let (kept, refusal) = fill_disk(&client).await;

    let ClientError::Refused(problem) = refusal else { panic!("not a refusal: {refusal}") };
    assert!(problem.status >= 500, "{problem:?}");
    let said = fleet.read_member_log(ORCHESTRATOR);
    assert!(said.contains("the database could not be written: is its disk full?"), "{said}");
    // Reads still work.
    assert_all_are_there(&client, &kept).await;
    fleet.kill(ORCHESTRATOR);
    fleet.limit_files(ORCHESTRATOR, None);
    fleet.start(ORCHESTRATOR);
    fleet.retry_while_unavailable(async || client.task_get(&first.to_string()).await).await;
    assert_all_are_there(&client, &kept).await;
    assert_eq!(query(&fleet.database(), "PRAGMA integrity_check").await, [["ok"]]);
    fleet.add_runner("runner", &url, LEASE);
    fleet.add_node(NODE, &url).await;
    assert_eq!(fleet.wait_until_closed(&client, first).await.status.as_str(), "completed");
}

/// Submits tasks until the disk is full; returns the acknowledged ones, and the error of the next.
async fn fill_disk(client: &Client) -> (Vec<TaskId>, ClientError) {
    let line = format!("true # {}", "x".repeat(30_000));
    let mut kept = vec![];
    for _ in 0..MANY {
        match client.task_create(&commands(&[&line])).await {
            Ok(task) => kept.push(task.id),
            Err(refusal) => return (kept, refusal),
        }
    }
    panic!("the disk did not fill up");
}

async fn assert_all_are_there(client: &Client, tasks: &[TaskId]) {
    assert!(!tasks.is_empty());
    for task in tasks {
        retry_while_unavailable(async || client.task_get(&task.to_string()).await).await;
    }
}

#[tokio::test]
async fn a_torn_journal_is_rolled_back_to_whole_transitions() {
    let mut seed = TestSeed::for_run("torn");
    let mut fleet = ProcessFleet::new(None);
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    let client = fleet.client(&url);
    fleet.add_runner("runner", &url, LEASE);
    fleet.add_node(NODE, &url).await;
    let mut tasks = vec![];
    for _ in 0..6 {
        tasks.push(create_task_once(&client, commands(&["true", "true"])).await);
    }
    fleet.wait_until_closed(&client, tasks[0]).await;
    // Killed during work, so that the journal still exists.
    fleet.signal(ORCHESTRATOR, Signal::SIGKILL);
    fleet.kill(ORCHESTRATOR);
    // Read before the database is opened, which would checkpoint the journal into the file.
    let file = fs::read(fleet.data().join("cynode.db")).unwrap();
    let journal = fs::read(fleet.data().join("cynode.db-wal")).unwrap();
    let copy = |journal: &[u8]| write_database(fleet.home(), &file, journal);
    let whole = query(&copy(&journal), POSITIONS).await;
    assert!(!whole.is_empty());

    // The last write was incomplete: no acknowledged write is lost.
    let unfinished = [&journal[..], &journal[..1000]].concat();
    assert_eq!(query(&copy(&unfinished), POSITIONS).await, whole);
    // The end is missing: the rest is consistent.
    for _ in 0..CUTS {
        assert_is_whole(&copy(&journal[..seed.pick(journal.len())])).await;
    }

    fleet.start(ORCHESTRATOR);
    for task in tasks {
        assert_eq!(fleet.wait_until_closed(&client, task).await.status.as_str(), "completed");
        let id = task.to_string();
        assert_is_a_path(&retry_while_unavailable(async || client.task_history(&id).await).await);
    }
}

/// The checkpoint of every run.
const POSITIONS: &str = "SELECT task_id, sequence, last_node_id FROM workflow_checkpoints
                         ORDER BY task_id";

/// A new database with this file and this journal.
fn write_database(home: &Path, file: &[u8], journal: &[u8]) -> String {
    let directory = home.join("torn");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    let copy = directory.join("cynode.db");
    fs::write(&copy, file).unwrap();
    fs::write(directory.join("cynode.db-wal"), journal).unwrap();
    format!("sqlite:{}", copy.display())
}

/// Checkpoint, history, events and leases were written together, so they exist together.
async fn assert_is_whole(database: &str) {
    assert_eq!(query(database, "PRAGMA integrity_check").await, [["ok"]]);
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'workflow_checkpoints'";
    if query(database, tables).await == [["0"]] {
        return;
    }
    let odd = "SELECT c.task_id, c.sequence FROM workflow_checkpoints c
               WHERE c.sequence <> (SELECT count(*) FROM workflow_history h
                       WHERE h.run_id = c.run_id)
               OR c.sequence <> (SELECT count(*) FROM events e
                       WHERE e.run_id = c.run_id AND e.kind = 'workflow.transition')
               OR NOT EXISTS (SELECT 1 FROM task_workflow_leases l
                       WHERE l.task_id = c.task_id AND l.epoch = c.epoch)";
    assert_eq!(query(database, odd).await, Vec::<Vec<String>>::new(), "half a transition");
}
