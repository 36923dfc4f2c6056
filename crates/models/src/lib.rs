//! The only way to a model provider: model selection, credentials, budget, call records.
//!
//! Start at [`egress`]. [`decisions`] reads the decisions of the project manager; [`credentials`]
//! seals the secrets of providers.
//!
//! Invariant: a credential leaves this crate only in a request to its provider.

pub mod answer_channel;
pub mod credentials;
pub mod decisions;
pub mod egress;
