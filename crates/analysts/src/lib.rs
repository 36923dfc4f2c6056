//! Analysts: processes that verify one task each, requested by the project manager.
//!
//! Entry points: [`AnalystService::request`], which the project manager calls through its tools, and [`ManagedAnalyst`], which
//! judges steps: rules first, then, for criteria in prose, the findings of an analyst. While an analyst runs, the
//! opinion is `Pending`. An analyst that dies is restarted a few times; if none can judge, prose stays unchecked and the
//! verdict has the reason.
//!
//! Invariant: only findings that were written with the token of a verification count in it.
//!
//! Invariant: no state here must survive a restart. Findings are in the database; running verifications are requested
//! again.

mod changes;
mod evidence;
mod judge;
mod request;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::JobId;
use cynode_execution::ArtifactService;
use cynode_execution::handoff::{HandoffError, HandoffService};
use cynode_resources::Signals;
use cynode_resources::signals::Topic;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::Store;
use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;

pub use self::judge::ManagedAnalyst;

/// Maximum verifications that wait or run at once.
const MAX_SLOTS: usize = 256;
/// How long the result of a finished verification is cached.
const FINISHED_TTL: Duration = Duration::from_mins(10);

/// Result of a request for an analyst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnalystRequestOutcome {
    /// A new analyst was started.
    Started,
    /// An analyst already runs or is queued; the request had no effect.
    AlreadyRunning,
}

