//! The node interface, its binding to the state of a graph, and its errors.

use std::future::Future;

use cynode_workflow_state::NodeErrorClass;
use serde_json::Value;

use super::NodeContext;

/// One unit of work. It never chooses its successor, and it may be run again after a crash.
pub trait WorkflowNode: Send + Sync {
    /// Name in checkpoints: renaming is a migration.
    const NAME: &'static str;
    type Input: Send;
    type Output: Send;

    /// Computes the output; effects go through `cx`.
    fn run(
        &self,
        cx: &mut NodeContext<'_>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, WorkflowNodeError>> + Send;
}

/// Binds a node to the state `S` of a graph. Both functions are pure.
pub trait StateBinding<S>: WorkflowNode {
    /// Reads the node's input from the state.
    fn input(state: &S) -> Result<Self::Input, WorkflowNodeError>;

    /// Writes the node's output into the state.
    fn apply(state: &mut S, output: Self::Output);
}

/// Why a node did not complete. The class determines how the engine reacts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowNodeError {
    /// The run ends at once, without another write.
    #[error("the run was canceled")]
    Cancelled,
    /// Another holder may drive the run now: the drive ends at once, without another write.
    #[error("the lease was lost")]
    LeaseLost,
    /// A later attempt may succeed.
    #[error("{0}")]
    Transient(String),
    /// The response could not be parsed; another attempt may return a valid one.
    #[error("{0}")]
    BadOutput(String),
    /// Permanent: the run fails.
    #[error("{0}")]
    Denied(String),
    /// The node needs a result that is being produced elsewhere: the run waits without a runner, and the node is
    /// entered again.
    #[error("waits for {0}")]
    WaitingFor(String),
    /// The node needs an answer: the run waits without a runner, and the node is entered again.
    #[error("waiting for an answer")]
    NeedsAnswer(Box<NodeQuestion>),
}

/// A question whose answer a node needs to continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeQuestion {
    /// Unique in the run; the answer is recorded as an effect with the same key.
    pub key: String,
    pub node: String,
    /// The question, in the journal's format.
    pub question: Value,
}

impl WorkflowNodeError {
    pub fn class(&self) -> NodeErrorClass {
        match self {
            Self::Cancelled => NodeErrorClass::Cancelled,
            Self::LeaseLost => NodeErrorClass::LeaseLost,
            Self::Transient(_) => NodeErrorClass::Transient,
            Self::BadOutput(_) => NodeErrorClass::BadOutput,
            Self::Denied(_) => NodeErrorClass::Denied,
            Self::WaitingFor(_) => NodeErrorClass::Waits,
            Self::NeedsAnswer(_) => NodeErrorClass::Asks,
        }
    }
}
