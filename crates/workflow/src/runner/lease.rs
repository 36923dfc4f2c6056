//! Keeps a lease alive, and says when it is gone.

use std::time::Duration;

use cynode_wire::workflow::{Hold, RenewLease};
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

/// Renews the lease at a third of its life, until it is lost.
pub(super) async fn keep(leases: &dyn Leases, hold: Hold, life: Duration) -> Lost {
    let mut ends = Instant::now() + life;
    loop {
        sleep_until(ends - life * 2 / 3).await;
        ends = match timeout_at(ends, renewed(leases, hold, life)).await {
            Ok(Ok(ends)) => ends,
            Ok(Err(lost)) => return lost,
            Err(_) => return Lost::Expired,
        };
    }
}

/// Asks until there is an answer; gives the new end of the lease.
async fn renewed(leases: &dyn Leases, hold: Hold, life: Duration) -> Result<Instant, Lost> {
    let backoff = Backoff { first: Duration::from_millis(100), cap: life / 6 };
    let body = RenewLease { hold, lease_ms: Some(millis(life)) };
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
