//! Limits what one server may consume: a concurrency limit and a circuit breaker.

use std::time::Duration;

use cynode_http::{CircuitBreaker, CircuitBreakerOptions};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::link::UpstreamLinkError;
use crate::interface::UpstreamError;

/// How long a request waits for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);
const BREAKER: CircuitBreakerOptions =
    CircuitBreakerOptions { failure_threshold: 5, open_duration: Duration::from_secs(10) };

/// Bounds concurrent requests to a server, and rejects them while the circuit is open.
#[derive(Debug)]
pub(super) struct ServerAdmission {
    permits: Semaphore,
    breaker: CircuitBreaker,
}

impl ServerAdmission {
    pub(super) fn new(turns: u32) -> Self {
        Self { permits: Semaphore::new(turns as usize), breaker: CircuitBreaker::new(BREAKER) }
    }

    /// Acquires a request permit; fails with `Busy` after [`PERMIT_TIMEOUT`].
    pub(super) async fn acquire_permit(&self) -> Result<SemaphorePermit<'_>, UpstreamError> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        match tokio::time::timeout(PERMIT_TIMEOUT, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(UpstreamError::Busy),
        }
    }

    /// Admits an attempt, or rejects it while the circuit is open.
    pub(super) fn admit(&self) -> Result<(), UpstreamError> {
        self.breaker.admit().map_err(|_| circuit_open_error())
    }

    /// Why an attempt would be rejected now; changes nothing.
    pub(super) fn circuit_error(&self) -> Option<UpstreamError> {
        self.breaker.is_open().then(circuit_open_error)
    }

    /// Records a failure: the caller was dropped before the server answered.
    pub(super) fn record_abandoned(&self) {
        self.breaker.record_failure();
    }

    /// Records the outcome of an attempt.
    pub(super) fn record_outcome<T>(&self, result: &Result<T, UpstreamLinkError>) {
        match result {
            Err(error) if error.is_failure() => self.breaker.record_failure(),
            Ok(_) | Err(_) => self.breaker.record_success(),
        }
    }
}

fn circuit_open_error() -> UpstreamError {
    UpstreamError::Unavailable(
        "it failed several times; calls are paused for a few seconds (circuit open)".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_its_turn_and_is_then_told_to_come_back() {
        let gate = ServerAdmission::new(1);
        let held = gate.acquire_permit().await.unwrap();

        assert_eq!(gate.acquire_permit().await.err(), Some(UpstreamError::Busy));
        drop(held);
        assert!(gate.acquire_permit().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_no_failure_of_the_server() {
        let gate = ServerAdmission::new(1);

        for _ in 0..10 {
            gate.record_outcome::<()>(&Err(UpstreamLinkError::Rejected { status: 400 }));
        }
        assert_eq!(gate.admit(), Ok(()));
        for _ in 0..5 {
            gate.record_outcome::<()>(&Err(UpstreamLinkError::Rejected { status: 503 }));
        }
        assert!(matches!(gate.admit(), Err(UpstreamError::Unavailable(_))));
    }
}
