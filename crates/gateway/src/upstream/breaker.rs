//! Leaving a server alone that fails all the time.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How many failures in a row open the breaker.
const FAILURES: u32 = 5;
/// How long it stays open before one attempt is let through.
const REST: Duration = Duration::from_secs(10);

/// Counts the failures of one server.
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

/// The server is left alone for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Open;

impl Breaker {
    /// Whether an attempt may be made. While open, one is let through after each rest.
    pub(super) fn admit(&self) -> Result<(), Open> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match state.retry_at {
            Some(at) if now < at => Err(Open),
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

    /// The server answered.
    pub(super) fn succeeded(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failures > 0 {
            *state = State::default();
        }
    }

    /// The server did not answer.
    pub(super) fn failed(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures = state.failures.saturating_add(1);
        if state.failures >= FAILURES {
            state.retry_at = Some(Instant::now() + REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Breaker {
        let breaker = Breaker::default();
        for _ in 0..FAILURES {
            assert_eq!(breaker.admit(), Ok(()));
            breaker.failed();
        }
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn after_five_failures_in_a_row_one_attempt_is_let_through_each_ten_seconds() {
        let breaker = broken();

        assert_eq!(breaker.admit(), Err(Open));
        assert!(breaker.is_open());
        tokio::time::advance(REST).await;
        assert!(!breaker.is_open());
        assert_eq!(breaker.admit(), Ok(()));
        assert_eq!(breaker.admit(), Err(Open));
        breaker.failed();
        assert_eq!(breaker.admit(), Err(Open));
        tokio::time::advance(REST).await;
        assert_eq!(breaker.admit(), Ok(()));
        breaker.succeeded();
        assert_eq!(breaker.admit(), Ok(()));
        assert_eq!(breaker.admit(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_in_between_keeps_the_breaker_closed() {
        let breaker = Breaker::default();

        for _ in 0..FAILURES - 1 {
            breaker.failed();
        }
        breaker.succeeded();
        breaker.failed();

        assert_eq!(breaker.admit(), Ok(()));
    }
}
