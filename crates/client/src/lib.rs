//! Typed client of our own APIs: what `cynork`, the runner and the nodes speak through.
//!
//! Start at [`Client`]; each API is one module that adds methods to it. [`Error`] says what a
//! caller can do: an [`Error::Refused`] is the server's own explanation.
//!
//! Invariant: no method retries. Whether a call is safe to repeat is known to the caller only.

mod auth;
mod chat;
mod egress;
mod error;
mod events;
mod gateway;
mod groups;
mod history;
mod inbox;
mod mcp;
mod near;
mod nodes;
mod request;
mod runs;
mod schedules;
mod tasks;
mod workflow;

pub use chat::ChatPieces;
pub use error::{Error, UnreachableReason};
pub use events::Events;
pub use mcp::{McpError, McpResult, McpTool};
pub use request::Client;
