//! The audit log of tool calls: append-only, hash-chained, without arguments or results.
//!
//! A call is one record when it is decided and a second one, its outcome, when it ends; no record is ever
//! updated. An [`writer::AuditWriter`] writes the records of this process; it seals them into its chain ([`ChainHead::seal`]) and signs
//! the new head. [`edge`] stores records that worker nodes sealed, [`logs`] seals the rows of the other logs.

pub(crate) mod edge;
mod logs;
mod rows;
mod sql;
pub(crate) mod writer;

use cynode_audit::{AuditRecord, ChainHead, RecordSeal};

pub(crate) use self::rows::stored_call;
pub(crate) use self::sql::STORED_CALL;
use crate::Error;

/// The head of a chain with its signature, which heads of earlier versions do not have.
pub type SignedHead = (ChainHead, Option<Vec<u8>>);

/// A record with its position.
#[derive(Debug)]
pub struct SealedRecord {
    pub seal: RecordSeal,
    /// An error if the columns cannot be decoded.
    pub record: Result<AuditRecord, Error>,
}
