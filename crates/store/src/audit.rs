//! The audit log of tool calls: append-only, hash-chained, without arguments or results.
//!
//! A call is one record when it is decided and a second one, its outcome, when it ends; no record is ever
//! updated. Only an [`writer::AuditWriter`] writes records; it seals them into its chain ([`ChainHead::seal`]).
//! [`verify::verify`] detects records that were changed by anything else.

mod rows;
mod sql;
pub(crate) mod verify;
pub(crate) mod writer;

use chrono::{DateTime, Utc};
use cynode_audit::{AuditCall, AuditOutcome, AuditRecord, ChainHead, RecordSeal};
use cynode_domain::ids::{CallId, ChainId, ProjectId, TaskId, UserId};
use cynode_domain::policy::Effect;

pub(crate) use self::rows::stored_call;
pub(crate) use self::sql::STORED_CALL;
use crate::{Error, Tx};

/// A record with its position.
#[derive(Debug)]
pub struct SealedRecord {
    pub seal: RecordSeal,
    /// An error if the columns cannot be decoded.
    pub record: Result<AuditRecord, Error>,
}

/// A call with its position in the chain and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    pub call: AuditCall,
    pub chain: ChainId,
    /// Its position in the chain.
    pub seq: i64,
    pub hash: Vec<u8>,
    /// `None` while the call runs.
    pub outcome: Option<AuditOutcome>,
}

/// A position in the list of calls, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditCursor {
    pub created_at: DateTime<Utc>,
    pub id: CallId,
}

/// Selects calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub user: Option<UserId>,
    pub task: Option<TaskId>,
    pub project: Option<ProjectId>,
    pub tool: Option<String>,
    /// Allowed or denied.
    pub decision: Option<Effect>,
    /// Inclusive.
    pub since: Option<DateTime<Utc>>,
    /// Exclusive.
    pub until: Option<DateTime<Utc>>,
    /// Only older calls.
    pub before: Option<AuditCursor>,
}

/// The audit log, for readers and for retention.
impl Tx {
    pub async fn call_get(&mut self, id: CallId) -> Result<Option<StoredCall>, Error> {
        sql::call_get(self, id).await
    }

    /// Lists calls, newest first.
    pub async fn call_list(
        &mut self,
        filter: &AuditFilter,
        limit: u32,
    ) -> Result<Vec<StoredCall>, Error> {
        sql::call_list(self, filter, limit).await
    }

    /// Returns the query plan of the engine.
    pub async fn call_list_plan(
        &mut self,
        filter: &AuditFilter,
        limit: u32,
    ) -> Result<String, Error> {
        sql::call_list_plan(self, filter, limit).await
    }

    /// Lists every chain that a writer created, oldest first.
    pub async fn chain_list(&mut self) -> Result<Vec<ChainHead>, Error> {
        sql::chain_list(self).await
    }

    /// Lists chain ids of records for which no chain exists.
    pub async fn chain_list_unregistered(&mut self) -> Result<Vec<ChainId>, Error> {
        sql::chain_list_unregistered(self).await
    }

    /// Lists up to `limit` records of a chain after `seq`, in order.
    pub async fn chain_records(
        &mut self,
        chain: ChainId,
        seq: i64,
        limit: u32,
    ) -> Result<Vec<SealedRecord>, Error> {
        sql::chain_records(self, chain, seq, limit).await
    }

    /// Returns the position and hash after which a chain starts, if older records were deleted.
    pub async fn chain_anchor(&mut self, chain: ChainId) -> Result<Option<(i64, Vec<u8>)>, Error> {
        sql::chain_anchor(self, chain).await
    }

    /// Deletes the records of a chain up to `last`, and keeps its hash as the anchor.
    pub async fn chain_truncate(
        &mut self,
        chain: ChainId,
        last: (i64, &[u8]),
        at: DateTime<Utc>,
    ) -> Result<u64, Error> {
        sql::chain_truncate(self, chain, last, at).await
    }
}
