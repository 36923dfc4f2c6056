//! Tool handlers: functions of inputs and a context, found by dotted name in a table that is compiled in.
//!
//! Start at [`find_handler`]. [`HandlerName`] accepts names of the namespace `cuga.modular.tools.` only; [`HANDLERS`] is
//! the table. A handler declares its parameters as a type, from which its schema is derived.
//!
//! Invariants: nothing is loaded by name; a handler evaluates no code, reads and writes no file and starts no process; it
//! reaches the network through [`HandlerContext::fetch`] only, which is absent unless the caller may use the network;
//! work and results are bounded by the limits of the inputs.

mod context;
mod handlers;
mod name;

use cynode_wire::tool_calls::ToolCall;
use futures_util::future::BoxFuture;
use serde_json::Value;

pub use context::{FetchDocument, FetchFailure, FetchedJson, HandlerContext};
pub use handlers::HANDLERS;
pub use name::{HandlerName, InvalidHandlerName, NAMESPACE};

/// Why a handler failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandlerError {
    #[error("no handler is registered as {0}")]
    Unknown(HandlerName),
    #[error(transparent)]
    Name(#[from] InvalidHandlerName),
    /// The inputs do not match the parameters, or have no result.
    #[error("{0}")]
    Inputs(String),
    /// The handler needs the network, which the profile of the caller does not allow.
    #[error("the profile of the caller does not allow the network")]
    NetworkNotAllowed,
    #[error(transparent)]
    Fetch(#[from] FetchFailure),
}

/// Whether a handler reaches the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkUse {
    None,
    Required,
}

/// The result of a handler.
pub type HandlerResult = Result<Value, HandlerError>;

/// A handler in the table.
#[derive(Debug)]
pub struct ToolHandler {
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// For models.
    pub description: &'static str,
    /// The JSON Schema of its parameters, derived from their type.
    pub parameters: fn() -> Value,
    /// The members that every result has.
    pub results: &'static [&'static str],
    pub network: NetworkUse,
    run: fn(Value, HandlerContext) -> BoxFuture<'static, HandlerResult>,
}

impl ToolHandler {
    /// Validates the inputs and calls the handler.
    pub async fn call(&self, inputs: Value, context: HandlerContext) -> HandlerResult {
        if self.network == NetworkUse::Required && context.fetch.is_none() {
            return Err(HandlerError::NetworkNotAllowed);
        }
        (self.run)(inputs, context).await
    }
}

/// Finds the handler of a name.
pub fn find_handler(name: &str) -> Result<&'static ToolHandler, HandlerError> {
    let name: HandlerName = name.parse()?;
    let found = HANDLERS.iter().find(|handler| handler.name == name.as_str());
    found.ok_or(HandlerError::Unknown(name))
}

/// Calls a handler by name.
pub async fn call_handler(name: &str, inputs: Value, context: HandlerContext) -> HandlerResult {
    find_handler(name)?.call(inputs, context).await
}

/// Reads inputs as the parameters of a handler. Members that they do not declare are rejected.
fn parse_inputs<C: ToolCall>(inputs: Value) -> Result<C, HandlerError> {
    serde_json::from_value(inputs).map_err(|error| HandlerError::Inputs(error.to_string()))
}

/// The handler of a function without I/O.
macro_rules! pure_handler {
    ($inputs:ty, $run:path) => {
        |inputs, _| {
            let outcome = $crate::parse_inputs::<$inputs>(inputs).and_then($run);
            Box::pin(std::future::ready(outcome))
        }
    };
}
use pure_handler;
