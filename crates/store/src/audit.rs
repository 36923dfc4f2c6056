//! The record of every tool call: append-only, hash-chained, without arguments or results.
//!
//! A call is one record when it is decided, and a second one, its outcome, when it ended; nothing is
//! ever updated. Records are written by an [`lane::AuditLane`] only, which seals them into its chain
//! ([`chain`]). Reading is [`AuditStore`]; [`verify::verify`] finds out whether somebody else wrote.

pub(crate) mod chain;
pub(crate) mod lane;
mod rows;
mod sql;
pub(crate) mod verify;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{CallId, ChainId, GroupId, ProjectId, TaskId, TokenId, UserId};
use cynode_domain::policy::{CallStatus, Effect, Stage};

use self::chain::{ChainHead, Sealed};
pub(crate) use self::rows::stored_call;
pub(crate) use self::sql::STORED_CALL;
use crate::agent_tokens::Binding;
use crate::{Error, Tx};

/// Who called.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditCaller {
    /// `pm`, `pa`, `sandbox`, `user`, or `unknown` for a caller without a good token.
    pub kind: String,
    /// With which token.
    pub token: Option<TokenId>,
    /// For which user.
    pub user: Option<UserId>,
    /// The user's groups.
    pub groups: Vec<GroupId>,
    /// The user's roles.
    pub roles: Vec<String>,
}

/// A call as it was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCall {
    /// The call's id.
    pub id: CallId,
    /// When it was decided, in whole microseconds.
    pub created_at: DateTime<Utc>,
    /// Who called.
    pub caller: AuditCaller,
    /// For what. The session is not kept.
    pub binding: Binding,
    /// The tool.
    pub tool: String,
    /// The server it is on, or `builtin`.
    pub server: String,
    /// Whether it was let through.
    pub decision: Effect,
    /// The stage that decided.
    pub stage: Stage,
    /// As decided: pending if it was let through.
    pub status: CallStatus,
    /// What kind of refusal.
    pub error_type: Option<String>,
    /// How long the decision took, where that is all there was.
    pub duration_ms: Option<i64>,
    /// Where it was decided.
    pub origin: String,
    /// Finds the request in the logs.
    pub request_id: String,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOutcome {
    /// The call.
    pub call: CallId,
    /// Whether it did what it should.
    pub status: CallStatus,
    /// What kind of failure.
    pub error_type: Option<String>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// When it ended, in whole microseconds.
    pub recorded_at: DateTime<Utc>,
}

/// One record of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuditRecord {
    /// A call was decided.
    Call(Box<AuditCall>),
    /// A call ended.
    Outcome(AuditOutcome),
}

/// A call with its place in its chain and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    /// The call as it was decided.
    pub call: AuditCall,
    /// Its chain.
    pub chain: ChainId,
    /// Its place there.
    pub seq: i64,
    /// Its hash.
    pub hash: Vec<u8>,
    /// What came of it, if it ended.
    pub outcome: Option<AuditOutcome>,
}

/// A place in the list of calls, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditCursor {
    /// When the call was decided.
    pub created_at: DateTime<Utc>,
    /// The call.
    pub id: CallId,
}

/// Which calls are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// For this user.
    pub user: Option<UserId>,
    /// For this task.
    pub task: Option<TaskId>,
    /// In this project.
    pub project: Option<ProjectId>,
    /// Of this tool.
    pub tool: Option<String>,
    /// Allowed or denied.
    pub decision: Option<Effect>,
    /// Not before this moment.
    pub since: Option<DateTime<Utc>>,
    /// Before this moment.
    pub until: Option<DateTime<Utc>>,
    /// Older than this place.
    pub before: Option<AuditCursor>,
}

/// The audit log, for readers and for retention.
#[async_trait]
pub trait AuditStore {
    /// The call with this id.
    async fn call_get(&mut self, id: CallId) -> Result<Option<StoredCall>, Error>;
    /// Calls, newest first.
    async fn call_list(
        &mut self,
        filter: &AuditFilter,
        limit: u32,
    ) -> Result<Vec<StoredCall>, Error>;
    /// How the engine would find these calls, in its own words.
    async fn call_list_plan(&mut self, filter: &AuditFilter, limit: u32) -> Result<String, Error>;
    /// Every chain that a writer began, oldest first.
    async fn chain_list(&mut self) -> Result<Vec<ChainHead>, Error>;
    /// Chains that records claim to belong to and no writer began.
    async fn chain_strays(&mut self) -> Result<Vec<ChainId>, Error>;
    /// Up to `limit` records of a chain after `seq`, in order.
    async fn chain_records(
        &mut self,
        chain: ChainId,
        seq: i64,
        limit: u32,
    ) -> Result<Vec<Sealed>, Error>;
    /// The place and hash behind which a chain begins, if older records were removed.
    async fn chain_anchor(&mut self, chain: ChainId) -> Result<Option<(i64, Vec<u8>)>, Error>;
    /// Removes the records of a chain up to `last`, and keeps its hash as an anchor.
    async fn chain_forget(
        &mut self,
        chain: ChainId,
        last: (i64, &[u8]),
        at: DateTime<Utc>,
    ) -> Result<u64, Error>;
}

#[async_trait]
impl AuditStore for Tx {
    async fn call_get(&mut self, id: CallId) -> Result<Option<StoredCall>, Error> {
        sql::call_get(self, id).await
    }

    async fn call_list(
        &mut self,
        filter: &AuditFilter,
        limit: u32,
    ) -> Result<Vec<StoredCall>, Error> {
        sql::call_list(self, filter, limit).await
    }

    async fn call_list_plan(&mut self, filter: &AuditFilter, limit: u32) -> Result<String, Error> {
        sql::call_list_plan(self, filter, limit).await
    }

    async fn chain_list(&mut self) -> Result<Vec<ChainHead>, Error> {
        sql::chain_list(self).await
    }

    async fn chain_strays(&mut self) -> Result<Vec<ChainId>, Error> {
        sql::chain_strays(self).await
    }

    async fn chain_records(
        &mut self,
        chain: ChainId,
        seq: i64,
        limit: u32,
    ) -> Result<Vec<Sealed>, Error> {
        sql::chain_records(self, chain, seq, limit).await
    }

    async fn chain_anchor(&mut self, chain: ChainId) -> Result<Option<(i64, Vec<u8>)>, Error> {
        sql::chain_anchor(self, chain).await
    }

    async fn chain_forget(
        &mut self,
        chain: ChainId,
        last: (i64, &[u8]),
        at: DateTime<Utc>,
    ) -> Result<u64, Error> {
        sql::chain_forget(self, chain, last, at).await
    }
}
