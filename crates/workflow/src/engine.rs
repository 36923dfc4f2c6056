//! A durable graph engine: typed nodes, edges as pure functions, journalled effects, checkpoints.
//!
//! Start at [`Node`], then [`Graph`], then [`drive`]. A node turns data into data and reaches the
//! world through [`NodeCx::effect`] only; which node comes next is decided by the [`Edge`]s of the
//! graph over the state, so a run can be continued from its last checkpoint by another process.
//!
//! Invariant: a node starts only after the transition before it was saved, and an effect whose
//! answer was recorded is never performed again.

mod drive;
mod effects;
mod graph;
mod life;
mod node;
mod retry;

pub use drive::{Checkpoints, Ended, Resume, Stopped, Transition, drive};
pub use effects::{Answers, EffectLog, JournalError, NodeCx};
pub use graph::{Edge, FAILED, FINISHED, Failure, Graph, GraphError, UnknownPosition};
pub use life::Life;
pub use node::{Ask, ErrorClass, Node, NodeError, On};
pub use retry::{Backoff, Policy};
