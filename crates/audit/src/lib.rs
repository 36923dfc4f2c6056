//! The audit log of tool calls: its records, and the hash chain that seals them.
//!
//! A call is one record when it is decided and a second one, its outcome, when it ends. Each record is sealed with the
//! hash of its predecessor, so a change of any record breaks the chain after it.

mod chain;
mod record;

pub use chain::{ChainHead, RecordSeal};
pub use record::{AuditCall, AuditCaller, AuditOutcome, AuditRecord};
