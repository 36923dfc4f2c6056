//! What an attempt at a run of a schedule ended with, and how often each kind of failure is retried.

use cynode_domain::schedule::ScheduleRunStatus;
use cynode_execution::handoff::HandoffError;
use cynode_store::{ReleaseReason, ScheduleRun};

/// Maximum attempts while the project manager is unreachable or busy, failures not counted; about a
/// quarter of an hour with backoff.
const TRIES_AWAY: u32 = 20;
/// Maximum attempts that the project manager starts and fails, other attempts not counted.
const TRIES_FAILED: u32 = 3;

/// The outcome of an attempt.
pub(super) enum AttemptOutcome {
    /// Final.
    Ended(ScheduleRunStatus, String),
    /// Retried, unless the limit for that reason is reached.
    Retry(RetryReason, String),
}

/// The reason for a retry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryReason {
    /// The project manager is unreachable or busy.
    Unreachable,
    /// Started and failed.
    Failed,
    /// The lease is lost: recording the outcome has no effect.
    LeaseLost,
    /// The process is shutting down: the attempt does not count.
    ShuttingDown,
}

impl RetryReason {
    /// Returns the attempts for this reason, including this one, and their limit.
    pub(super) fn attempts_and_limit(self, run: &ScheduleRun) -> (u32, u32) {
        match self {
            Self::Unreachable => (run.delays.saturating_add(1), TRIES_AWAY),
            Self::Failed => (run.failures + 1, TRIES_FAILED),
            Self::LeaseLost | Self::ShuttingDown => (0, u32::MAX),
        }
    }

    /// Returns how the store counts it.
    pub(super) const fn postponement(self) -> ReleaseReason {
        match self {
            Self::Unreachable | Self::LeaseLost => ReleaseReason::ManagerUnavailable,
            Self::Failed => ReleaseReason::Failed,
            Self::ShuttingDown => ReleaseReason::Shutdown,
        }
    }
}

impl AttemptOutcome {
    pub(super) fn failed(why: impl Into<String>) -> Self {
        Self::Ended(ScheduleRunStatus::Failed, why.into())
    }
}

/// Maps a failed handoff to an outcome.
pub(super) fn outcome_of_failed_handoff(error: &HandoffError) -> AttemptOutcome {
    let why = error.to_string();
    match error {
        HandoffError::Unreachable(_)
        | HandoffError::Busy { .. }
        | HandoffError::ConnectionLost(_) => AttemptOutcome::Retry(RetryReason::Unreachable, why),
        HandoffError::Timeout(_) | HandoffError::Failed(_) | HandoffError::Store(_) => {
            AttemptOutcome::Retry(RetryReason::Failed, why)
        }
        HandoffError::Invalid(_) => AttemptOutcome::failed(why),
    }
}

pub(super) fn lease_lost() -> AttemptOutcome {
    AttemptOutcome::Retry(RetryReason::LeaseLost, "the lease was lost".to_owned())
}

pub(super) fn shutting_down() -> AttemptOutcome {
    AttemptOutcome::Retry(RetryReason::ShuttingDown, "the orchestrator was stopped".to_owned())
}
