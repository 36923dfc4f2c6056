//! What a runner can drive: a graph, and a state that is stored as JSON.

use std::sync::Arc;

use cynode_domain::changes::Changes;
use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::workflow::{Finish, GraphVersions};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::control::ControlPlane;
use crate::engine::{Graph, GraphError};
use crate::graph::task_graph;
use crate::state::RunState;

/// A node that completed, and the edge that is taken out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position<'a> {
    /// The node.
    pub node: &'a str,
    /// The edge.
    pub edge: &'a str,
}

/// The state of a run, stored as a JSON object with every transition: as a whole, or as what changed.
pub trait TaskState: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The version of the graph that writes it.
    const VERSION: u32;
    /// The oldest version of the graph whose runs can be continued.
    const OLDEST: u32 = Self::VERSION;
    /// What must be remembered of a state to tell later what changed since. Making one costs the
    /// same however long the run is.
    type Mark: Send + 'static;

    /// The state of a run that has not begun.
    fn new(task: TaskId) -> Self;

    /// The version of the graph that wrote it.
    fn version(&self) -> u32;

    /// Remembers this state.
    fn mark(&self) -> Self::Mark;

    /// What is different from the state that `mark` was made of, so that the changes, applied to
    /// that, give this one. It costs as much as what changed.
    fn changes_since(&self, mark: &Self::Mark) -> Result<Changes, serde_json::Error>;

    /// How the run ended.
    fn finish(&self) -> Option<&Finish>;

    /// Which step and job a transition is about.
    fn subject(&self, position: Position<'_>) -> (Option<u32>, Option<JobId>);
}

/// A workflow that a runner can drive.
pub trait Workflow: Send + Sync + 'static {
    /// What its nodes work on.
    type State: TaskState;

    /// The graph of one run, acting through `plane`.
    fn graph(&self, plane: Arc<dyn ControlPlane>) -> Result<Graph<Self::State>, GraphError>;

    /// The versions of the graph that can be driven.
    fn versions(&self) -> GraphVersions {
        GraphVersions { oldest: Self::State::OLDEST, newest: Self::State::VERSION }
    }
}

/// The workflow of a task: the seven nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskWorkflow;

impl Workflow for TaskWorkflow {
    type State = RunState;

    fn graph(&self, plane: Arc<dyn ControlPlane>) -> Result<Graph<RunState>, GraphError> {
        task_graph(plane)
    }
}
