//! Outbound connections on behalf of callers, protected against SSRF.
//!
//! Start at [`NetworkReach`], the networks that a connection may reach. [`fetch`] gets documents, [`proxy`] is the only
//! way out of a sandbox.
//!
//! Invariant: a connection is made only to an address that was checked.

pub mod fetch;
pub mod proxy;
mod reach;

pub use reach::{InternalAddress, NetworkReach, USER_AGENT, is_internal, parse_openings};
