//! How the project manager and its analysts think, decide and talk.
//!
//! Start at [`Agent`]: one method for each kind of handoff. What a model is told is made in
//! [`context`]; a decision is made in [`brain`], by rule where a rule decides, by a model where one
//! must, and by a rule again where the model does not help.
//!
//! Invariant: the control plane is reached through the gateway's tools and with the token of the
//! handoff, and in no other way. Nothing here starts a process, opens a database or knows a
//! provider's credential.

mod agent;
pub mod brain;
pub mod cassette;
mod chat;
pub mod context;
mod error;
mod handoffs;
mod offered;
#[cfg(test)]
mod script;
mod tools;
mod work;

pub use agent::{Agent, AgentOptions, ChatEvents};
pub use error::AgentError;
