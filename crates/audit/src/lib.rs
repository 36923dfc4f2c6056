//! The audit log: its records, the hash chains that seal them, and the signatures of those.
//!
//! A tool call is one record when it is decided and a second one, its outcome, when it ends; rows of the other logs are
//! records too. Each record is sealed with the hash of its predecessor, so a change of any record breaks the chain after
//! it. The newest record and the anchor of retention are signed, so a chain cannot be rebuilt without the key.

mod chain;
mod log;
mod position;
mod record;
mod verify;

pub use chain::{ChainHead, RecordSeal};
pub use log::{ColumnKind, LOG_CHAIN, LOGS, LogRow, LogSealing, LogTable};
pub use position::{AuditKeys, ChainPosition, InvalidAuditKey, InvalidPosition, SignedClaim};
pub use record::{
    AuditCall, AuditCaller, AuditCursor, AuditFilter, AuditOutcome, AuditRecord, CallRecord,
    StoredCall,
};
pub use verify::{ChainReport, ChainVerifier, KnownPosition, PositionSource, SignedPosition};
