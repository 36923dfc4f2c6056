//! Audit records of tool calls and chats: caller and outcome, without content.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{
    CallId, ChainId, ChatTurnId, GroupId, JobId, ProjectId, RunId, ServerId, TaskId, ThreadId,
    TokenId, UserId,
};
use cynode_domain::policy::{CallStatus, Effect, Stage};
use serde::{Deserialize, Serialize};

/// Filters on tool calls.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only for this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Only in this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Only for this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Only of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only with this decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Effect>,
    /// Only at or after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<DateTime<Utc>>,
    /// Only before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CallView {
    /// The call's id.
    pub id: CallId,
    /// Hash chain of the record.
    pub chain_id: ChainId,
    /// Sequence number in the chain.
    pub seq: i64,
    /// Time of the decision.
    pub created_at: DateTime<Utc>,
    /// `pm`, `pa`, `sandbox`, `user`, or `unknown` for a caller without a valid token.
    pub agent_type: String,
    /// Token of the caller.
    pub token_id: Option<TokenId>,
    /// User of the caller.
    pub user_id: Option<UserId>,
    /// That user's groups.
    pub group_ids: Vec<GroupId>,
    /// That user's roles.
    pub role_names: Vec<String>,
    /// The project.
    pub project_id: Option<ProjectId>,
    /// The task.
    pub task_id: Option<TaskId>,
    /// The run.
    pub run_id: Option<RunId>,
    /// The job.
    pub job_id: Option<JobId>,
    /// The tool.
    pub tool_name: String,
    /// The server it is on, or `builtin`.
    pub server: String,
    /// The id of that server.
    #[serde(default)]
    pub server_id: Option<ServerId>,
    /// Whether it was allowed.
    pub decision: Effect,
    /// The stage that decided.
    pub stage: Stage,
    /// Outcome.
    pub status: CallStatus,
    /// Error type of a failed call.
    pub error_type: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: Option<i64>,
    /// Component that decided: `gateway`, or a node.
    pub origin: String,
    /// Trace id, to find the request in the logs.
    pub request_id: String,
    /// Hash of the record, included in the next record of the chain.
    pub hash: String,
}

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct VerifyView {
    /// Whether all chains are intact.
    pub intact: bool,
    /// Number of verified records.
    pub records: u64,
    /// Each chain.
    pub chains: Vec<ChainView>,
}

/// The newest records of all chains.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct AuditHeadView {
    /// Positions and hashes, as text. Kept elsewhere, it proves later that no record up to here was changed or removed.
    pub head: String,
    /// The public key that verifies the signatures of heads, in base64.
    pub public_key: String,
}

/// What to verify.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VerifyQuery {
    /// An earlier value of `GET /v1/audit/head`: the chains must still contain its records, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// Result of the verification of one chain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChainView {
    /// The chain.
    pub chain_id: ChainId,
    /// Number of verified records.
    pub records: u64,
    /// Sequence number of the newest record.
    pub last_seq: i64,
    /// Hash of the newest record. Stored elsewhere, it proves later that the chain was not truncated.
    pub head: String,
    /// Faults, in order; at most 100.
    pub faults: Vec<String>,
}

/// Filters on chat requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChatRecordQuery {
    /// Only of this user. Only administrators may name another user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Metadata of one chat request, without message text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatRecordView {
    /// The request.
    pub id: ChatTurnId,
    /// Time of the request.
    pub created_at: DateTime<Utc>,
    /// User of the request.
    pub user_id: UserId,
    /// Project, if resolved.
    pub project_id: Option<ProjectId>,
    /// Thread, if resolved.
    pub thread_id: Option<ThreadId>,
    /// Requested model.
    pub model: String,
    /// `success`, `error`, `canceled` or `timeout`.
    pub outcome: String,
    /// Error code of the response.
    pub error_code: Option<String>,
    /// Whether secrets were redacted.
    pub redaction_applied: bool,
    /// Kinds of redacted secrets.
    pub redaction_kinds: Vec<String>,
    /// Duration in milliseconds.
    pub duration_ms: i64,
    /// Trace id, to find the request in the logs.
    pub request_id: String,
}
