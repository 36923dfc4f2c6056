//! Renews a lease until it is lost.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_wire::workflow::{LeaseToken, RenewLease, WaitingView};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::orchestrator_api::{OrchestratorConnection, RunnerCallError};

/// Why a lease was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum LeaseLoss {
    /// The orchestrator rejected the renewal: the run is canceled, or another runner holds it.
    #[error("the orchestrator rejected the renewal: {0}")]
    Refused(String),
    /// The lease expired by this process's clock while the orchestrator was unreachable.
    #[error("the lease expired while the orchestrator was unreachable")]
    Expired,
}

/// A lease that every transition extends, so that explicit renewals are needed only during long nodes.
#[derive(Debug)]
pub(crate) struct ExtendableLease {
    lifetime: Duration,
    /// Send time of the newest saved transition.
    extended: Mutex<Option<Instant>>,
    /// What the running node last reported to wait for.
    waiting: Mutex<Option<WaitingView>>,
}

impl ExtendableLease {
    pub(super) fn new(lifetime: Duration) -> Self {
        Self { lifetime, extended: Mutex::new(None), waiting: Mutex::new(None) }
    }

    /// Lifetime without renewal.
    pub(crate) fn lifetime_ms(&self) -> u32 {
        to_millis(self.lifetime)
    }

    /// Records that a transition sent at `asked` was saved: from then on, at least two thirds of the
    /// lease were left.
    pub(crate) fn mark_extended(&self, requested_at: Instant) {
        *self.extended.lock().unwrap_or_else(PoisonError::into_inner) = Some(requested_at);
    }

    /// Records what the running node waits for; the next renewal reports it.
    pub(crate) fn set_waiting(&self, node: &str, waiting_for: &str) {
        let waiting = WaitingView { node: node.to_owned(), waiting_for: waiting_for.to_owned() };
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    }

    fn waiting_view(&self) -> Option<WaitingView> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn last_extended(&self) -> Option<Instant> {
        *self.extended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews the lease at a third of its lifetime, until it is lost.
pub(super) async fn renew_until_lost(
    orchestrator: &dyn OrchestratorConnection,
    token: LeaseToken,
    lease: &ExtendableLease,
) -> LeaseLoss {
    let life = lease.lifetime;
    let mut ends = Instant::now() + life;
    let mut due = ends - life * 2 / 3;
    loop {
        sleep_until(due).await;
        if let Some(requested_at) = lease.last_extended()
            && requested_at + life / 3 > due
        {
            ends = ends.max(requested_at + life * 2 / 3);
            due = requested_at + life / 3;
            continue;
        }
        ends = match timeout_at(ends, renew_with_retry(orchestrator, token, lease)).await {
            Ok(Ok(ends)) => ends,
            Ok(Err(lost)) => return lost,
            // A transition may have extended the lease meanwhile.
            Err(_)
                if lease
                    .last_extended()
                    .is_some_and(|requested_at| requested_at + life / 3 > due) =>
            {
                continue;
            }
            Err(_) => return LeaseLoss::Expired,
        };
        due = ends - life * 2 / 3;
    }
}

/// Retries the renewal until it is answered; returns the new end of the lease.
async fn renew_with_retry(
    orchestrator: &dyn OrchestratorConnection,
    token: LeaseToken,
    lease: &ExtendableLease,
) -> Result<Instant, LeaseLoss> {
    let life = lease.lifetime;
    let backoff = Backoff { first: Duration::from_millis(100), cap: life / 12 };
    let body =
        RenewLease { lease: token, lease_ms: Some(to_millis(life)), waiting: lease.waiting_view() };
    let mut failures = 0;
    loop {
        // The orchestrator counts from a later moment, so this end is the earlier one.
        let requested_at = Instant::now();
        match timeout(life / 3, orchestrator.call(&body)).await {
            Ok(Ok(_)) => return Ok(requested_at + life),
            Ok(Err(RunnerCallError::Unavailable(reason) | RunnerCallError::Unreadable(reason))) => {
                tracing::warn!(%reason, "lease renewal failed, retrying");
            }
            Ok(Err(RunnerCallError::Fenced(_) | RunnerCallError::Refused(_)))
                if cynode_fault::fault!("WFL-03") =>
            {
                return Ok(requested_at + life);
            }
            Ok(Err(RunnerCallError::Fenced(reason) | RunnerCallError::Refused(reason))) => {
                return Err(LeaseLoss::Refused(reason));
            }
            Err(_) => tracing::warn!(reason = "timeout", "lease renewal failed, retrying"),
        }
        failures += 1;
        tokio::time::sleep(backoff.jittered_delay(failures)).await;
    }
}

/// Milliseconds as the API expects them.
pub(super) fn to_millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
