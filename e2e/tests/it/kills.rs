//! Processes killed at random points while tasks run: nothing runs twice, nothing is lost.
//! Whichever of the three is killed, work resumes where it was. Only a job that its node had
//! accepted and not yet started is reported as interrupted.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::processes::{eventually, is_alive, send_signal};
use crate::seed::TestSeed;
use crate::system::{PATIENCE, System, SystemDatabase};
use crate::work::{
    InterruptionPolicy, assert_ran_once, countable_task, create_task_once, wait_until_closed,
};

/// Short, so that the lease of a dead runner expires within the test.
const LEASE: Duration = Duration::from_secs(2);
const TASKS: usize = 4;
/// About the duration of one round's tasks.
const ROUND: Duration = Duration::from_millis(900);

/// Number of random points for each kind of process.
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
    run_rounds(SystemDatabase::Embedded, &[RUNNER; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_a_runner_killed_at_any_point_on_postgres() {
    run_rounds(SystemDatabase::Postgres, &[RUNNER; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_an_orchestrator_killed_at_any_point() {
    run_rounds(SystemDatabase::Embedded, &[ORCHESTRATOR; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_an_orchestrator_killed_at_any_point_on_postgres() {
    run_rounds(SystemDatabase::Postgres, &[ORCHESTRATOR; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_a_node_killed_at_any_point() {
    run_rounds(SystemDatabase::Embedded, &[NODE; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_a_node_killed_at_any_point_on_postgres() {
    run_rounds(SystemDatabase::Postgres, &[NODE; POINTS]).await;
}

#[tokio::test]
async fn tasks_survive_two_processes_killed_at_once() {
    run_rounds(SystemDatabase::Embedded, &PAIRS).await;
}

#[tokio::test]
async fn tasks_survive_two_processes_killed_at_once_on_postgres() {
    run_rounds(SystemDatabase::Postgres, &PAIRS).await;
}

/// In each round tasks run, and the round's victims are killed at a random point.
async fn run_rounds(database: SystemDatabase, victims: &[&[&str]]) {
    let mut seed = TestSeed::for_run("kills");
    let config = format!("[runner]\nlease_ms = {}\n", LEASE.as_millis());
    let system = System::with(database, &config).await;
    let mut completed = 0;
    for names in victims {
        // The processes killed in the round before have restarted.
        system.wait_until_ready().await;
        let delay = seed.below(ROUND);
        println!("killing {names:?} after {delay:?}");
        completed += run_round(&system, names, delay).await;
    }
    // Rounds in which every task ends as interrupted prove nothing.
    assert!(completed > 0, "no task of any round completed");
}

/// Returns how many tasks of the round completed.
async fn run_round(system: &System, victims: &[&str], delay: Duration) -> usize {
    let mut pids = vec![];
    for name in victims {
        pids.push(system.wait_for_role(name).await);
    }
    let mut tasks = vec![];
    for _ in 0..TASKS {
        tasks.push(create_task_once(&system.client, countable_task()).await);
    }
    tokio::time::sleep(delay).await;
    for pid in &pids {
        send_signal(*pid, Signal::SIGKILL);
    }
    for pid in pids {
        eventually("the end of a killed process", PATIENCE, || (!is_alive(pid)).then_some(()))
            .await;
    }
    let is_node_killed = victims.contains(&"node");
    let interruption =
        if is_node_killed { InterruptionPolicy::Allowed } else { InterruptionPolicy::Wrong };
    let node_state = system.data_dir().join("node");
    let mut completed = 0;
    for task in tasks {
        let task = wait_until_closed(&system.client, task, LEASE + PATIENCE).await;
        assert_ran_once(&system.client, &node_state, &task, interruption).await;
        completed += usize::from(task.status.as_str() == "completed");
    }
    completed
}
