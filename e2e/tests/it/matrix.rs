//! Runner and orchestrator die at every point between effect, commit and reply, one at a time.
//! After each death the process is restarted, and the task must end as in a run without crashes:
//! every step ran once, the history is a path, the last state is the same.

use std::cell::Cell;
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_store::Store;
use cynode_testkit::postgres_database;
use nix::sys::signal::Signal;

use crate::ends::{TaskEndState, TaskKind};
use crate::fleet::{NODE, ProcessFleet, was_ended_by};
use crate::processes::eventually;
use crate::system::PATIENCE;
use crate::work::create_task_once;

const RUNNER: &str = "runner";
const ORCHESTRATOR: &str = "orchestrator";
/// Short: each death of a runner waits for the end of its lease.
const LEASE: Duration = Duration::from_secs(1);

const NODES: [&str; 7] = [
    "load_task_context",
    "plan_steps",
    "dispatch_step",
    "collect_result",
    "verify_step_result",
    "finalize_summary",
    "mark_failed",
];
const WITH_EFFECTS: [&str; 2] = ["dispatch_step", "verify_step_result"];

/// A failpoint, and the kind of task that reaches it.
type Failpoint = (&'static str, &'static str);

/// Around each node, and around each of its effects.
fn runner_points() -> Vec<Failpoint> {
    let around_nodes = NODES
        .into_iter()
        .flat_map(|node| ["node_entered", "node_done", "node_saved"].map(|point| (point, node)));
    let around_effects = WITH_EFFECTS
        .into_iter()
        .flat_map(|node| ["effect_done", "effect_recorded"].map(|point| (point, node)));
    around_nodes.chain(around_effects).chain([("grant_received", "claim")]).collect()
}

/// Between the arrival of each request, its commit and the reply.
fn orchestrator_points() -> Vec<Failpoint> {
    let saves = NODES
        .into_iter()
        .flat_map(|node| ["save_arrived", "save_committed"].map(|point| (point, node)));
    let effects = WITH_EFFECTS
        .into_iter()
        .flat_map(|node| ["effect_arrived", "effect_committed"].map(|point| (point, node)));
    let others = [
        ("end_announced", "finalize_summary"),
        ("end_announced", "mark_failed"),
        ("claim_arrived", "claim"),
        ("claim_committed", "claim"),
        ("dispatch_arrived", "dispatch_step"),
        ("dispatch_written", "dispatch_step"),
        ("dispatch_committed", "dispatch_step"),
        ("verify_arrived", "verify_step_result"),
        ("verify_judged", "verify_step_result"),
        ("verify_committed", "verify_step_result"),
        ("result_arrived", "job"),
        ("result_written", "job"),
        ("result_committed", "job"),
    ];
    saves.chain(effects).chain(others).collect()
}

#[tokio::test]
async fn a_runner_that_dies_at_any_point_loses_nothing_and_repeats_nothing() {
    assert_survives_crashes(None, RUNNER, runner_points()).await;
}

#[tokio::test]
async fn a_runner_that_dies_at_any_point_loses_nothing_and_repeats_nothing_on_postgres() {
    let database = postgres_database().await;
    assert_survives_crashes(Some(&database.url), RUNNER, runner_points()).await;
}

#[tokio::test]
async fn an_orchestrator_that_dies_at_any_point_loses_nothing_and_repeats_nothing() {
    assert_survives_crashes(None, ORCHESTRATOR, orchestrator_points()).await;
}

#[tokio::test]
async fn an_orchestrator_that_dies_at_any_point_loses_nothing_and_repeats_nothing_on_postgres() {
    let database = postgres_database().await;
    assert_survives_crashes(Some(&database.url), ORCHESTRATOR, orchestrator_points()).await;
}

async fn assert_survives_crashes(database: Option<&str>, victim: &str, points: Vec<Failpoint>) {
    let mut fleet = ProcessFleet::new(database);
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    fleet.add_runner(RUNNER, &url, LEASE);
    fleet.add_node(NODE, &url).await;
    let mut matrix = CrashMatrix {
        client: fleet.client(&url),
        store: Store::open(&fleet.database()).await.unwrap(),
        fleet,
    };
    let calm = [matrix.run_task(TaskKind::Completes).await, matrix.run_task(TaskKind::Fails).await];
    for (point, subject) in points {
        let (kind, expected) = match subject {
            "mark_failed" => (TaskKind::Fails, &calm[1]),
            _ => (TaskKind::Completes, &calm[0]),
        };
        let begun = Instant::now();
        let end = matrix.run_task_with_crash(victim, &format!("{point}@{subject}"), kind).await;
        assert_eq!(&end, expected, "after {victim} died at {point} of {subject}");
        let (runs, took) = (&end.runs, begun.elapsed().as_millis());
        println!("{victim:<12} {subject:<18} {point:<18} runs of steps {runs:?}  {took} ms");
    }
}

struct CrashMatrix {
    fleet: ProcessFleet,
    client: Client,
    store: Store,
}

impl CrashMatrix {
    /// The end state of a task of this kind.
    async fn run_task(&mut self, kind: TaskKind) -> TaskEndState {
        let task = create_task_once(&self.client, kind.task()).await;
        let view = self.fleet.wait_until_closed(&self.client, task).await;
        let node_state = self.fleet.node_state(NODE);
        TaskEndState::load((&self.client, &self.store, &node_state), kind, &view).await
    }

    /// The same, with `victim` dying at `point` and restarted.
    async fn run_task_with_crash(
        &mut self,
        victim: &str,
        point: &str,
        kind: TaskKind,
    ) -> TaskEndState {
        let Self { fleet, client, store } = self;
        fleet.arm_failpoint(point, "");
        let is_made = Cell::new(false);
        let making = async {
            let task = create_task_once(client, kind.task()).await;
            is_made.set(true);
            task
        };
        let dying = async {
            wait_and_restart(fleet, victim, point).await;
            while !is_made.get() {
                fleet.restart_exited();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // The orchestrator may die before it answers.
        let (task, ()) = tokio::join!(making, Box::pin(dying));
        let view = fleet.wait_until_closed(client, task).await;
        let node_state = fleet.node_state(NODE);
        TaskEndState::load((client, store, &node_state), kind, &view).await
    }
}

/// Waits for the death of `victim` at `point`, and restarts it.
async fn wait_and_restart(fleet: &mut ProcessFleet, victim: &str, point: &str) {
    fleet.wait_for_failpoint(point).await;
    let ended = eventually("its death", PATIENCE, || fleet.exit_status(victim)).await;
    assert!(was_ended_by(ended, Signal::SIGABRT), "{victim} ended otherwise: {ended}");
    fleet.start(victim);
}
