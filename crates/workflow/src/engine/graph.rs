//! A graph: nodes bound to a state, and the edges between them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use async_trait::async_trait;
use cynode_workflow_state::NodeErrorClass;

use super::{NodeContext, NodeRetryPolicy, StateBinding, WorkflowNodeError};

/// The edge out of a node that failed permanently.
pub const FAILED: &str = "failed";
/// The edge out of a node that ends the run.
pub const FINISHED: &str = "finished";

/// An edge out of a node. The first edge whose condition holds is taken.
pub struct GraphEdge<S> {
    /// Name in checkpoints: renaming is a migration.
    pub name: &'static str,
    pub to: &'static str,
    /// Condition; a pure function of the state.
    pub when: fn(&S) -> bool,
    /// State change applied before the transition is saved.
    pub then: fn(&mut S),
}

impl<S> GraphEdge<S> {
    /// An edge without a condition.
    pub const fn otherwise(name: &'static str, to: &'static str) -> Self {
        Self { name, to, when: |_| true, then: |_| () }
    }

    /// An edge with a condition.
    pub const fn when(name: &'static str, to: &'static str, when: fn(&S) -> bool) -> Self {
        Self { name, to, when, then: |_| () }
    }

    /// Adds a state change.
    #[must_use]
    pub const fn then(self, then: fn(&mut S)) -> Self {
        Self { then, ..self }
    }
}

/// A node's permanent failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodePermanentFailure {
    pub node: &'static str,
    pub reason: String,
    /// Class of the last error.
    pub class: NodeErrorClass,
    pub attempts: u32,
}

/// A defect of a graph, detected when it is built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    #[error("duplicate node {0}")]
    DuplicateNode(&'static str),
    #[error("{from} leads to {to}, which is not in the graph")]
    UnknownTarget { from: &'static str, to: &'static str },
}

/// A checkpoint names a node or edge that this version of the graph does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this version of the graph has no edge {edge} out of {node}")]
pub struct UnknownPosition {
    pub node: String,
    pub edge: String,
}

/// Nodes over a state `S`, wired by edges. A node without edges ends the run.
pub struct Graph<S> {
    start: &'static str,
    failure: &'static str,
    on_failure: fn(&mut S, NodePermanentFailure),
    tune: fn(&S, &'static str, NodeRetryPolicy) -> NodeRetryPolicy,
    nodes: BTreeMap<&'static str, GraphNode<S>>,
    duplicate: Option<&'static str>,
}

/// A node with its policy and edges.
pub(super) struct GraphNode<S> {
    pub(super) name: &'static str,
    pub(super) node: Box<dyn ErasedNode<S>>,
    pub(super) policy: NodeRetryPolicy,
    edges: Vec<GraphEdge<S>>,
}

impl<S: Send + Sync + 'static> Graph<S> {
    /// Creates a graph that starts at node `start`; a permanent failure leads to node `failure` after
    /// `on_failure` has written the reason to the state.
    pub fn new(
        start: &'static str,
        failure: &'static str,
        on_failure: fn(&mut S, NodePermanentFailure),
    ) -> Self {
        let tune = |_: &S, _: &'static str, policy| policy;
        Self { start, failure, on_failure, tune, nodes: BTreeMap::new(), duplicate: None }
    }

    /// Derives retry policies from the state: `tune` maps a node's name and default policy to the
    /// effective one.
    #[must_use]
    pub fn with_policy_tuning(
        self,
        tune: fn(&S, &'static str, NodeRetryPolicy) -> NodeRetryPolicy,
    ) -> Self {
        Self { tune, ..self }
    }

    /// Adds a node with its default policy and its edges.
    #[must_use]
    pub fn add_node<N: StateBinding<S> + 'static>(
        mut self,
        node: N,
        policy: NodeRetryPolicy,
        edges: Vec<GraphEdge<S>>,
    ) -> Self {
        let work = Box::new(BoundNode { node, state: PhantomData });
        let station = GraphNode { name: N::NAME, node: work, policy, edges };
        if self.nodes.insert(N::NAME, station).is_some() {
            self.duplicate = Some(N::NAME);
        }
        self
    }

