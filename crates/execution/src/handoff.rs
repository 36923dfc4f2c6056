//! Handoffs: work that the orchestrator gives to the project manager.
//!
//! [`HandoffService`] gives each handoff a context (facts, preferences, the default skill) and its own token, which is
//! revoked at the end, limits how many are open, enforces timeouts, and records the returned decisions.
//! [`ProjectManager`] is the interface to the other process; without one every handoff fails as
//! [`HandoffError::Unreachable`], and callers continue by rule.
//!
//! Invariant: a handoff is not repeated once the project manager may have started it. Only failed connections and
//! rejections for lack of capacity are retried.

mod chat;
pub mod close;
mod prepare;
mod send;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::{ProjectId, RunId, ScheduleRunId, TaskId, ThreadId};
use cynode_domain::verification::VerificationKey;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::{NewTask, Store, Tx};
use cynode_wire::handoff::{ChatEvent, HandoffKind};
use futures_util::Stream;
use serde_json::Value;
use tokio::sync::Semaphore;

use cynode_resources::project_excerpts::ExcerptFinder;
use cynode_resources::{Caller, Signals};
use cynode_resources::{agents::AgentTokenError, agents::AgentTokens};

pub use self::chat::HandoffStream;
pub(crate) use self::send::PLACEMENT_TIMEOUT;
use crate::workflow::task_owner;

/// Default timeout of the search for excerpts; short, because a person waits for the answer.
const EXCERPTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The event stream of a chat turn from the project manager.
pub type HandoffChatEvents = Pin<Box<dyn Stream<Item = Result<ChatEvent, HandoffError>> + Send>>;

/// Why a handoff failed.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// No project manager is configured or reachable: callers continue by rule or report it.
    #[error("the project manager cannot be reached: {0}")]
    Unreachable(String),
    /// All slots are taken.
    #[error("the project manager is busy")]
    Busy { retry_after: Duration },
    #[error("the project manager did not answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The connection was lost before the answer: the side effects so far are unknown.
    #[error("the connection to the project manager was lost: {0}")]
    ConnectionLost(String),
    #[error("the project manager failed: {0}")]
    Failed(String),
    /// The user may not see the subject, or the request is not valid.
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl HandoffError {
    /// Whether the work certainly was not started, so that the handoff can be retried.
    pub fn is_unstarted(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Busy { .. })
    }

    /// Whether the project manager may have started, and so may have caused side effects.
    pub fn may_have_started(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::ConnectionLost(_) | Self::Failed(_))
    }

    /// Whether an idempotent handoff can be retried.
    pub fn is_retryable(&self) -> bool {
        self.is_unstarted() || matches!(self, Self::ConnectionLost(_))
    }
}

/// The connection to the project manager.
#[async_trait]
pub trait ProjectManager: Send + Sync {
    /// Whether a project manager is configured.
    fn is_configured(&self) -> bool;

    /// Whether the project manager is reachable now.
    async fn is_reachable(&self) -> bool {
        self.is_configured()
    }

    /// Sends any handoff except a chat turn; body and answer are those of the kind in [`cynode_wire::handoff`]. Fails
    /// after `within`.
    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        timeout: Duration,
    ) -> Result<Value, HandoffError>;

    /// Sends a chat turn. Dropping the stream cancels it.
    async fn chat(
        &self,
        handoff: Value,
        timeout: Duration,
    ) -> Result<HandoffChatEvents, HandoffError>;
}

/// No project manager: every handoff fails as [`HandoffError::Unreachable`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProjectManager;

#[async_trait]
impl ProjectManager for NoProjectManager {
    fn is_configured(&self) -> bool {
        false
    }

    async fn send_handoff(
        &self,
        _: HandoffKind,
        _: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        Err(HandoffError::Unreachable("none is configured".to_owned()))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("none is configured".to_owned()))
    }
}

/// The user and the objects that a handoff is about.
#[derive(Debug, Clone)]
pub struct HandoffSubject {
    pub caller: Caller,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub thread: Option<ThreadId>,
    /// Tasks that the handoff creates are linked to this schedule run.
    pub schedule_run: Option<ScheduleRunId>,
    /// Correlates the logs of all processes.
    pub trace_id: String,
    /// The verification whose findings the token may write.
    pub verification: Option<VerificationKey>,
    /// The text whose excerpts of the project are part of the context; absent for none.
    pub excerpts_about: Option<String>,
}

