//! Delays between attempts.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};

/// More doublings exceed every duration.
const MAX_DOUBLINGS: u32 = 128;

/// Exponential backoff: the delay doubles with each consecutive failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub first: Duration,
    /// Maximum delay.
    pub cap: Duration,
}

impl Backoff {
    /// Unlimited delays, without jitter.
    pub fn delays(self) -> ExponentialBuilder {
        ExponentialBuilder::new()
            .with_factor(2.0)
            .with_min_delay(self.first.min(self.cap))
            .with_max_delay(self.cap)
            .without_max_times()
    }

    /// Unlimited delays with jitter, so that many clients of one server do not retry in lockstep: each is between
    /// half and all of its exponential step.
    pub fn jittered_delays(self) -> ExponentialBuilder {
        // `backon` adds up to the whole delay.
        Self { first: self.first / 2, cap: self.cap / 2 }.delays().with_jitter()
    }

    /// The delay after `failures` consecutive failures, without jitter.
    pub fn delay(self, failures: u32) -> Duration {
        nth_delay(self.delays(), failures)
    }

    /// The delay after `failures` consecutive failures, with jitter.
    pub fn jittered_delay(self, failures: u32) -> Duration {
        nth_delay(self.jittered_delays(), failures)
    }
}

fn nth_delay(delays: ExponentialBuilder, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(MAX_DOUBLINGS);
    delays.build().nth(doublings as usize).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff =
        Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(30) };

    #[test]
    fn delays_double_up_to_the_cap() {
        let all: Vec<u64> = (1..=7).map(|failures| BACKOFF.delay(failures).as_secs()).collect();

        assert_eq!(all, [1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn jitter_takes_away_at_most_half_of_a_delay() {
        for failures in 1..=10 {
            let full = BACKOFF.delay(failures);

            let delays: Vec<Duration> =
                (0..100).map(|_| BACKOFF.jittered_delay(failures)).collect();

            assert!(delays.iter().all(|delay| (full / 2..=full).contains(delay)), "{delays:?}");
            assert!(delays.iter().any(|delay| *delay != delays[0]), "{delays:?}");
        }
    }

    #[test]
    fn any_number_of_failures_gives_a_delay() {
        assert_eq!(BACKOFF.delay(0), BACKOFF.first);
        assert_eq!(BACKOFF.delay(u32::MAX), BACKOFF.cap);
        let endless = Backoff { first: Duration::from_nanos(1), cap: Duration::MAX };
        assert_eq!(endless.delay(u32::MAX), Duration::MAX);
        let none = Backoff { first: Duration::ZERO, cap: Duration::MAX };
        assert_eq!(none.jittered_delay(9), Duration::ZERO);
    }

    #[test]
    fn the_first_delay_is_not_longer_than_the_cap() {
        let backoff = Backoff { first: Duration::from_secs(9), cap: Duration::from_secs(4) };

        assert_eq!([1, 2, 3].map(|failures| backoff.delay(failures)), [backoff.cap; 3]);
    }
}