    /// Checks that every edge leads to a node.
    pub fn build(self) -> Result<Self, GraphError> {
        if let Some(name) = self.duplicate {
            return Err(GraphError::DuplicateNode(name));
        }
        let fixed = [("the start", self.start), ("a failure", self.failure)];
        let drawn = self.nodes.values().flat_map(|s| s.edges.iter().map(|e| (s.name, e.to)));
        match fixed.into_iter().chain(drawn).find(|(_, to)| !self.nodes.contains_key(to)) {
            Some((from, to)) => Err(GraphError::UnknownTarget { from, to }),
            None => Ok(self),
        }
    }

    /// The first node of a run.
    pub fn start(&self) -> &'static str {
        self.start
    }

    /// The target of `edge` out of `node`; `None` if the run ended there.
    pub fn successor(
        &self,
        node: &str,
        edge: &str,
    ) -> Result<Option<&'static str>, UnknownPosition> {
        let unknown = || UnknownPosition { node: node.to_owned(), edge: edge.to_owned() };
        let station = self.nodes.get(node).ok_or_else(unknown)?;
        match edge {
            FINISHED if station.edges.is_empty() => Ok(None),
            FAILED if node != self.failure => Ok(Some(self.failure)),
            _ => {
                let edge = station.edges.iter().find(|e| e.name == edge).ok_or_else(unknown)?;
                Ok(Some(edge.to))
            }
        }
    }

    pub(super) fn find_node(&self, name: &str) -> Option<&GraphNode<S>> {
        self.nodes.get(name)
    }

    /// The effective policy of a node.
    pub(super) fn effective_policy(&self, station: &GraphNode<S>, state: &S) -> NodeRetryPolicy {
        (self.tune)(state, station.name, station.policy)
    }

    /// Takes the failure edge; returns the failure if it is the failure node's own.
    pub(super) fn take_failure_edge(
        &self,
        state: &mut S,
        failure: NodePermanentFailure,
    ) -> Result<&'static str, NodePermanentFailure> {
        if failure.node == self.failure {
            return Err(failure);
        }
        (self.on_failure)(state, failure);
        Ok(FAILED)
    }
}

impl<S> GraphNode<S> {
    /// Takes the first edge that applies and returns its name.
    pub(super) fn take_edge(&self, state: &mut S) -> Result<&'static str, WorkflowNodeError> {
        if self.edges.is_empty() {
            return Ok(FINISHED);
        }
        let Some(edge) = self.edges.iter().find(|edge| (edge.when)(state)) else {
            return Err(WorkflowNodeError::Denied("no edge of the graph applies".to_owned()));
        };
        (edge.then)(state);
        Ok(edge.name)
    }
}

/// A node with erased input and output types.
#[async_trait]
pub(super) trait ErasedNode<S>: Send + Sync {
    /// Runs the node once; the state changes only when it succeeds.
    async fn run(&self, cx: &mut NodeContext<'_>, state: &mut S) -> Result<(), WorkflowNodeError>;
}

struct BoundNode<N, S> {
    node: N,
    state: PhantomData<fn(S)>,
}

#[async_trait]
impl<S: Send + Sync, N: StateBinding<S>> ErasedNode<S> for BoundNode<N, S> {
    async fn run(&self, cx: &mut NodeContext<'_>, state: &mut S) -> Result<(), WorkflowNodeError> {
        let output = self.node.run(cx, N::input(state)?).await?;
        N::apply(state, output);
        Ok(())
    }
}

impl<S> fmt::Debug for Graph<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = |s: &GraphNode<S>| s.edges.iter().map(|e| (e.name, e.to)).collect::<Vec<_>>();
        f.debug_map().entries(self.nodes.values().map(|s| (s.name, edges(s)))).finish()
    }
}