/// Why no analyst was started.
#[derive(Debug, thiserror::Error)]
pub enum AnalystRequestError {
    /// Analysts are disabled by configuration.
    #[error("analysts are disabled (orchestrator.pma_analysts)")]
    Disabled,
    #[error("too many verifications wait for an analyst: try again later")]
    TooManyVerifications,
    /// The job does not exist, or the caller may not see it.
    #[error("there is no such job")]
    NoJob,
    /// The job has no result or no prose criteria.
    #[error("{0}")]
    NothingToJudge(&'static str),
    #[error(transparent)]
    Handoff(#[from] HandoffError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for AnalystRequestError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::Disabled => Classification::new(ErrorClass::Disabled, self),
            Self::TooManyVerifications => Classification::new(ErrorClass::Unavailable, self),
            Self::NoJob => Classification::new(ErrorClass::NotFound, self),
            Self::NothingToJudge(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Handoff(_) => Classification::internal(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Why an analyst returned no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnalystLaunchError {
    /// The process could not be started, was killed, crashed or returned an invalid answer: a retry may succeed.
    #[error("{0}")]
    Died(String),
    /// The process was killed at the time limit: not retried.
    #[error("{0}")]
    TimedOut(String),
}

/// Starts analyst processes.
#[async_trait]
pub trait AnalystLauncher: Send + Sync {
    /// Runs one analyst to completion with the handoff as input and returns its answer. Kills it after `within`.
    async fn launch(&self, handoff: Value, timeout: Duration) -> Result<Value, AnalystLaunchError>;
}

/// Settings of analysts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnalystOptions {
    pub is_enabled: bool,
    /// Maximum analysts that run at once.
    pub max: usize,
    /// Time limit of one analyst.
    pub timeout: Duration,
}

impl Default for AnalystOptions {
    fn default() -> Self {
        Self { is_enabled: true, max: 2, timeout: Duration::from_mins(2) }
    }
}

/// Analysts. Cheap to clone.
#[derive(Clone)]
pub struct AnalystService {
    store: Store,
    signals: Signals,
    handoffs: HandoffService,
    launcher: Arc<dyn AnalystLauncher>,
    options: AnalystOptions,
    /// Reads the changes of jobs; `None`: they are no part of the evidence.
    artifacts: Option<ArtifactService>,
    /// One permit per running analyst.
    permits: Arc<Semaphore>,
    /// Verifications by job.
    slots: Arc<Mutex<HashMap<JobId, VerificationSlot>>>,
    background: BackgroundTasks,
}

/// State of the verification of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
enum VerificationSlot {
    /// The project manager was asked to request an analyst.
    Requesting,
    /// An analyst of this orchestrator is queued or runs.
    Running,
    /// An analyst of another orchestrator runs: its deadline, and how often one was requested.
    RunningElsewhere(Instant, u32),
    /// The verification has finished: the reason for unjudged criteria, and when the entry expires.
    Finished(String, Instant),
}

impl VerificationSlot {
    /// A finished verification that is cached for `FINISHED_TTL`.
    fn finished(why: impl Into<String>) -> Self {
        Self::Finished(why.into(), Instant::now() + FINISHED_TTL)
    }

    /// Whether a task of this process works on it.
    const fn is_active(&self) -> bool {
        matches!(self, Self::Requesting | Self::Running)
    }

    /// Whether the entry has expired: no request has used it since.
    fn is_expired(&self, now: Instant) -> bool {
        match self {
            Self::Requesting | Self::Running => false,
            Self::RunningElsewhere(until, _) => *until + FINISHED_TTL <= now,
            Self::Finished(_, until) => *until <= now,
        }
    }
}

impl AnalystService {
    /// Creates the service; `launcher` starts the processes.
    pub fn new(
        store: Store,
        signals: Signals,
        handoffs: HandoffService,
        launcher: Arc<dyn AnalystLauncher>,
        options: AnalystOptions,
    ) -> Self {
        let background = handoffs.background();
        Self {
            store,
            signals,
            handoffs,
            launcher,
            options,
            artifacts: None,
            permits: Arc::new(Semaphore::new(options.max)),
            slots: Arc::default(),
            background,
        }
    }

    /// Makes changes in the repository of a task a part of the evidence.
    #[must_use]
    pub fn with_artifacts(self, artifacts: ArtifactService) -> Self {
        Self { artifacts: Some(artifacts), ..self }
    }

    /// Why the configuration allows no analysts; `None` if it does.
    fn unavailable_reason(&self) -> Option<&'static str> {
        if !self.options.is_enabled {
            Some("analysts are disabled: orchestrator.pma_analysts")
        } else if !self.handoffs.is_configured() {
            Some("no project manager is configured to request an analyst")
        } else {
            None
        }
    }

    /// Runs the work of a slot. If it panics, the slot is marked as finished, so that no request waits for it for
    /// ever, unless another task has taken the slot since.
    async fn run_in_slot(
        &self,
        job: JobId,
        taken: VerificationSlot,
        work: impl Future<Output = ()>,
    ) {
        if AssertUnwindSafe(work).catch_unwind().await.is_err() {
            tracing::error!(job.id = %job, "verification panicked");
            let mut seats = self.lock_slots();
            if seats.get(&job) == Some(&taken) {
                seats.insert(job, VerificationSlot::finished("its verification failed"));
            }
            drop(seats);
            self.signals.send(Topic::Results);
        }
    }

    fn lock_slots(&self) -> MutexGuard<'_, HashMap<JobId, VerificationSlot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether another verification may start. Evicts expired entries.
fn has_free_slot(seats: &mut HashMap<JobId, VerificationSlot>) -> bool {
    let now = Instant::now();
    seats.retain(|_, seat| !seat.is_expired(now));
    seats.values().filter(|seat| seat.is_active()).count() < MAX_SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifications_that_nobody_asks_about_take_no_place() {
        let many = || (0..2 * MAX_SLOTS).map(|_| JobId::generate());
        let mut ended: HashMap<_, _> =
            many().map(|job| (job, VerificationSlot::finished("canceled"))).collect();
        let past = VerificationSlot::Finished("long ago".to_owned(), Instant::now());
        let mut forgotten: HashMap<_, _> = many().map(|job| (job, past.clone())).collect();
        let mut taken: HashMap<_, _> = many().map(|job| (job, VerificationSlot::Running)).collect();

        assert!(
            has_free_slot(&mut ended)
                && has_free_slot(&mut forgotten)
                && !has_free_slot(&mut taken)
        );
        assert_eq!((ended.len(), forgotten.len()), (2 * MAX_SLOTS, 0));
    }
}
