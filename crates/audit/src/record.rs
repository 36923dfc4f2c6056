//! Records of tool calls, without arguments or results.

use chrono::{DateTime, Utc};
use cynode_domain::agent::TokenBinding;
use cynode_domain::ids::{CallId, ChainId, GroupId, ProjectId, TaskId, TokenId, UserId};
use cynode_domain::policy::{CallStatus, Effect, Stage};
use serde::{Deserialize, Serialize};

use crate::LogRow;

/// The caller of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCaller {
    /// `pm`, `pa`, `sandbox`, `user`, or `unknown` for a caller without a valid token.
    pub kind: String,
    pub token: Option<TokenId>,
    pub user: Option<UserId>,
    pub groups: Vec<GroupId>,
    pub roles: Vec<String>,
}

/// The decision on a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCall {
    pub id: CallId,
    /// When it was decided, in whole microseconds.
    pub created_at: DateTime<Utc>,
    pub caller: AuditCaller,
    /// The session is not stored.
    pub binding: TokenBinding,
    pub tool: String,
    /// The slug and id of the server, or `builtin`.
    pub server: String,
    /// Whether the call was allowed.
    pub decision: Effect,
    /// The stage of the policy that decided.
    pub stage: Stage,
    /// The status when decided: pending if allowed.
    pub status: CallStatus,
    /// Why it was denied.
    pub error_type: Option<String>,
    /// How long the decision took, if the call was not executed.
    pub duration_ms: Option<i64>,
    /// The process that decided.
    pub origin: String,
    /// Correlates the request with the logs.
    pub request_id: String,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditOutcome {
    pub call: CallId,
    pub status: CallStatus,
    /// The kind of failure.
    pub error_type: Option<String>,
    pub duration_ms: Option<i64>,
    /// When it ended, in whole microseconds.
    pub recorded_at: DateTime<Utc>,
}

/// A record about a tool call, as worker nodes store and send it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CallRecord {
    Call(Box<AuditCall>),
    Outcome(AuditOutcome),
}

impl From<CallRecord> for AuditRecord {
    fn from(record: CallRecord) -> Self {
        match record {
            CallRecord::Call(call) => Self::Call(call),
            CallRecord::Outcome(outcome) => Self::Outcome(outcome),
        }
    }
}

/// One record of a chain.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditRecord {
    Call(Box<AuditCall>),
    Outcome(AuditOutcome),
    Log(LogRow),
}

impl AuditRecord {
    /// When it was recorded.
    pub fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Call(call) => call.created_at,
            Self::Outcome(outcome) => outcome.recorded_at,
            Self::Log(row) => row.at,
        }
    }
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
