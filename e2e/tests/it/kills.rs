//! Processes killed at random points while tasks run: nothing runs twice, nothing is lost.
//!
//! Whichever of the three is killed, work goes on where it was. Only a job that its node had
//! accepted and not yet started is given up, and says so.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::processes::{eventually, lives, send};
use crate::seed::Seed;
use crate::system::{Database, PATIENCE, System};
use crate::work::{Interruption, assert_ran_once, closed, countable, create};

/// Short, so that the end of a dead runner's lease is seen within the test.
const LEASE: Duration = Duration::from_secs(2);
const TASKS: usize = 4;
/// About as long as the tasks of one round take.
const ROUND: Duration = Duration::from_millis(900);

/// How many random points are tried for each kind of process.
const POINTS: usize = 4;
const RUNNER: &[&str] = &["runner"];
const ORCHESTRATOR: &[&str] = &["orchestrator"];
const NODE: &[&str] = &["node"];
const PAIRS: [&[&str]; 4] = [
    &["runner", "node"],
    &["node", "orchestrator"],
    &["orchestrator", "runner"],
    &["orchestrator", "node"],
];

#[tokio::test]
async fn tasks_survive_a_runner_killed_at_any_point() {
    rounds(Database::Embedded, &[RUNNER; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_a_runner_killed_at_any_point_on_postgres() {
    rounds(Database::Postgres, &[RUNNER; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_an_orchestrator_killed_at_any_point() {
    rounds(Database::Embedded, &[ORCHESTRATOR; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_an_orchestrator_killed_at_any_point_on_postgres() {
    rounds(Database::Postgres, &[ORCHESTRATOR; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_a_node_killed_at_any_point() {
    rounds(Database::Embedded, &[NODE; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_a_node_killed_at_any_point_on_postgres() {
    rounds(Database::Postgres, &[NODE; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_two_processes_killed_at_once() {
    rounds(Database::Embedded, &PAIRS).await;
}

#[tokio::test]
async fn tasks_survive_two_processes_killed_at_once_on_postgres() {
    rounds(Database::Postgres, &PAIRS).await;
}

/// In each round tasks run, and the round's victims are killed at a random point.
async fn rounds(database: Database, victims: &[&[&str]]) {
    let mut seed = Seed::of_run("kills");
    let config = format!("[runner]\nlease_ms = {}\n", LEASE.as_millis());
    let system = System::with(database, &config).await;
    let mut completed = 0;
    for names in victims {
        // Whoever was killed in the round before is back.
        system.ready().await;
        let delay = seed.below(ROUND);
        println!("killing {names:?} after {delay:?}");
        completed += round(&system, names, delay).await;
    }
    // Rounds in which every task ends as interrupted prove nothing.
    assert!(completed > 0, "no task of any round completed");
}

/// Returns how many tasks of the round completed.
async fn round(system: &System, victims: &[&str], delay: Duration) -> usize {
    let mut pids = vec![];
    for name in victims {
        pids.push(system.role(name).await);
    }
    let mut tasks = vec![];
    for _ in 0..TASKS {
        tasks.push(create(&system.client, countable()).await);
    }
    tokio::time::sleep(delay).await;
    for pid in &pids {
        send(*pid, Signal::SIGKILL);
    }
    for pid in pids {
        eventually("the end of a killed process", PATIENCE, || (!lives(pid)).then_some(())).await;
    }
    let is_node_killed = victims.contains(&"node");
    let interruption = if is_node_killed { Interruption::Allowed } else { Interruption::Wrong };
    let node_state = system.data_dir().join("node");
    let mut completed = 0;
    for task in tasks {
        let task = closed(&system.client, task, LEASE + PATIENCE).await;
        assert_ran_once(&system.client, &node_state, &task, interruption).await;
        completed += usize::from(task.status.as_str() == "completed");
    }
    completed
}
