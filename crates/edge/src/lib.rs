//! The MCP server of a worker node: agents on its host call tools of a sandbox directly, with a capability lease, also while
//! the orchestrator cannot be reached.
//!
//! Start at [`EdgeServer::handle`]. A request passes the stages of the gateway, decided from the lease alone
//! ([`pipeline`]). [`EdgeAuditLog`] records the decision before the tool runs and the outcome before the response. The node
//! sends these records to the orchestrator later, and learns which keys to trust and which leases were revoked
//! ([`EdgeTrust`]).
//!
//! Invariants: what cannot be recorded is not done. A lease that is not known to be valid is refused; without trusted keys, all
//! are. The audit log is bounded: when it is full, no tool runs.

mod audit_log;
pub mod pipeline;
mod server;
mod trust;

pub use audit_log::{EdgeAuditError, EdgeAuditLog, OpenEdgeCall};
pub use server::{EdgeResponse, EdgeServer, EdgeTools, ToolFailure};
pub use trust::EdgeTrust;
