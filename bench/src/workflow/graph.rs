//! A workflow of nodes that do nothing, over a state of the size that peers were measured with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cynode_domain::changes::Changes;
use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::workflow::{Finish, Outcome};
use cynode_workflow::control::ControlPlane;
use cynode_workflow::engine::{
    Edge, Failure, Graph, GraphError, Node, NodeCx, NodeError, On, Policy,
};
use cynode_workflow::workflow::{Position, TaskState, Workflow};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

const NAMES: [&str; 8] =
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "again"];
/// About 1.4 kB with the rest.
const TEXT_BYTES: usize = 1200;

/// How many durable steps each run of [`Seven`] has.
pub(super) const STEPS: u32 = 7;

/// The state: a text that stays, a number and a map that grow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BenchState {
    graph_version: u32,
    task_id: TaskId,
    text: String,
    done: u32,
    by_step: BTreeMap<u32, u32>,
    finish: Option<Finish>,
}

impl BenchState {
    fn step(&mut self) {
        self.done += 1;
        self.by_step.insert(self.done, 1);
    }

    fn end(&mut self) {
        let summary = "Nothing was to be done.".to_owned();
        self.finish = Some(Finish { outcome: Outcome::Completed, summary, verification: None });
    }
}

impl TaskState for BenchState {
    const VERSION: u32 = 1;
    type Mark = u32;

    fn new(task: TaskId) -> Self {
        Self {
            graph_version: 1,
            task_id: task,
            text: "x".repeat(TEXT_BYTES),
            done: 0,
            by_step: BTreeMap::new(),
            finish: None,
        }
    }

    fn version(&self) -> u32 {
        self.graph_version
    }

    fn mark(&self) -> u32 {
        self.done
    }

    fn changes_since(&self, done: &u32) -> Result<Changes, serde_json::Error> {
        let new = (done + 1..=self.done).map(|step| (step.to_string(), 1.into())).collect();
        let mut changes = Changes::default();
        changes.set.insert("done".to_owned(), self.done.into());
        changes.merge.insert("by_step".to_owned(), new);
        if let Some(finish) = &self.finish {
            changes.set.insert("finish".to_owned(), serde_json::to_value(finish)?);
        }
        Ok(changes)
    }

    fn finish(&self) -> Option<&Finish> {
        self.finish.as_ref()
    }

    fn subject(&self, _: Position<'_>) -> (Option<u32>, Option<JobId>) {
        (None, None)
    }
}

/// The `N`-th node, which does nothing.
struct Noop<const N: usize>;

impl<const N: usize> Node for Noop<N> {
    const NAME: &'static str = NAMES[N];
    type Input = ();
    type Output = ();

    async fn run(&self, _: &mut NodeCx<'_>, (): ()) -> Result<(), NodeError> {
        Ok(())
    }
}

impl<const N: usize> On<BenchState> for Noop<N> {
    fn input(_: &BenchState) -> Result<(), NodeError> {
        Ok(())
    }

    fn apply(state: &mut BenchState, (): ()) {
        state.step();
        if N == 6 {
            state.end();
        }
    }
}

/// Seven nodes, one after the other.
pub(super) struct Seven {
    /// How many runs have come to their last node.
    pub(super) ended: Arc<Ended>,
}

/// Counts runs that came to their last node.
#[derive(Default)]
pub(super) struct Ended {
    count: AtomicU32,
    wanted: AtomicU32,
    enough: Notify,
}

impl Ended {
    pub(super) fn after(wanted: u32) -> Arc<Self> {
        let ended = Self::default();
        ended.wanted.store(wanted, Ordering::Relaxed);
        Arc::new(ended)
    }

    fn one(&self) {
        if self.count.fetch_add(1, Ordering::Relaxed) + 1 == self.wanted.load(Ordering::Relaxed) {
            self.enough.notify_one();
        }
    }

    /// Returns when as many runs as wanted came to their last node.
    pub(super) async fn all(&self) {
        self.enough.notified().await;
    }
}

/// The last node, which counts.
struct Last(Arc<Ended>);

impl Node for Last {
    const NAME: &'static str = NAMES[6];
    type Input = ();
    type Output = ();

    async fn run(&self, _: &mut NodeCx<'_>, (): ()) -> Result<(), NodeError> {
        self.0.one();
        Ok(())
    }
}

impl On<BenchState> for Last {
    fn input(_: &BenchState) -> Result<(), NodeError> {
        Ok(())
    }

    fn apply(state: &mut BenchState, (): ()) {
        state.step();
        state.end();
    }
}

const BOUNDS: Policy = Policy::within(Duration::from_secs(30));

fn to(next: usize) -> Vec<Edge<BenchState>> {
    vec![Edge::otherwise("next", NAMES[next])]
}

fn on_failure(state: &mut BenchState, _: Failure) {
    state.end();
}

impl Workflow for Seven {
    type State = BenchState;

    fn graph(&self, _: Arc<dyn ControlPlane>) -> Result<Graph<BenchState>, GraphError> {
        Graph::new(NAMES[0], NAMES[6], on_failure)
            .node(Noop::<0>, BOUNDS, to(1))
            .node(Noop::<1>, BOUNDS, to(2))
            .node(Noop::<2>, BOUNDS, to(3))
            .node(Noop::<3>, BOUNDS, to(4))
            .node(Noop::<4>, BOUNDS, to(5))
            .node(Noop::<5>, BOUNDS, to(6))
            .node(Last(Arc::clone(&self.ended)), BOUNDS, vec![])
            .build()
    }
}

/// One node again and again.
pub(super) struct Long {
    /// How many steps the run has.
    pub(super) steps: u32,
    /// When each of them began.
    pub(super) begun: Arc<std::sync::Mutex<Vec<Instant>>>,
    pub(super) ended: Arc<Ended>,
}

struct Again(Arc<std::sync::Mutex<Vec<Instant>>>);

impl Node for Again {
    const NAME: &'static str = NAMES[7];
    type Input = ();
    type Output = ();

    async fn run(&self, _: &mut NodeCx<'_>, (): ()) -> Result<(), NodeError> {
        if let Ok(mut begun) = self.0.lock() {
            begun.push(Instant::now());
        }
        Ok(())
    }
}

impl On<BenchState> for Again {
    fn input(_: &BenchState) -> Result<(), NodeError> {
        Ok(())
    }

    fn apply(state: &mut BenchState, (): ()) {
        state.step();
    }
}

impl Workflow for Long {
    type State = BenchState;

    fn graph(&self, _: Arc<dyn ControlPlane>) -> Result<Graph<BenchState>, GraphError> {
        // Edges are pure functions of the state, so the length is one of a few.
        let more: fn(&BenchState) -> bool = match self.steps {
            0..=100 => |state| state.done < 100,
            101..=1_000 => |state| state.done < 1_000,
            _ => |state| state.done < 10_000,
        };
        let edges = vec![Edge::when("more", NAMES[7], more), Edge::otherwise("enough", NAMES[6])];
        Graph::new(NAMES[7], NAMES[6], on_failure)
            .node(Again(Arc::clone(&self.begun)), BOUNDS, edges)
            .node(Last(Arc::clone(&self.ended)), BOUNDS, vec![])
            .build()
    }
}
