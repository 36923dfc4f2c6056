//! How long to wait before asking again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Waits that double up to a bound, each shortened at random so that nodes do not ask in step.
#[derive(Debug)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(super) const fn new() -> Self {
        Self { next: FIRST }
    }

    /// After a success, waits are short again.
    pub(super) const fn reset(&mut self) {
        self.next = FIRST;
    }

    /// The next wait: between half of it and all of it.
    pub(super) fn delay(&mut self) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(LONGEST);
        let random = getrandom::u32().unwrap_or(u32::MAX);
        full.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0)
    }

    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.delay()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_start_over_after_success() {
        let mut backoff = Backoff::new();
        let delays: Vec<_> = (0..10).map(|_| backoff.delay()).collect();

        assert!(delays[0] <= FIRST && delays[0] >= FIRST / 2);
        assert!(delays[9] <= LONGEST && delays[9] >= LONGEST / 2);
        backoff.reset();
        assert!(backoff.delay() <= FIRST);
    }
}
