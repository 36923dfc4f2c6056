//! Request and response bodies of the APIs of models, for clients and for providers.
//!
//! Invariant: types here have no behaviour beyond serialisation. Unknown fields are preserved or accepted, because other
//! projects extend these APIs.

pub mod anthropic;
pub mod openai;
