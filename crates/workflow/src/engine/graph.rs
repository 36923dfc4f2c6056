//! A graph: nodes tied to a state, and the edges between them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use async_trait::async_trait;

use super::{ErrorClass, NodeCx, NodeError, On, Policy};

/// The edge taken out of a node that failed for good.
pub const FAILED: &str = "failed";
/// The edge taken out of a node that ends the run.
pub const FINISHED: &str = "finished";

/// A way out of a node. The first edge whose condition holds is taken.
pub struct Edge<S> {
    /// The edge's name in checkpoints: renaming is a migration.
    pub name: &'static str,
    /// The node it leads to.
    pub to: &'static str,
    /// Whether it is taken; a pure function of the state.
    pub when: fn(&S) -> bool,
    /// What taking it changes in the state, before the transition is saved.
    pub then: fn(&mut S),
}

impl<S> Edge<S> {
    /// The edge that is taken when none before it was.
    pub const fn otherwise(name: &'static str, to: &'static str) -> Self {
        Self { name, to, when: |_| true, then: |_| () }
    }

    /// An edge with a condition.
    pub const fn when(name: &'static str, to: &'static str, when: fn(&S) -> bool) -> Self {
        Self { name, to, when, then: |_| () }
    }

    /// The same edge, changing the state when it is taken.
    #[must_use]
    pub const fn then(self, then: fn(&mut S)) -> Self {
        Self { then, ..self }
    }
}

/// Why the run goes to the failure node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The node that failed.
    pub node: &'static str,
    /// Why, in words.
    pub reason: String,
    /// Of which class the last error was.
    pub class: ErrorClass,
    /// How often it was tried.
    pub attempts: u32,
}

/// What is wrong with a graph; found when it is made, not when it runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Two nodes have one name.
    #[error("node {0} is in the graph twice")]
    Twice(&'static str),
    /// An edge leads nowhere.
    #[error("{from} leads to {to}, which is not in the graph")]
    Nowhere {
        /// Where the edge starts.
        from: &'static str,
        /// Where it should lead.
        to: &'static str,
    },
}

/// A checkpoint names a node or edge that this version of the graph does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this version of the graph has no edge {edge} out of {node}")]
pub struct UnknownPosition {
    /// The node of the checkpoint.
    pub node: String,
    /// The edge of the checkpoint.
    pub edge: String,
}

/// Nodes over a state `S`, wired by edges. A node without edges ends the run.
pub struct Graph<S> {
    start: &'static str,
    failure: &'static str,
    on_failure: fn(&mut S, Failure),
    tune: fn(&S, &'static str, Policy) -> Policy,
    nodes: BTreeMap<&'static str, Station<S>>,
    twice: Option<&'static str>,
}

/// A node in its place.
pub(super) struct Station<S> {
    pub(super) name: &'static str,
    pub(super) work: Box<dyn Work<S>>,
    pub(super) policy: Policy,
    edges: Vec<Edge<S>>,
}

impl<S: Send + Sync + 'static> Graph<S> {
    /// A graph that begins at node `start`; a node that fails for good leads to node `failure`
    /// after `on_failure` has written the reason into the state.
    pub fn new(
        start: &'static str,
        failure: &'static str,
        on_failure: fn(&mut S, Failure),
    ) -> Self {
        let tune = |_: &S, _: &'static str, policy| policy;
        Self { start, failure, on_failure, tune, nodes: BTreeMap::new(), twice: None }
    }

    /// The same graph, whose state says how its nodes are tried: given the name of a node and its
    /// usual bounds, `tune` gives those in force.
    #[must_use]
    pub fn tuned_by(self, tune: fn(&S, &'static str, Policy) -> Policy) -> Self {
        Self { tune, ..self }
    }

    /// Adds a node with its bounds and its ways out.
    #[must_use]
    pub fn node<N: On<S> + 'static>(
        mut self,
        node: N,
        policy: Policy,
        edges: Vec<Edge<S>>,
    ) -> Self {
        let work = Box::new(Tied { node, state: PhantomData });
        let station = Station { name: N::NAME, work, policy, edges };
        if self.nodes.insert(N::NAME, station).is_some() {
            self.twice = Some(N::NAME);
        }
        self
    }

    /// The finished graph, if every edge leads somewhere.
    pub fn build(self) -> Result<Self, GraphError> {
        if let Some(name) = self.twice {
            return Err(GraphError::Twice(name));
        }
        let fixed = [("the start", self.start), ("a failure", self.failure)];
        let drawn = self.nodes.values().flat_map(|s| s.edges.iter().map(|e| (s.name, e.to)));
        match fixed.into_iter().chain(drawn).find(|(_, to)| !self.nodes.contains_key(to)) {
            Some((from, to)) => Err(GraphError::Nowhere { from, to }),
            None => Ok(self),
        }
    }

    /// The node a run begins with.
    pub fn start(&self) -> &'static str {
        self.start
    }

    /// The node that follows `edge` out of `node`; `None` when the run has ended there.
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

    pub(super) fn station(&self, name: &str) -> Option<&Station<S>> {
        self.nodes.get(name)
    }

    /// The bounds of a node that are in force.
    pub(super) fn policy(&self, station: &Station<S>, state: &S) -> Policy {
        (self.tune)(state, station.name, station.policy)
    }

    /// Takes the failure edge out of `node`, or gives the failure back when there is none.
    pub(super) fn fail(&self, state: &mut S, failure: Failure) -> Result<&'static str, Failure> {
        if failure.node == self.failure {
            return Err(failure);
        }
        (self.on_failure)(state, failure);
        Ok(FAILED)
    }
}

impl<S> Station<S> {
    /// Takes the first edge that applies and says its name.
    pub(super) fn leave(&self, state: &mut S) -> Result<&'static str, NodeError> {
        if self.edges.is_empty() {
            return Ok(FINISHED);
        }
        let Some(edge) = self.edges.iter().find(|edge| (edge.when)(state)) else {
            return Err(NodeError::Denied("no edge of the graph applies".to_owned()));
        };
        (edge.then)(state);
        Ok(edge.name)
    }
}

/// A node whose input and output types are hidden behind the state.
#[async_trait]
pub(super) trait Work<S>: Send + Sync {
    /// Runs the node once; the state changes only when it succeeds.
    async fn run(&self, cx: &mut NodeCx<'_>, state: &mut S) -> Result<(), NodeError>;
}

struct Tied<N, S> {
    node: N,
    state: PhantomData<fn(S)>,
}

#[async_trait]
impl<S: Send + Sync, N: On<S>> Work<S> for Tied<N, S> {
    async fn run(&self, cx: &mut NodeCx<'_>, state: &mut S) -> Result<(), NodeError> {
        let output = self.node.run(cx, N::input(state)?).await?;
        N::apply(state, output);
        Ok(())
    }
}

impl<S> fmt::Debug for Graph<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = |s: &Station<S>| s.edges.iter().map(|e| (e.name, e.to)).collect::<Vec<_>>();
        f.debug_map().entries(self.nodes.values().map(|s| (s.name, edges(s)))).finish()
    }
}
