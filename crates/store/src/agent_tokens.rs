//! Tokens of agents. Only SHA-256 hashes of tokens are ever stored.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, ProjectId, RunId, SessionId, TaskId, TokenId, UserId};
use cynode_domain::policy::AgentType;

/// What a token is bound to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Binding {
    /// The project.
    pub project: Option<ProjectId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The run.
    pub run: Option<RunId>,
    /// The job.
    pub job: Option<JobId>,
    /// The session.
    pub session: Option<SessionId>,
}

/// A token of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentToken {
    /// The token's id.
    pub id: TokenId,
    /// The hash of the token.
    pub hash: Vec<u8>,
    /// The kind of agent that holds it.
    pub agent: AgentType,
    /// The user it acts for.
    pub user: UserId,
    /// What it is bound to.
    pub binding: Binding,
    /// What it is for.
    pub name: String,
    /// Who issued it.
    pub created_by: UserId,
    /// When it was issued.
    pub created_at: DateTime<Utc>,
    /// When it ends.
    pub expires_at: DateTime<Utc>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}
