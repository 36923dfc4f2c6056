//! A workflow of no-op nodes, with a state of the same size as for the peers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::workflow::{Finish, Outcome};
use cynode_workflow::engine::{
    Graph, GraphEdge, GraphError, NodeContext, NodePermanentFailure, NodeRetryPolicy, StateBinding,
    WorkflowNode, WorkflowNodeError,
};
use cynode_workflow::run_handle::RunHandle;
use cynode_workflow::workflow::{RunnableWorkflow, TaskState, TransitionPosition};
use cynode_workflow_state::changes::Changes;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

const NAMES: [&str; 8] =
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "again"];
/// About 1.4 kB with the rest.
const TEXT_BYTES: usize = 1200;

/// Durable steps of each run of [`SevenStepWorkflow`].
pub(super) const STEPS: u32 = 7;

/// The state: a constant text, a growing number and a growing map.
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
    fn record_step(&mut self) {
        self.done += 1;
        self.by_step.insert(self.done, 1);
    }

    fn record_finish(&mut self) {
        let summary = "Nothing was to be done.".to_owned();
        self.finish = Some(Finish { outcome: Outcome::Completed, summary, verification: None });
    }
}

impl TaskState for BenchState {
    const VERSION: u32 = 1;
    type Snapshot = u32;

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

    fn snapshot(&self) -> u32 {
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

    fn transition_subject(&self, _: TransitionPosition<'_>) -> (Option<u32>, Option<JobId>) {
        (None, None)
    }
}

/// The `N`-th node, a no-op.
struct NoopNode<const N: usize>;

impl<const N: usize> WorkflowNode for NoopNode<N> {
    const NAME: &'static str = NAMES[N];
    type Input = ();
    type Output = ();

    async fn run(&self, _: &mut NodeContext<'_>, (): ()) -> Result<(), WorkflowNodeError> {
        Ok(())
    }
}

impl<const N: usize> StateBinding<BenchState> for NoopNode<N> {
    fn input(_: &BenchState) -> Result<(), WorkflowNodeError> {
        Ok(())
    }

    fn apply(state: &mut BenchState, (): ()) {
        state.record_step();
        if N == 6 {
            state.record_finish();
        }
    }
}

/// Seven consecutive nodes.
pub(super) struct SevenStepWorkflow {
    /// Counts the runs that reached their last node.
    pub(super) ended: Arc<RunCounter>,
}

/// Counts runs that reached their last node.
#[derive(Default)]
pub(super) struct RunCounter {
    count: AtomicU32,
    wanted: AtomicU32,
    enough: Notify,
}

impl RunCounter {
    pub(super) fn with_target(wanted: u32) -> Arc<Self> {
        let ended = Self::default();
        ended.wanted.store(wanted, Ordering::Relaxed);
        Arc::new(ended)
    }

    fn count_run(&self) {
        if self.count.fetch_add(1, Ordering::Relaxed) + 1 == self.wanted.load(Ordering::Relaxed) {
            self.enough.notify_one();
        }
    }

    /// Returns when the wanted number of runs has reached the last node.
    pub(super) async fn wait_for_target(&self) {
        self.enough.notified().await;
    }
}

/// The last node, which counts the run.
struct LastNode(Arc<RunCounter>);

impl WorkflowNode for LastNode {
    const NAME: &'static str = NAMES[6];
    type Input = ();
    type Output = ();

    async fn run(&self, _: &mut NodeContext<'_>, (): ()) -> Result<(), WorkflowNodeError> {
        self.0.count_run();
        Ok(())
    }
}

impl StateBinding<BenchState> for LastNode {
    fn input(_: &BenchState) -> Result<(), WorkflowNodeError> {
        Ok(())
    }

    fn apply(state: &mut BenchState, (): ()) {
        state.record_step();
        state.record_finish();
    }
}

const BOUNDS: NodeRetryPolicy = NodeRetryPolicy::with_timeout(Duration::from_secs(30));

fn edge_to(next: usize) -> Vec<GraphEdge<BenchState>> {
    vec![GraphEdge::otherwise("next", NAMES[next])]
}

fn on_failure(state: &mut BenchState, _: NodePermanentFailure) {
    state.record_finish();
}

impl RunnableWorkflow for SevenStepWorkflow {
    type State = BenchState;

    fn graph(&self, _: Arc<RunHandle>) -> Result<Graph<BenchState>, GraphError> {
        Graph::new(NAMES[0], NAMES[6], on_failure)
            .add_node(NoopNode::<0>, BOUNDS, edge_to(1))
            .add_node(NoopNode::<1>, BOUNDS, edge_to(2))
            .add_node(NoopNode::<2>, BOUNDS, edge_to(3))
            .add_node(NoopNode::<3>, BOUNDS, edge_to(4))
            .add_node(NoopNode::<4>, BOUNDS, edge_to(5))
            .add_node(NoopNode::<5>, BOUNDS, edge_to(6))
            .add_node(LastNode(Arc::clone(&self.ended)), BOUNDS, vec![])
            .build()
    }
}

/// One node, repeated.
pub(super) struct LongWorkflow {
    /// Number of steps of the run.
    pub(super) steps: u32,
    /// Start time of each step.
    pub(super) begun: Arc<std::sync::Mutex<Vec<Instant>>>,
    pub(super) ended: Arc<RunCounter>,
}

struct RepeatedNode(Arc<std::sync::Mutex<Vec<Instant>>>);

impl WorkflowNode for RepeatedNode {
    const NAME: &'static str = NAMES[7];
    type Input = ();
    type Output = ();

    async fn run(&self, _: &mut NodeContext<'_>, (): ()) -> Result<(), WorkflowNodeError> {
        if let Ok(mut begun) = self.0.lock() {
            begun.push(Instant::now());
        }
        Ok(())
    }
}

impl StateBinding<BenchState> for RepeatedNode {
    fn input(_: &BenchState) -> Result<(), WorkflowNodeError> {
        Ok(())
    }

    fn apply(state: &mut BenchState, (): ()) {
        state.record_step();
    }
}

impl RunnableWorkflow for LongWorkflow {
    type State = BenchState;

    fn graph(&self, _: Arc<RunHandle>) -> Result<Graph<BenchState>, GraphError> {
        // Edges are pure functions of the state, so the length is one of a few constants.
        let more: fn(&BenchState) -> bool = match self.steps {
            0..=100 => |state| state.done < 100,
            101..=1_000 => |state| state.done < 1_000,
            _ => |state| state.done < 10_000,
        };
        let edges =
            vec![GraphEdge::when("more", NAMES[7], more), GraphEdge::otherwise("enough", NAMES[6])];
        Graph::new(NAMES[7], NAMES[6], on_failure)
            .add_node(RepeatedNode(Arc::clone(&self.begun)), BOUNDS, edges)
            .add_node(LastNode(Arc::clone(&self.ended)), BOUNDS, vec![])
            .build()
    }
}
