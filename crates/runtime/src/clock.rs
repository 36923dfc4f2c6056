//! The clock abstraction, so that tests can control time.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

pub trait Clock: Send + Sync + Debug {
    fn now(&self) -> DateTime<Utc>;
}

pub type SharedClock = Arc<dyn Clock>;

/// The system clock.
///
/// Times are truncated to microseconds, the precision of the databases: a time that was stored and
/// read back equals the original.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        #[expect(clippy::disallowed_methods, reason = "the only place that reads the system clock")]
        let now = Utc::now();
        now.trunc_subsecs(6)
    }
}

/// A clock that tests advance manually. Clones share the time.
#[derive(Debug, Clone)]
pub struct ManualClock {
    time: Arc<Mutex<DateTime<Utc>>>,
}

impl ManualClock {
    pub fn new(time: DateTime<Utc>) -> Self {
        Self { time: Arc::new(Mutex::new(time)) }
    }

    /// Advances the clock; saturates at the maximum time.
    pub fn advance(&self, by: Duration) {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        *time = time.checked_add_signed(by).unwrap_or(DateTime::<Utc>::MAX_UTC);
    }

    /// Sets the clock, forwards or backwards.
    pub fn set(&self, time: DateTime<Utc>) {
        *self.time.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> DateTime<Utc> {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn manual_clock_stands_still_until_it_is_moved() {
        let clock = ManualClock::new(noon());
        let shared: SharedClock = Arc::new(clock.clone());
        assert_eq!(shared.now(), noon());

        clock.advance(Duration::from_secs(90));
        assert_eq!(shared.now(), noon() + TimeDelta::seconds(90));

        clock.set(noon());
        assert_eq!(shared.now(), noon());
    }

    #[test]
    fn manual_clock_stops_at_the_end_of_time() {
        let clock = ManualClock::new(noon());
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), DateTime::<Utc>::MAX_UTC);
    }

    #[test]
    fn system_time_has_no_more_than_microseconds() {
        let now = SystemClock.now();
        assert_eq!(now.timestamp_subsec_nanos() % 1_000, 0);
    }
}
