//! Where the time comes from, so that tests can set it.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

/// A source of the present time.
pub trait Clock: Send + Sync + Debug {
    /// The time now, in UTC.
    fn now(&self) -> DateTime<Utc>;
}

/// A clock that may be shared between parts of a process.
pub type SharedClock = Arc<dyn Clock>;

/// The clock of the machine.
///
/// Times are cut to microseconds, which is what every database keeps: a time that was stored
/// and read back equals the one that was written.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        #[expect(clippy::disallowed_methods, reason = "this is the clock everyone else asks")]
        let now = Utc::now();
        now.trunc_subsecs(6)
    }
}

/// A clock that moves only when told to. Clones show the same time.
#[derive(Debug, Clone)]
pub struct ManualClock {
    time: Arc<Mutex<DateTime<Utc>>>,
}

impl ManualClock {
    /// A clock that stands at `time`.
    pub fn new(time: DateTime<Utc>) -> Self {
        Self { time: Arc::new(Mutex::new(time)) }
    }

    /// Moves the clock forward. A step beyond the end of time stops there.
    pub fn advance(&self, by: Duration) {
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        *time = time.checked_add_signed(by).unwrap_or(DateTime::<Utc>::MAX_UTC);
    }

    /// Sets the clock, backwards too.
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
