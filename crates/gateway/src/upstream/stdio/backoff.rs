//! Not starting a process again and again that cannot live.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::super::hub::lock;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_mins(1);
/// A process that lived this long did not fail for being started.
const HEALTHY: Duration = Duration::from_secs(30);

/// Remembers how the processes of one server fared.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    early_ends: u32,
    started: Option<Instant>,
    not_before: Option<Instant>,
    reason: String,
}

impl Backoff {
    /// Whether a process may be started now; else why the last one ended.
    pub(crate) fn start(&self) -> Result<(), String> {
        let mut state = lock(&self.state);
        let now = Instant::now();
        if state.not_before.is_some_and(|at| now < at) {
            return Err(format!("{}; it is started again shortly", state.reason));
        }
        state.started = Some(now);
        Ok(())
    }

    /// A process ended, or did not start.
    pub(crate) fn ended(&self, reason: String) {
        let mut state = lock(&self.state);
        let lived = state.started.map(|started| started.elapsed()).unwrap_or_default();
        state.early_ends = if lived >= HEALTHY { 0 } else { state.early_ends.saturating_add(1) };
        let pause = FIRST * 2_u32.saturating_pow(state.early_ends.saturating_sub(1).min(16));
        state.not_before = (state.early_ends > 0).then(|| Instant::now() + pause.min(LONGEST));
        state.reason = reason;
    }

    /// A process introduced itself properly.
    pub(crate) fn introduced(&self) {
        lock(&self.state).not_before = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends_at_once(backoff: &Backoff) {
        assert_eq!(backoff.start(), Ok(()));
        backoff.ended("exit code 1".to_owned());
    }

    #[tokio::test(start_paused = true)]
    async fn each_early_end_doubles_the_pause_before_the_next_start() {
        let backoff = Backoff::default();

        ends_at_once(&backoff);
        assert!(backoff.start().unwrap_err().starts_with("exit code 1"));
        tokio::time::advance(FIRST).await;
        ends_at_once(&backoff);
        tokio::time::advance(FIRST).await;
        assert!(backoff.start().is_err());
        tokio::time::advance(FIRST).await;
        assert_eq!(backoff.start(), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_lived_long_is_started_again_at_once() {
        let backoff = Backoff::default();

        assert_eq!(backoff.start(), Ok(()));
        tokio::time::advance(HEALTHY).await;
        backoff.ended("exit code 1".to_owned());

        assert_eq!(backoff.start(), Ok(()));
    }
}
