//! Runner and orchestrator die at every point between effect, commit and reply, one at a time.
//!
//! After each death the process is started again, and the task must end as one does whose
//! processes live: every step ran once, the history is a path, the last state is the same.

use std::cell::Cell;
use std::time::{Duration, Instant};

use cynode_client::Client;
use cynode_store::Store;
use cynode_testkit::postgres_database;
use nix::sys::signal::Signal;

use crate::ends::{End, Kind};
use crate::fleet::{Fleet, NODE, is_by};
use crate::processes::eventually;
use crate::system::PATIENCE;
use crate::work::create;

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

/// A place to die at.
type Point = (&'static str, &'static str);

/// Around each node, and around each of its effects.
fn runner_points() -> Vec<Point> {
    let around_nodes = NODES
        .into_iter()
        .flat_map(|node| ["node_entered", "node_done", "node_saved"].map(|point| (point, node)));
    let around_effects = WITH_EFFECTS
        .into_iter()
        .flat_map(|node| ["effect_done", "effect_recorded"].map(|point| (point, node)));
    around_nodes.chain(around_effects).chain([("grant_received", "claim")]).collect()
}

/// Between the arrival of each request, its commit and the reply.
fn orchestrator_points() -> Vec<Point> {
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
    survive(None, RUNNER, runner_points()).await;
}

#[tokio::test]
async fn a_runner_that_dies_at_any_point_loses_nothing_and_repeats_nothing_on_postgres() {
    let database = postgres_database().await;
    survive(Some(&database.url), RUNNER, runner_points()).await;
}

#[tokio::test]
async fn an_orchestrator_that_dies_at_any_point_loses_nothing_and_repeats_nothing() {
    survive(None, ORCHESTRATOR, orchestrator_points()).await;
}

#[tokio::test]
async fn an_orchestrator_that_dies_at_any_point_loses_nothing_and_repeats_nothing_on_postgres() {
    let database = postgres_database().await;
    survive(Some(&database.url), ORCHESTRATOR, orchestrator_points()).await;
}

async fn survive(database: Option<&str>, victim: &str, points: Vec<Point>) {
    let mut fleet = Fleet::new(database);
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    fleet.add_runner(RUNNER, &url, LEASE);
    fleet.add_node(NODE, &url).await;
    let mut matrix = Matrix {
        client: fleet.client(&url),
        store: Store::open(&fleet.database()).await.unwrap(),
        fleet,
    };
    let calm = [matrix.end(Kind::Completes).await, matrix.end(Kind::Fails).await];
    for (point, subject) in points {
        let (kind, expected) = match subject {
            "mark_failed" => (Kind::Fails, &calm[1]),
            _ => (Kind::Completes, &calm[0]),
        };
        let begun = Instant::now();
        let end = matrix.with_death_at(victim, &format!("{point}@{subject}"), kind).await;
        assert_eq!(&end, expected, "after {victim} died at {point} of {subject}");
        let (runs, took) = (&end.runs, begun.elapsed().as_millis());
        println!("{victim:<12} {subject:<18} {point:<18} runs of steps {runs:?}  {took} ms");
    }
}

struct Matrix {
    fleet: Fleet,
    client: Client,
    store: Store,
}

impl Matrix {
    /// How a task of this kind ends.
    async fn end(&mut self, kind: Kind) -> End {
        let task = create(&self.client, kind.task()).await;
        let view = self.fleet.closed(&self.client, task).await;
        let node_state = self.fleet.node_state(NODE);
        End::of((&self.client, &self.store, &node_state), kind, &view).await
    }

    /// The same, if `victim` dies at `point` meanwhile and is started again.
    async fn with_death_at(&mut self, victim: &str, point: &str, kind: Kind) -> End {
        let Self { fleet, client, store } = self;
        fleet.arm(point, "");
        let is_made = Cell::new(false);
        let making = async {
            let task = create(client, kind.task()).await;
            is_made.set(true);
            task
        };
        let dying = async {
            died(fleet, victim, point).await;
            while !is_made.get() {
                fleet.tend();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        // The orchestrator may die before it answers.
        let (task, ()) = tokio::join!(making, Box::pin(dying));
        let view = fleet.closed(client, task).await;
        let node_state = fleet.node_state(NODE);
        End::of((client, store, &node_state), kind, &view).await
    }
}

/// Waits for the death of `victim` at `point`, and starts it again.
async fn died(fleet: &mut Fleet, victim: &str, point: &str) {
    fleet.hit(point).await;
    let ended = eventually("its death", PATIENCE, || fleet.ended(victim)).await;
    assert!(is_by(ended, Signal::SIGABRT), "{victim} ended otherwise: {ended}");
    fleet.start(victim);
}
