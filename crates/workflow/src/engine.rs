//! A durable graph engine: typed nodes, edges as pure functions, journalled effects, checkpoints.
//!
//! Start at [`WorkflowNode`], then [`Graph`], then [`drive`]. A node maps input to output and performs external
//! calls only through [`NodeContext::effect`]; the [`GraphEdge`]s of the graph choose the next node from the state,
//! so another process can resume a run from its last checkpoint.
//!
//! Invariant: a node starts only after the previous transition was saved, and an effect with a recorded
//! answer is never performed again.

mod drive;
mod effects;
mod graph;
mod heartbeat;
mod node;
mod retry;

pub use drive::{DriveError, DriveOutcome, NodeTransition, ResumePoint, TransitionJournal, drive};
pub use effects::{EffectAnswers, EffectJournal, JournalError, NodeContext};
pub use graph::{
    FAILED, FINISHED, Graph, GraphEdge, GraphError, NodePermanentFailure, UnknownPosition,
};
pub use heartbeat::NodeHeartbeat;
pub use node::{NodeQuestion, StateBinding, WorkflowNode, WorkflowNodeError};
pub use retry::NodeRetryPolicy;
