//! The decisions and chat of the project manager and its analysts.
//!
//! Start at [`HandoffAgent`]: one method per kind of handoff. [`context`] composes the system message of model requests;
//! [`brain`] makes decisions, by rule, else by a model, else by a fallback rule.
//!
//! Invariant: the control plane is accessed only through the gateway's tools with the token of the handoff.
//! Nothing here starts a process, opens a database or holds a provider's credential.

mod agent;
pub mod brain;
pub mod cassette;
mod chat;
pub mod context;
mod error;
mod handoffs;
mod model_schema;
#[cfg(test)]
mod script;
mod session;
mod tools;

pub use agent::{ChatEventStream, HandoffAgent, HandoffAgentOptions};
pub use error::HandoffAgentError;
