//! What a node is, how it is tied to the state of a graph, and how it may fail.

use std::future::Future;

use super::NodeCx;

/// One unit of work. It never picks its successor, and it may be run again after a crash.
pub trait Node: Send + Sync {
    /// The node's name in checkpoints: renaming is a migration.
    const NAME: &'static str;
    /// What it needs.
    type Input: Send;
    /// What it makes.
    type Output: Send;

    /// Turns the input into the output; effects go through `cx`.
    fn run(
        &self,
        cx: &mut NodeCx<'_>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, NodeError>> + Send;
}

/// Ties a node to the state `S` of a graph. Both functions are pure.
pub trait On<S>: Node {
    /// Reads the node's input from the state.
    fn input(state: &S) -> Result<Self::Input, NodeError>;

    /// Writes the node's output into the state.
    fn apply(state: &mut S, output: Self::Output);
}

/// Why a node did not complete. The class decides what the engine does about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NodeError {
    /// Somebody stopped the run: it ends at once, without another write.
    #[error("the run was canceled")]
    Cancelled,
    /// Another holder may drive the run now: it ends at once, without another write.
    #[error("the lease was lost")]
    LeaseLost,
    /// The same attempt may succeed later.
    #[error("{0}")]
    Transient(String),
    /// The answer could not be understood; another attempt may give a better one.
    #[error("{0}")]
    BadOutput(String),
    /// Another attempt cannot help: the workflow fails.
    #[error("{0}")]
    Denied(String),
}

impl NodeError {
    /// Whether the node may be tried again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Transient(_) | Self::BadOutput(_) => true,
            Self::Cancelled | Self::LeaseLost | Self::Denied(_) => false,
        }
    }
}
