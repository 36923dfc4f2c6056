//! Keeps a lease alive, and says when it is gone.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cynode_wire::workflow::{Hold, RenewLease, WaitingView};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::engine::Backoff;
use crate::orchestrator::{CallError, Leases};

/// Why a lease is gone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Lost {
    /// The orchestrator says so: canceled, or held by somebody else.
    #[error("the orchestrator refused to renew the lease: {0}")]
    Refused(String),
    /// By this process's own clock it has ended, and the orchestrator could not be asked.
    #[error("the lease ended while the orchestrator could not be reached")]
    Expired,
}

/// A lease that transitions extend, so that only a long node has to be renewed for.
#[derive(Debug)]
pub(crate) struct KeptLease {
    life: Duration,
    /// When the newest transition that was saved left this process.
    extended: Mutex<Option<Instant>>,
    /// What the running node said last that it waits for.
    waiting: Mutex<Option<WaitingView>>,
}

impl KeptLease {
    pub(super) fn new(life: Duration) -> Self {
        Self { life, extended: Mutex::new(None), waiting: Mutex::new(None) }
    }

    /// How long it lasts without renewal.
    pub(crate) fn life_ms(&self) -> u32 {
        millis(self.life)
    }

    /// A transition that left this process at `asked` was saved: from then on, at least two thirds
    /// of the lease were left.
    pub(crate) fn extended(&self, asked: Instant) {
        *self.extended.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
    }

    /// The running node waits for something; the next renewal says so.
    pub(crate) fn waiting(&self, node: &str, waiting_for: &str) {
        let waiting = WaitingView { node: node.to_owned(), waiting_for: waiting_for.to_owned() };
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(waiting);
    }

    fn said(&self) -> Option<WaitingView> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn last_extended(&self) -> Option<Instant> {
        *self.extended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews the lease at a third of its life, until it is lost.
pub(super) async fn keep(leases: &dyn Leases, hold: Hold, lease: &KeptLease) -> Lost {
    let life = lease.life;
    let mut ends = Instant::now() + life;
    let mut due = ends - life * 2 / 3;
    loop {
        sleep_until(due).await;
        if let Some(asked) = lease.last_extended()
            && asked + life / 3 > due
        {
            ends = ends.max(asked + life * 2 / 3);
            due = asked + life / 3;
            continue;
        }
        ends = match timeout_at(ends, renewed(leases, hold, lease)).await {
            Ok(Ok(ends)) => ends,
            Ok(Err(lost)) => return lost,
            // A transition may have got through meanwhile.
            Err(_) if lease.last_extended().is_some_and(|asked| asked + life / 3 > due) => continue,
            Err(_) => return Lost::Expired,
        };
        due = ends - life * 2 / 3;
    }
}

/// Asks until there is an answer; gives the new end of the lease.
async fn renewed(leases: &dyn Leases, hold: Hold, lease: &KeptLease) -> Result<Instant, Lost> {
    let life = lease.life;
    let backoff = Backoff { first: Duration::from_millis(100), cap: life / 12 };
    let body = RenewLease { hold, lease_ms: Some(millis(life)), waiting: lease.said() };
    let mut failures = 0;
    loop {
        // The orchestrator counts from a moment after the request left, so this end is the earlier.
        let asked = Instant::now();
        match timeout(life / 3, leases.renew(&body)).await {
            Ok(Ok(())) => return Ok(asked + life),
            Ok(Err(CallError::Unavailable(reason) | CallError::Unreadable(reason))) => {
                tracing::warn!(%reason, "the lease could not be renewed yet: {reason}");
            }
            Ok(Err(CallError::Fenced(reason) | CallError::Refused(reason))) => {
                return Err(Lost::Refused(reason));
            }
            Err(_) => tracing::warn!("the lease could not be renewed yet: no answer"),
        }
        failures += 1;
        tokio::time::sleep(backoff.delay(failures)).await;
    }
}

/// Milliseconds as the API counts them.
pub(super) fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}
