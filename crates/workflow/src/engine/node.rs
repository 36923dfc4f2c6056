//! What a node is, how it is tied to the state of a graph, and how it may fail.

use std::future::Future;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Backoff, NodeCx};

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
    /// What it needs is being made elsewhere and takes a while: the run waits without a runner, and the node is entered
    /// again.
    #[error("waits for {0}")]
    Waits(String),
    /// Somebody must answer first: the run waits without a runner, and the node is entered again.
    #[error("somebody must answer first")]
    Asks(Box<Ask>),
}

/// A question that a node cannot go on without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// Unique in the run; the answer is an effect under the same key.
    pub key: String,
    /// The node that asks.
    pub node: String,
    /// The question, in a form that the journal knows.
    pub question: Value,
}

/// The classes of errors. Each has a consequence of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The run stops; nothing more is written.
    Cancelled,
    /// The run stops; nothing more is written.
    LeaseLost,
    /// The node is tried again, after pauses that grow.
    Transient,
    /// The node is tried again soon: nobody has to come back first.
    BadOutput,
    /// The run fails at once.
    Denied,
    /// The run waits for what is being made elsewhere, without a runner.
    Waits,
    /// The run waits for an answer, without a runner.
    Asks,
}

impl NodeError {
    /// The class, which decides what the engine does about it.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Cancelled => ErrorClass::Cancelled,
            Self::LeaseLost => ErrorClass::LeaseLost,
            Self::Transient(_) => ErrorClass::Transient,
            Self::BadOutput(_) => ErrorClass::BadOutput,
            Self::Denied(_) => ErrorClass::Denied,
            Self::Waits(_) => ErrorClass::Waits,
            Self::Asks(_) => ErrorClass::Asks,
        }
    }
}

impl ErrorClass {
    /// The pause before the next attempt after `failures` failures in a row; none if there is none.
    pub fn pause(self, backoff: Backoff, failures: u32) -> Option<Duration> {
        match self {
            Self::Transient => Some(backoff.delay(failures)),
            Self::BadOutput => Some(backoff.delay(1)),
            Self::Cancelled | Self::LeaseLost | Self::Denied | Self::Waits | Self::Asks => None,
        }
    }
}
