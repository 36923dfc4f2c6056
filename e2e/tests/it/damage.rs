//! A disk without room, and a journal that was torn: what was acknowledged stays, and what cannot
//! be kept is refused aloud.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cynode_client::{Client, Error};
use cynode_domain::ids::TaskId;
use cynode_testkit::query;
use nix::sys::signal::Signal;

use crate::fleet::{Fleet, NODE};
use crate::history::assert_is_a_path;
use crate::seed::Seed;
use crate::work::{commands, create, patiently};

const ORCHESTRATOR: &str = "orchestrator";
const LEASE: Duration = Duration::from_secs(2);
/// Room for the journal of some tasks, and not of many.
const ROOM_KIB: u32 = 6 * 1024;
/// More than the room holds.
const MANY: usize = 400;
/// Journals that are cut off somewhere.
const CUTS: usize = 24;

#[tokio::test]
async fn a_full_disk_is_a_loud_refusal_and_loses_nothing_that_was_acknowledged() {
    let mut fleet = Fleet::new(None);
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    let client = fleet.client(&url);
    let first = create(&client, commands(&["echo before"])).await;
    fleet.kill(ORCHESTRATOR);
    fleet.limit_files(ORCHESTRATOR, Some(ROOM_KIB));
    fleet.start(ORCHESTRATOR);
    fleet.patiently(async || client.task_get(&first.to_string()).await).await;

    let (kept, refusal) = filled(&client).await;

    let Error::Refused(problem) = refusal else { panic!("not a refusal: {refusal}") };
    assert!(problem.status >= 500, "{problem:?}");
    let said = fleet.said(ORCHESTRATOR);
    assert!(said.contains("the database could not be written: is its disk full?"), "{said}");
    // Whoever only looks is served all the same.
    assert_all_are_there(&client, &kept).await;
    fleet.kill(ORCHESTRATOR);
    fleet.limit_files(ORCHESTRATOR, None);
    fleet.start(ORCHESTRATOR);
    fleet.patiently(async || client.task_get(&first.to_string()).await).await;
    assert_all_are_there(&client, &kept).await;
    assert_eq!(query(&fleet.database(), "PRAGMA integrity_check").await, [["ok"]]);
    fleet.add_runner("runner", &url, LEASE);
    fleet.add_node(NODE, &url).await;
    assert_eq!(fleet.closed(&client, first).await.status.as_str(), "completed");
}

/// Hands in tasks until there is no room; which were acknowledged, and what was said to the next.
async fn filled(client: &Client) -> (Vec<TaskId>, Error) {
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
        patiently(async || client.task_get(&task.to_string()).await).await;
    }
}

#[tokio::test]
async fn a_torn_journal_is_rolled_back_to_whole_transitions() {
    let mut seed = Seed::of_run("torn");
    let mut fleet = Fleet::new(None);
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    let client = fleet.client(&url);
    fleet.add_runner("runner", &url, LEASE);
    fleet.add_node(NODE, &url).await;
    let mut tasks = vec![];
    for _ in 0..6 {
        tasks.push(create(&client, commands(&["true", "true"])).await);
    }
    fleet.closed(&client, tasks[0]).await;
    // Killed in the middle of work, so that the journal is still there.
    fleet.signal(ORCHESTRATOR, Signal::SIGKILL);
    fleet.kill(ORCHESTRATOR);
    // Read before anybody opens it, which would put the journal into the file.
    let file = fs::read(fleet.data().join("cynode.db")).unwrap();
    let journal = fs::read(fleet.data().join("cynode.db-wal")).unwrap();
    let copy = |journal: &[u8]| written(fleet.home(), &file, journal);
    let whole = query(&copy(&journal), POSITIONS).await;
    assert!(!whole.is_empty());

    // The last write was not finished: nothing that was acknowledged is lost.
    let unfinished = [&journal[..], &journal[..1000]].concat();
    assert_eq!(query(&copy(&unfinished), POSITIONS).await, whole);
    // The end is missing: what is left is whole.
    for _ in 0..CUTS {
        assert_is_whole(&copy(&journal[..seed.pick(journal.len())])).await;
    }

    fleet.start(ORCHESTRATOR);
    for task in tasks {
        assert_eq!(fleet.closed(&client, task).await.status.as_str(), "completed");
        let id = task.to_string();
        assert_is_a_path(&patiently(async || client.task_history(&id).await).await);
    }
}

/// Where every run stands.
const POSITIONS: &str = "SELECT task_id, sequence, last_node_id FROM workflow_checkpoints
                         ORDER BY task_id";

/// A database of its own, of this file and this journal.
fn written(home: &Path, file: &[u8], journal: &[u8]) -> String {
    let directory = home.join("torn");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).unwrap();
    let copy = directory.join("cynode.db");
    fs::write(&copy, file).unwrap();
    fs::write(directory.join("cynode.db-wal"), journal).unwrap();
    format!("sqlite:{}", copy.display())
}

/// Checkpoint, history, events and leases were written together, so they are there together.
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
