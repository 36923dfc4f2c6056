//! Resumes a granted run from its checkpoint.

use cynode_wire::workflow::{CheckpointView, GrantView};

use crate::engine::{EffectAnswers, Graph, ResumePoint, UnknownPosition};
use crate::workflow::TaskState;

/// Why this version of the program cannot resume a checkpoint; a newer one may.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error("the checkpoint cannot be read")]
    Unreadable(#[source] serde_json::Error),
    #[error("the checkpoint has graph version {found}; this runner supports {oldest} to {newest}")]
    Version { found: u32, oldest: u32, newest: u32 },
    /// The checkpoint names a node or edge that the graph does not have.
    #[error(transparent)]
    Unknown(#[from] UnknownPosition),
}

impl ResumeError {
    /// The graph version that the run needs, if the version is the problem.
    pub fn required_graph_version(&self) -> Option<u32> {
        match self {
            Self::Version { found, .. } => Some(*found),
            Self::Unreadable(_) | Self::Unknown(_) => None,
        }
    }
}

/// Resumes the granted run from its start or its checkpoint.
pub fn resume_run<S: TaskState>(
    graph: &Graph<S>,
    grant: &GrantView,
) -> Result<ResumePoint<S>, ResumeError> {
    let task = grant.lease.task_id;
    let effects = grant.effects.iter().map(|effect| (effect.key.clone(), effect.answer.clone()));
    let answers: EffectAnswers = effects.collect();
    let resume = match &grant.checkpoint {
        None => {
            tracing::info!(task.id = %task, "run started");
            ResumePoint::from_start(graph, S::new(task))
        }
        Some(checkpoint) => {
            let node = &checkpoint.last_node_id;
            tracing::info!(task.id = %task, node, "run resumed");
            resume_after(graph, checkpoint)?
        }
    };
    Ok(resume.with_answers(answers))
}

fn resume_after<S: TaskState>(
    graph: &Graph<S>,
    checkpoint: &CheckpointView,
) -> Result<ResumePoint<S>, ResumeError> {
    let state: S =
        serde_json::from_value(checkpoint.state.clone()).map_err(ResumeError::Unreadable)?;
    let (found, oldest, newest) = (state.version(), S::OLDEST, S::VERSION);
    if !(oldest..=newest).contains(&found) {
        return Err(ResumeError::Version { found, oldest, newest });
    }
    let position = (checkpoint.sequence, &*checkpoint.last_node_id, &*checkpoint.edge);
    Ok(ResumePoint::after_transition(graph, position, state)?)
}
