//! Leaving a provider alone that fails all the time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::ProviderError;

/// How many failures in a row open the breaker.
pub(super) const FAILURES: u32 = 5;
/// How long it stays open before one attempt is let through.
pub(super) const REST: Duration = Duration::from_secs(15);

/// Counts the failures of one provider.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// When the next attempt is let through; only while the breaker is open.
    retry_at: Option<Instant>,
}

impl Breaker {
    /// Lets an attempt through, or says how long it is to wait. While open, one is let through after
    /// each rest.
    pub(super) fn admit(&self) -> Result<(), Duration> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match state.retry_at {
            Some(at) if now < at => Err(at - now),
            Some(_) => {
                // Others wait until this attempt tells, or another rest has passed.
                state.retry_at = Some(now + REST);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether an attempt would be refused now.
    pub(super) fn is_open(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.retry_at.is_some_and(|at| Instant::now() < at)
    }

    /// An answer in pieces has begun. Whether it was a good one its end will tell: until then others are
    /// let through, and the next failure counts as one too many.
    pub(super) fn begun(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.retry_at = None;
    }

    /// Remembers how an attempt ended. A provider that refuses a request is well.
    pub(super) fn judge(&self, error: Option<&ProviderError>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !error.is_some_and(ProviderError::is_failure_of_provider) {
            *state = State::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES {
            state.retry_at = Some(Instant::now() + REST);
        }
    }
}
