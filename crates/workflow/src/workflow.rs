//! The workflow interface of a runner: a graph, and a state stored as JSON.

use std::sync::Arc;

use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::workflow::{Finish, GraphVersions};
use cynode_workflow_state::WorkflowState;
use cynode_workflow_state::changes::Changes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::{Graph, GraphError};
use crate::graph::build_task_graph;
use crate::run_handle::RunHandle;

/// A completed node and the edge taken out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionPosition<'a> {
    pub node: &'a str,
    pub edge: &'a str,
}

/// The state of a run, stored as a JSON object with every transition: in full, or as changes.
pub trait TaskState: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The version of the graph that writes it.
    const VERSION: u32;
    /// The oldest version of the graph whose runs can be continued.
    const OLDEST: u32 = Self::VERSION;
    /// Snapshot to compute later changes against. Its cost does not depend on the length of the run.
    type Snapshot: Send + 'static;

    /// The initial state.
    fn new(task: TaskId) -> Self;

    /// The version of the graph that wrote it.
    fn version(&self) -> u32;

    /// Takes a snapshot of this state.
    fn snapshot(&self) -> Self::Snapshot;

    /// Computes the changes since `mark`: applied to that state, they yield this one. The cost is
    /// proportional to the changes.
    fn changes_since(&self, mark: &Self::Snapshot) -> Result<Changes, serde_json::Error>;

    fn finish(&self) -> Option<&Finish>;

    /// The step and job that a transition concerns.
    fn transition_subject(&self, position: TransitionPosition<'_>) -> (Option<u32>, Option<JobId>);
}

/// A workflow that a runner can drive.
pub trait RunnableWorkflow: Send + Sync + 'static {
    type State: TaskState;

    /// Builds the graph of one run over `run`.
    fn graph(&self, run: Arc<RunHandle>) -> Result<Graph<Self::State>, GraphError>;

    /// The graph versions that can be driven.
    fn versions(&self) -> GraphVersions {
        GraphVersions { oldest: Self::State::OLDEST, newest: Self::State::VERSION }
    }
}

/// The task workflow with its seven nodes.
#[derive(Debug, Clone, Copy, Default)]
pub struct TaskWorkflow;

impl RunnableWorkflow for TaskWorkflow {
    type State = WorkflowState;

    fn graph(&self, run: Arc<RunHandle>) -> Result<Graph<WorkflowState>, GraphError> {
        build_task_graph(run)
    }
}
