//! The record of every tool call and every chat: who asked, and what came of it. Never with what.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{
    CallId, ChainId, ChatTurnId, GroupId, JobId, ProjectId, RunId, TaskId, ThreadId, TokenId,
    UserId,
};
use cynode_domain::policy::{CallStatus, Effect, Stage};
use serde::{Deserialize, Serialize};

/// Which calls are wanted.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// How many, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// For this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// In this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// For this user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Of this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Allowed or denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Effect>,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<DateTime<Utc>>,
    /// Before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<DateTime<Utc>>,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CallView {
    /// The call's id.
    pub id: CallId,
    /// The chain that holds it.
    pub chain_id: ChainId,
    /// Its place in the chain.
    pub seq: i64,
    /// When it was decided.
    pub created_at: DateTime<Utc>,
    /// `pm`, `pa`, `sandbox`, `user`, or `unknown` for a caller without a good token.
    pub agent_type: String,
    /// The token it was made with.
    pub token_id: Option<TokenId>,
    /// The user it was made for.
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
    /// Whether it was let through.
    pub decision: Effect,
    /// The stage that decided.
    pub stage: Stage,
    /// What came of it.
    pub status: CallStatus,
    /// What kind of failure, when it failed.
    pub error_type: Option<String>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// Where it was decided: `gateway`, or a node.
    pub origin: String,
    /// Finds the request in the logs.
    pub request_id: String,
    /// The hash that the next record of the chain builds on.
    pub hash: String,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct VerifyView {
    /// Whether every chain is whole.
    pub intact: bool,
    /// Records looked at.
    pub records: u64,
    /// Each chain.
    pub chains: Vec<ChainView>,
}

/// What a verification found in one chain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChainView {
    /// The chain.
    pub chain_id: ChainId,
    /// Records looked at.
    pub records: u64,
    /// The place of the newest record.
    pub last_seq: i64,
    /// The hash of the newest record. Kept elsewhere, it proves later that the end was not cut off.
    pub head: String,
    /// What is wrong, first fault first; at most a hundred.
    pub faults: Vec<String>,
}

/// Which requests to chat are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChatRecordQuery {
    /// Of this user; administrators only see those of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// How one request to chat went: never what was said.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatRecordView {
    /// The request.
    pub id: ChatTurnId,
    /// When it came.
    pub created_at: DateTime<Utc>,
    /// Who asked.
    pub user_id: UserId,
    /// In which project, if that became known.
    pub project_id: Option<ProjectId>,
    /// In which thread, if it came that far.
    pub thread_id: Option<ThreadId>,
    /// Which model was asked.
    pub model: String,
    /// `success`, `error`, `canceled` or `timeout`.
    pub outcome: String,
    /// What a client was told went wrong.
    pub error_code: Option<String>,
    /// Whether secrets were taken out of it.
    pub redaction_applied: bool,
    /// The sorts of secrets that were taken out.
    pub redaction_kinds: Vec<String>,
    /// How long it took.
    pub duration_ms: i64,
    /// Finds the request in the logs.
    pub request_id: String,
}
