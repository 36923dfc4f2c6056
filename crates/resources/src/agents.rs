//! Agent tokens: issued per handoff or job, presented with every call, revoked at the end.

mod authenticate;
mod binding;
mod issue;
mod job_agent;
pub mod signs;

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{
    GroupId, JobId, ProfileId, ProjectId, RunId, SessionId, TaskId, TokenId, UserId,
};
use cynode_domain::policy::Principal;
use cynode_runtime::clock::SharedClock;
use cynode_store::Store;

pub use authenticate::identity;
pub use cynode_store::{JobAgent, TokenOrigin};

use self::signs::{AgentSigns, OpenRequest};
use crate::{Caller, PageError, Signals};

/// Errors of agent-token operations.
#[derive(Debug, thiserror::Error)]
pub enum AgentTokenError {
    /// The token is unknown, expired or revoked, or its user is not active.
    #[error("the token is unknown, expired or revoked")]
    BadToken,
    #[error("only an administrator may do this")]
    NotAdmin,
    /// There is no such token, or the caller may not see it.
    #[error("there is no such token")]
    NotFound,
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error(transparent)]
    Page(#[from] PageError),
    /// The system random number generator failed.
    #[error("could not generate a secret")]
    Secret(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for AgentTokenError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::BadToken => Classification::new(ErrorClass::Unauthenticated, self),
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::NotFound => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::Secret(_) => Classification::internal(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The authenticated caller of the gateway, and what its token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentIdentity {
    pub token_id: TokenId,
    pub agent: Principal,
    pub user: UserId,
    /// The user as a [`Caller`]; never an administrator for agents.
    pub caller: Caller,
    pub groups: Vec<GroupId>,
    pub roles: Vec<String>,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub job: Option<JobId>,
    pub session: Option<SessionId>,
    /// The work that the token was issued for.
    pub origin: TokenOrigin,
    /// The agent that the token was issued to: what a message says about its sender does not count.
    pub job_agent: JobAgent,
    /// What the agent may use; `None` for a user's own client.
    pub profile_id: Option<ProfileId>,
    /// `None` if the token does not expire.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Agent tokens. Cheap to clone.
#[derive(Clone)]
pub struct AgentTokens {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    signs: AgentSigns,
}

impl AgentTokens {
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        let signs = AgentSigns::new(store.clone());
        Self { store, clock, signals, signs }
    }

    /// Sets where the signs of life of authenticated agents are recorded.
    #[must_use]
    pub fn with_signs(self, signs: AgentSigns) -> Self {
        Self { signs, ..self }
    }

    /// Counts the agent of a job as alive until the returned value is dropped.
    pub fn hold_sign(&self, identity: &AgentIdentity) -> Option<OpenRequest> {
        identity.job.map(|job| self.signs.hold(job))
    }
}
