//! Where a granted run goes on.

use cynode_wire::workflow::{CheckpointView, GrantView};

use crate::engine::{Answers, Graph, Resume, UnknownPosition};
use crate::workflow::TaskState;

/// Why a checkpoint cannot be continued by this version of the program; a newer one may.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The state is not what this version writes.
    #[error("the checkpoint cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// It is of a graph that this runner does not know, or no longer.
    #[error(
        "the checkpoint is of graph version {found}, and this runner knows {oldest} to {newest}"
    )]
    Version {
        /// The version of the graph that made it.
        found: u32,
        /// The oldest version that can be continued.
        oldest: u32,
        /// The newest.
        newest: u32,
    },
    /// It stands at a place that the graph does not have.
    #[error(transparent)]
    Unknown(#[from] UnknownPosition),
}

impl ResumeError {
    /// The version of the graph that the run needs, if that is what is wrong.
    pub fn needs(&self) -> Option<u32> {
        match self {
            Self::Version { found, .. } => Some(*found),
            Self::Unreadable(_) | Self::Unknown(_) => None,
        }
    }
}

/// Where the granted run goes on: at its start, or after its checkpoint.
pub fn resume<S: TaskState>(graph: &Graph<S>, grant: &GrantView) -> Result<Resume<S>, ResumeError> {
    let task = grant.hold.task_id;
    let effects = grant.effects.iter().map(|effect| (effect.key.clone(), effect.answer.clone()));
    let answers: Answers = effects.collect();
    let resume = match &grant.checkpoint {
        None => {
            tracing::info!(task.id = %task, "run of task {task} started");
            Resume::fresh(graph, S::new(task))
        }
        Some(checkpoint) => {
            let node = &checkpoint.last_node_id;
            tracing::info!(task.id = %task, node, "run of task {task} resumed after {node}");
            after(graph, checkpoint)?
        }
    };
    Ok(resume.with_answers(answers))
}

fn after<S: TaskState>(
    graph: &Graph<S>,
    checkpoint: &CheckpointView,
) -> Result<Resume<S>, ResumeError> {
    let state: S =
        serde_json::from_value(checkpoint.state.clone()).map_err(ResumeError::Unreadable)?;
    let (found, oldest, newest) = (state.version(), S::OLDEST, S::VERSION);
    if !(oldest..=newest).contains(&found) {
        return Err(ResumeError::Version { found, oldest, newest });
    }
    let position = (checkpoint.sequence, &*checkpoint.last_node_id, &*checkpoint.edge);
    Ok(Resume::after(graph, position, state)?)
}
