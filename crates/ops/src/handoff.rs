//! Handing work to the project manager.
//!
//! Start at [`Handoffs`]: it gives each handoff a context (facts, preferences, the default skill) and
//! a token of its own that ends with it, bounds how many are open, gives up in time, and puts the
//! decisions that come back on record. [`ProjectManager`] is the seam behind which the other process
//! is reached; without one every handoff is refused as [`HandoffError::Away`], and callers go on by
//! rule.
//!
//! Invariant: nothing is handed over twice once the other side may have begun with it. Only a
//! connection that was never made and a refusal for lack of room are tried again.

mod chat;
pub(crate) mod close;
mod prepare;
mod send;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::{ProjectId, RunId, ScheduleRunId, TaskId, ThreadId};
use cynode_domain::verification::VerificationKey;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::Tasks as Background;
use cynode_store::Store;
use cynode_wire::handoff::{ChatEvent, HandoffKind};
use futures_util::Stream;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::agents::{AgentError, AgentTokens};
use crate::{Caller, Signals};

pub use self::chat::HandoffStream;
pub(crate) use self::send::PLACE_WITHIN;

/// Events of a conversation, as they come from the other process.
pub type ChatEvents = Pin<Box<dyn Stream<Item = Result<ChatEvent, HandoffError>> + Send>>;

/// Why work was not handed over, or not answered.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// There is no project manager, or it cannot be reached: go on by rule, or say so.
    #[error("the project manager cannot be reached: {0}")]
    Away(String),
    /// It has no room now.
    #[error("the project manager is busy")]
    Busy {
        /// When to ask again.
        retry_after: Duration,
    },
    /// It took too long.
    #[error("the project manager did not answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// It went away before it had answered: what it did until then is not known.
    #[error("the project manager went away: {0}")]
    Lost(String),
    /// It failed, or refused.
    #[error("the project manager failed: {0}")]
    Failed(String),
    /// What it is about cannot be seen by the user, or breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl HandoffError {
    /// Whether the work certainly was not begun, so that it can be handed over again.
    pub(crate) fn is_unstarted(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Busy { .. })
    }

    /// Whether the other side may have begun, and so may have acted.
    pub(crate) fn may_have_begun(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Lost(_) | Self::Failed(_))
    }

    /// Whether work that may be done twice can be handed over again.
    pub(crate) fn may_repeat(&self) -> bool {
        self.is_unstarted() || matches!(self, Self::Lost(_))
    }
}

/// The project manager, wherever it runs.
#[async_trait]
pub trait ProjectManager: Send + Sync {
    /// Whether there is any that could be asked.
    fn is_configured(&self) -> bool;

    /// Whether one opens its door now.
    async fn is_there(&self) -> bool {
        self.is_configured()
    }

    /// Hands over anything but a conversation: the body and the answer are those of the kind in
    /// [`cynode_wire::handoff`]. Gives up after `within`.
    async fn hand(
        &self,
        kind: HandoffKind,
        handoff: Value,
        within: Duration,
    ) -> Result<Value, HandoffError>;

    /// Hands over a turn of a conversation. Dropping the stream ends the work on it.
    async fn chat(&self, handoff: Value, within: Duration) -> Result<ChatEvents, HandoffError>;
}

/// Nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

#[async_trait]
impl ProjectManager for Nobody {
    fn is_configured(&self) -> bool {
        false
    }

    async fn hand(&self, _: HandoffKind, _: Value, _: Duration) -> Result<Value, HandoffError> {
        Err(HandoffError::Away("none is configured".to_owned()))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<ChatEvents, HandoffError> {
        Err(HandoffError::Away("none is configured".to_owned()))
    }
}

/// For whom and about what work is handed over.
#[derive(Debug, Clone)]
pub struct Subject {
    /// For whom.
    pub caller: Caller,
    /// About which project.
    pub project: Option<ProjectId>,
    /// About which task.
    pub task: Option<TaskId>,
    /// In which run.
    pub run: Option<RunId>,
    /// In which conversation.
    pub thread: Option<ThreadId>,
    /// For which run of a schedule: what is created on the way is created for that.
    pub schedule_run: Option<ScheduleRunId>,
    /// Follows the work through the logs of every process.
    pub trace_id: String,
    /// Which verification the work is: its token may write that one's findings.
    pub verification: Option<VerificationKey>,
}

impl Subject {
    /// Work for a user about nothing in particular.
    pub fn of(caller: Caller, trace_id: String) -> Self {
        let (project, task, run, thread, schedule_run) = (None, None, None, None, None);
        let verification = None;
        Self { caller, project, task, run, thread, schedule_run, trace_id, verification }
    }
}

/// How much is handed over, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandoffOptions {
    /// How many handoffs are open at once.
    pub max_open: usize,
    /// How long a turn of a conversation may take.
    pub chat_within: Duration,
    /// How long anything else may take.
    pub within: Duration,
    /// How long the choice of a node may take, if that is less. More than the two seconds of the
    /// default are of no use: by then the job has been placed.
    pub place_within: Duration,
}

impl Default for HandoffOptions {
    fn default() -> Self {
        Self {
            max_open: 64,
            chat_within: Duration::from_mins(30),
            within: Duration::from_mins(30),
            place_within: PLACE_WITHIN,
        }
    }
}

/// Handing work to the project manager. Cheap to clone.
#[derive(Clone)]
pub struct Handoffs {
    store: Store,
    clock: SharedClock,
    agents: AgentTokens,
    manager: Arc<dyn ProjectManager>,
    options: HandoffOptions,
    /// One permit for each handoff that may be open.
    room: Arc<Semaphore>,
    /// Ends tokens and keeps decisions, whether or not a caller waits for it.
    background: Background,
}

impl Handoffs {
    /// Handoffs to `manager`.
    pub fn new(
        (store, clock, signals): (Store, SharedClock, Signals),
        manager: Arc<dyn ProjectManager>,
        options: HandoffOptions,
    ) -> Self {
        let agents = AgentTokens::new(store.clone(), clock.clone(), signals);
        let room = Arc::new(Semaphore::new(options.max_open));
        Self { store, clock, agents, manager, options, room, background: Background::new() }
    }

    /// Ends tokens and keeps decisions in `background`; what is handed over is given up when that is
    /// asked to come to its end.
    #[must_use]
    pub fn in_background(self, background: Background) -> Self {
        Self { background, ..self }
    }

    /// Where work goes on that belongs to a handoff.
    pub(crate) fn background(&self) -> Background {
        self.background.clone()
    }

    /// How long a turn of a conversation may take.
    pub(crate) fn chat_within(&self) -> Duration {
        self.options.chat_within
    }

    /// Whether there is a project manager to ask at all.
    pub fn is_configured(&self) -> bool {
        self.manager.is_configured()
    }

    /// Whether the project manager could be asked now.
    pub async fn is_there(&self) -> bool {
        self.manager.is_there().await
    }
}

impl From<AgentError> for HandoffError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Store(error) => Self::Store(error),
            AgentError::Secret(error) => Self::Failed(error.to_string()),
            error @ (AgentError::BadToken
            | AgentError::NotAdmin
            | AgentError::NotFound
            | AgentError::Invalid(_)
            | AgentError::Page(_)) => Self::Invalid(error.to_string()),
        }
    }
}
