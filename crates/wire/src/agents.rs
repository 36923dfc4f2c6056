//! Tokens of agents.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, ProfileId, ProjectId, RunId, SessionId, TaskId, TokenId, UserId};
use cynode_domain::policy::AgentType;
use serde::{Deserialize, Serialize};

/// `POST /v1/agent-tokens`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IssueAgentToken {
    /// Type of the agent that will hold it.
    pub agent_type: AgentType,
    /// Purpose of the token.
    pub name: String,
    /// User it acts for; the caller when absent. Only administrators may name another user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// Lifetime in seconds, 1 to 2592000 (30 days); 3600 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u32>,
    /// Resources it is bound to. A sandbox token needs a task and a job.
    #[serde(flatten)]
    pub binding: BindingView,
}

/// Resources a token is bound to: tools called with it can access nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct BindingView {
    /// The project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

/// An agent's token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct AgentTokenView {
    /// The token's id.
    pub id: TokenId,
    /// Type of the agent that holds it.
    pub agent_type: AgentType,
    /// Purpose of the token.
    pub name: String,
    /// The user it acts for.
    pub user_id: UserId,
    /// Resources it is bound to.
    #[serde(flatten)]
    pub binding: BindingView,
    /// The profile that it acts in: that of its task, else the default profile of its project. Absent for tokens of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    /// Role on the task of the agent that holds it, in which its messages are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<String>,
    /// Work unit of the agent's job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_unit_id: Option<String>,
    /// Profile of the agent; absent for the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Revision of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_revision: Option<u32>,
    /// User who issued it.
    pub created_by: UserId,
    /// When it was issued.
    pub created_at: DateTime<Utc>,
    /// Expiry time.
    pub expires_at: DateTime<Utc>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// A new agent token; the only response with the secret.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NewAgentTokenView {
    /// The token without its secret.
    #[serde(flatten)]
    pub token: AgentTokenView,
    /// The secret. It is not stored and cannot be shown again.
    pub secret: String,
}
