//! Exponential backoff for processes that exit early.

use std::sync::Mutex;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use tokio::time::Instant;

use super::super::message_router::lock;

const BACKOFF: Backoff = Backoff { first: Duration::from_millis(500), cap: Duration::from_mins(1) };
/// A process that lived this long resets the backoff.
const HEALTHY_AFTER: Duration = Duration::from_secs(30);

/// Counts the early exits of one server's processes.
#[derive(Debug, Default)]
pub(crate) struct ProcessBackoff {
    state: Mutex<ProcessBackoffState>,
}

#[derive(Debug, Default)]
struct ProcessBackoffState {
    early_ends: u32,
    started: Option<Instant>,
    not_before: Option<Instant>,
    reason: String,
}

impl ProcessBackoff {
    /// Admits a start; the error is why the last process ended.
    pub(crate) fn admit_start(&self) -> Result<(), String> {
        let mut state = lock(&self.state);
        let now = Instant::now();
        if state.not_before.is_some_and(|at| now < at) {
            return Err(format!("{}; it will be restarted shortly", state.reason));
        }
        state.started = Some(now);
        Ok(())
    }

    /// Records that a process ended or did not start.
    pub(crate) fn record_exit(&self, reason: String) {
        let mut state = lock(&self.state);
        let lived = state.started.map(|started| started.elapsed()).unwrap_or_default();
        state.early_ends =
            if lived >= HEALTHY_AFTER { 0 } else { state.early_ends.saturating_add(1) };
        let delay = BACKOFF.delay(state.early_ends);
        state.not_before = (state.early_ends > 0).then(|| Instant::now() + delay);
        state.reason = reason;
    }

    /// Resets the delay after a successful handshake.
    pub(crate) fn record_handshake(&self) {
        lock(&self.state).not_before = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends_at_once(backoff: &ProcessBackoff) {
        assert_eq!(backoff.admit_start(), Ok(()));
        backoff.record_exit("exit code 1".to_owned());
    }

    #[tokio::test(start_paused = true)]
    async fn each_early_end_doubles_the_pause_before_the_next_start() {
        let backoff = ProcessBackoff::default();

        ends_at_once(&backoff);
        assert!(backoff.admit_start().unwrap_err().starts_with("exit code 1"));
        tokio::time::advance(BACKOFF.first).await;
        ends_at_once(&backoff);
        tokio::time::advance(BACKOFF.first).await;
        assert!(backoff.admit_start().is_err());
        tokio::time::advance(BACKOFF.first).await;
        assert_eq!(backoff.admit_start(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_lived_long_is_started_again_at_once() {
        let backoff = ProcessBackoff::default();

        assert_eq!(backoff.admit_start(), Ok(()));
        tokio::time::advance(HEALTHY_AFTER).await;
        backoff.record_exit("exit code 1".to_owned());

        assert_eq!(backoff.admit_start(), Ok(()));
    }
}
