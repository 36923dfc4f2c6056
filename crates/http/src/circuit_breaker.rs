//! Circuit breaker of one server.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Counts consecutive failures of one server and rejects attempts after too many.
#[derive(Debug)]
pub struct CircuitBreaker {
    options: CircuitBreakerOptions,
    state: Mutex<CircuitState>,
}

/// When a circuit opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitBreakerOptions {
    /// Consecutive failures that open the circuit.
    pub failure_threshold: u32,
    /// How long the circuit stays open before one probe is admitted.
    pub open_duration: Duration,
}

/// The circuit is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the circuit is open")]
pub struct CircuitOpen {
    /// How long until the next probe is admitted.
    pub retry_after: Duration,
}

#[derive(Debug, Default)]
struct CircuitState {
    failures: u32,
    /// When the next probe is admitted; `None` while the circuit is closed.
    retry_at: Option<Instant>,
}

impl CircuitBreaker {
    /// A closed circuit.
    pub fn new(options: CircuitBreakerOptions) -> Self {
        Self { options, state: Mutex::default() }
    }

    /// Admits an attempt. While the circuit is open, admits one probe per open duration.
    pub fn admit(&self) -> Result<(), CircuitOpen> {
        let mut state = self.lock();
        let now = Instant::now();
        match state.retry_at {
            Some(at) if now < at => Err(CircuitOpen { retry_after: at - now }),
            Some(_) => {
                // Other attempts are rejected until this probe succeeds or another open duration has passed.
                state.retry_at = Some(now + self.options.open_duration);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Whether an attempt would be rejected now. Does not change the state.
    pub fn is_open(&self) -> bool {
        self.lock().retry_at.is_some_and(|at| Instant::now() < at)
    }

    /// Records an answer: closes the circuit.
    pub fn record_success(&self) {
        *self.lock() = CircuitState::default();
    }

    /// Records that a streamed answer has started: other attempts are admitted until it ends, but the failure
    /// count stays, so the next failure opens the circuit again.
    pub fn record_stream_start(&self) {
        self.lock().retry_at = None;
    }

    /// Records a failure.
    pub fn record_failure(&self) {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        if state.failures >= self.options.failure_threshold {
            state.retry_at = Some(Instant::now() + self.options.open_duration);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CircuitState> {
        // No holder of the lock can panic in an inconsistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: CircuitBreakerOptions =
        CircuitBreakerOptions { failure_threshold: 5, open_duration: Duration::from_secs(10) };

    fn opened_breaker() -> CircuitBreaker {
        let breaker = CircuitBreaker::new(OPTIONS);
        for _ in 0..OPTIONS.failure_threshold {
            assert_eq!(breaker.admit(), Ok(()));
            breaker.record_failure();
        }
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn after_five_failures_in_a_row_one_attempt_is_let_through_each_ten_seconds() {
        let breaker = opened_breaker();
        let rejected = Err(CircuitOpen { retry_after: OPTIONS.open_duration });

        assert_eq!(breaker.admit(), rejected);
        assert!(breaker.is_open());
        tokio::time::advance(OPTIONS.open_duration).await;
        assert!(!breaker.is_open());
        assert_eq!(breaker.admit(), Ok(()));
        assert_eq!(breaker.admit(), rejected);
        breaker.record_failure();
        assert_eq!(breaker.admit(), rejected);
        tokio::time::advance(OPTIONS.open_duration).await;
        assert_eq!(breaker.admit(), Ok(()));
        breaker.record_success();
        assert_eq!(breaker.admit(), Ok(()));
        assert_eq!(breaker.admit(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejected_attempt_is_told_how_long_to_wait() {
        let breaker = opened_breaker();

        tokio::time::advance(Duration::from_secs(7)).await;

        assert_eq!(breaker.admit(), Err(CircuitOpen { retry_after: Duration::from_secs(3) }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_success_in_between_keeps_the_breaker_closed() {
        let breaker = CircuitBreaker::new(OPTIONS);

        for _ in 0..OPTIONS.failure_threshold - 1 {
            breaker.record_failure();
        }
        breaker.record_success();
        breaker.record_failure();

        assert_eq!(breaker.admit(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_started_admits_other_attempts_and_its_failure_opens_the_circuit_again() {
        let breaker = opened_breaker();
        tokio::time::advance(OPTIONS.open_duration).await;
        assert_eq!(breaker.admit(), Ok(()));

        breaker.record_stream_start();

        assert_eq!(breaker.admit(), Ok(()));
        breaker.record_failure();
        assert!(breaker.is_open());
    }
}
