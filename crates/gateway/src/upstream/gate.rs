//! How much of the gateway one server may take up.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::breaker::{Breaker, Open};
use super::link::LinkError;
use crate::seams::UpstreamError;

/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(2);

/// Lets so many requests to a server at once, and none while it fails all the time.
#[derive(Debug)]
pub(super) struct Gate {
    turns: Semaphore,
    breaker: Breaker,
}

impl Gate {
    pub(super) fn new(turns: u32) -> Self {
        Self { turns: Semaphore::new(turns as usize), breaker: Breaker::default() }
    }

    /// Waits for a turn, not for long.
    pub(super) async fn turn(&self) -> Result<SemaphorePermit<'_>, UpstreamError> {
        if let Ok(permit) = self.turns.try_acquire() {
            return Ok(permit);
        }
        match tokio::time::timeout(TURN, self.turns.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(UpstreamError::Busy),
        }
    }

    /// Whether the server may be tried.
    pub(super) fn admit(&self) -> Result<(), UpstreamError> {
        self.breaker.admit().map_err(|Open| resting())
    }

    /// Why the server may not be tried now; asking changes nothing.
    pub(super) fn at_rest(&self) -> Option<UpstreamError> {
        self.breaker.is_open().then(resting)
    }

    /// Whoever asked lost patience before the server answered.
    pub(super) fn abandoned(&self) {
        self.breaker.failed();
    }

    /// Remembers how an attempt ended.
    pub(super) fn judge<T>(&self, result: &Result<T, LinkError>) {
        match result {
            Err(error) if error.is_failure() => self.breaker.failed(),
            Ok(_) | Err(_) => self.breaker.succeeded(),
        }
    }
}

fn resting() -> UpstreamError {
    UpstreamError::Unavailable("it failed several times and is left alone for a while".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_its_turn_and_is_then_told_to_come_back() {
        let gate = Gate::new(1);
        let held = gate.turn().await.unwrap();

        assert_eq!(gate.turn().await.err(), Some(UpstreamError::Busy));
        drop(held);
        assert!(gate.turn().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_no_failure_of_the_server() {
        let gate = Gate::new(1);

        for _ in 0..10 {
            gate.judge::<()>(&Err(LinkError::Refused { status: 400 }));
        }
        assert_eq!(gate.admit(), Ok(()));
        for _ in 0..5 {
            gate.judge::<()>(&Err(LinkError::Refused { status: 503 }));
        }
        assert!(matches!(gate.admit(), Err(UpstreamError::Unavailable(_))));
    }
}
