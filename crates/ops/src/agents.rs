//! Tokens of agents: issued per handoff or job, presented with every call, revoked at the end.

mod authenticate;
mod bind;
mod issue;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, JobId, ProjectId, RunId, SessionId, TaskId, TokenId, UserId};
use cynode_domain::policy::Principal;
use cynode_runtime::clock::SharedClock;
use cynode_store::Store;

pub(crate) use authenticate::{identity, with_groups};
pub use cynode_store::TokenOrigin;

use crate::{BadCursor, Caller, Signals};

/// Why an operation on agent tokens was refused.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The token is unknown, over or revoked, or its user is not active.
    #[error("the token is unknown, expired or revoked")]
    BadToken,
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// There is no such token, or the caller may not see it.
    #[error("there is no such token")]
    NotFound,
    /// The request breaks rules.
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The system gave no randomness.
    #[error("no secret could be made")]
    Secret(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Who presented a token to the gateway, and what the token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    /// The token.
    pub token_id: TokenId,
    /// In which role.
    pub agent: Principal,
    /// For which user.
    pub user: UserId,
    /// The user as operations know them; never an administrator for agents.
    pub caller: Caller,
    /// The user's groups.
    pub groups: Vec<GroupId>,
    /// The user's roles.
    pub roles: Vec<String>,
    /// Bound to this project.
    pub project: Option<ProjectId>,
    /// Bound to this task.
    pub task: Option<TaskId>,
    /// Bound to this run.
    pub run: Option<RunId>,
    /// Bound to this job.
    pub job: Option<JobId>,
    /// Bound to this session.
    pub session: Option<SessionId>,
    /// The work that the token was issued for.
    pub origin: TokenOrigin,
    /// When the token ends; never, without one.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Tokens of agents. Cheap to clone.
#[derive(Clone)]
pub struct AgentTokens {
    store: Store,
    clock: SharedClock,
    signals: Signals,
}

impl AgentTokens {
    /// Tokens kept in `store`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        Self { store, clock, signals }
    }
}