impl HandoffSubject {
    /// A run of a task, for the user of the task.
    pub(crate) async fn for_task(
        tx: &mut Tx,
        task: &NewTask,
        run: RunId,
    ) -> Result<Self, cynode_store::Error> {
        let trace = tx.run_of_task(task.id).await?.map(|run| run.trace.to_string());
        let caller = task_owner(tx, task.created_by).await?;
        let subject = Self::for_caller(caller, trace.unwrap_or_default());
        Ok(Self { project: Some(task.project), task: Some(task.id), run: Some(run), ..subject })
    }

    /// A subject with only a caller and a trace.
    pub fn for_caller(caller: Caller, trace_id: String) -> Self {
        let (project, task, run, thread, schedule_run) = (None, None, None, None, None);
        let (verification, excerpts_about) = (None, None);
        Self {
            caller,
            project,
            task,
            run,
            thread,
            schedule_run,
            trace_id,
            verification,
            excerpts_about,
        }
    }
}

/// Limits of handoffs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandoffOptions {
    /// Maximum open handoffs.
    pub max_open: usize,
    /// Timeout of a chat turn.
    pub chat_within: Duration,
    /// Timeout of every other handoff.
    pub timeout: Duration,
    /// Timeout of a placement, if less than `within`. More than the default of two seconds has no use: the job is
    /// placed by rule then.
    pub place_within: Duration,
    /// How long the search for excerpts of the project may delay a handoff.
    pub excerpts_within: Duration,
}

impl Default for HandoffOptions {
    fn default() -> Self {
        Self {
            max_open: 64,
            chat_within: Duration::from_mins(30),
            timeout: Duration::from_mins(30),
            place_within: PLACEMENT_TIMEOUT,
            excerpts_within: EXCERPTS_TIMEOUT,
        }
    }
}

/// The handoff service. Cheap to clone.
#[derive(Clone)]
pub struct HandoffService {
    store: Store,
    clock: SharedClock,
    agents: AgentTokens,
    manager: Arc<dyn ProjectManager>,
    options: HandoffOptions,
    excerpts: ExcerptFinder,
    /// One permit per open handoff.
    permits: Arc<Semaphore>,
    /// Revokes tokens and records decisions, whether or not a caller waits for it.
    background: BackgroundTasks,
}

impl HandoffService {
    /// Creates the service.
    pub fn new(
        store: Store,
        clock: SharedClock,
        signals: Signals,
        manager: Arc<dyn ProjectManager>,
        options: HandoffOptions,
    ) -> Self {
        let agents = AgentTokens::new(store.clone(), clock.clone(), signals);
        let permits = Arc::new(Semaphore::new(options.max_open));
        let (excerpts, background) = (ExcerptFinder::new(store.clone()), BackgroundTasks::new());
        Self { store, clock, agents, manager, options, excerpts, permits, background }
    }

    /// Quotes what this finds in chat turns and plans; without it, the memory of the project only.
    #[must_use]
    pub fn with_excerpts(self, excerpts: ExcerptFinder) -> Self {
        Self { excerpts, ..self }
    }

    /// Revokes tokens and records decisions in `background`; open handoffs are abandoned when it shuts down.
    #[must_use]
    pub fn with_background(self, background: BackgroundTasks) -> Self {
        Self { background, ..self }
    }

    /// The background tasks of handoffs.
    pub fn background(&self) -> BackgroundTasks {
        self.background.clone()
    }

    /// Timeout of a chat turn.
    pub fn chat_within(&self) -> Duration {
        self.options.chat_within
    }

    /// Whether a project manager is configured.
    pub fn is_configured(&self) -> bool {
        self.manager.is_configured()
    }

    /// Whether the project manager is reachable now.
    pub async fn is_reachable(&self) -> bool {
        self.manager.is_reachable().await
    }
}

impl From<AgentTokenError> for HandoffError {
    fn from(error: AgentTokenError) -> Self {
        match error {
            AgentTokenError::Store(error) => Self::Store(error),
            AgentTokenError::Secret(error) => Self::Failed(error.to_string()),
            error @ (AgentTokenError::BadToken
            | AgentTokenError::NotAdmin
            | AgentTokenError::NotFound
            | AgentTokenError::Invalid(_)
            | AgentTokenError::Page(_)) => Self::Invalid(error.to_string()),
        }
    }
}
