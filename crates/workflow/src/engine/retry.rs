//! How often, how fast and for how long a node is tried.

use std::time::Duration;

/// Exponential delays with jitter, so that many clients of one server do not return in step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The longest delay after the first failure.
    pub first: Duration,
    /// The longest delay of all.
    pub cap: Duration,
}

impl Backoff {
    /// The delay after `failures` failures in a row: between half and all of the exponential step.
    pub fn delay(self, failures: u32) -> Duration {
        // Without a source of randomness the full step is still a correct delay.
        let spread = getrandom::u32().unwrap_or(u32::MAX);
        self.delay_with(failures, spread)
    }

    fn delay_with(self, failures: u32, spread: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        let half = self.first.saturating_mul(factor).min(self.cap) / 2;
        half + half.mul_f64(f64::from(spread) / f64::from(u32::MAX))
    }
}

/// The bounds within which a node is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How often it is tried in all.
    pub attempts: u32,
    /// The pauses between attempts.
    pub backoff: Backoff,
    /// How long one attempt may take without a sign of life; absent for a node that bounds itself.
    pub timeout: Option<Duration>,
}

impl Policy {
    /// Three attempts, one second apart and doubling up to thirty, each within `timeout`.
    pub const fn within(timeout: Duration) -> Self {
        Self {
            attempts: 3,
            backoff: Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(30) },
            timeout: Some(timeout),
        }
    }

    /// The same attempts for a node that knows better than the graph how long it may take.
    pub const fn unbounded() -> Self {
        Self { timeout: None, ..Self::within(Duration::ZERO) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff =
        Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(30) };

    #[test]
    fn delays_double_up_to_the_cap() {
        let full: Vec<u64> = (1..=7).map(|n| BACKOFF.delay_with(n, u32::MAX).as_secs()).collect();

        assert_eq!(full, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn jitter_takes_away_at_most_half_of_a_delay() {
        assert_eq!(BACKOFF.delay_with(3, 0), Duration::from_secs(2));
        let delay = BACKOFF.delay(3);
        assert!(delay >= Duration::from_secs(2) && delay <= Duration::from_secs(4), "{delay:?}");
    }

    #[test]
    fn any_number_of_failures_gives_a_delay() {
        assert_eq!(BACKOFF.delay_with(u32::MAX, u32::MAX), BACKOFF.cap);
    }
}
