//! Schedules: timing, missed due times and payload.
//!
//! Start at [`ScheduleTiming`], which computes the next due time. [`ScheduleRule::due_time`] handles due times, including those
//! missed during downtime. Only [`SchedulePayload`] determines whether the project manager must interpret the
//! work.

mod timing;
mod zone;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::timing::{MAX_EXPRESSION, MIN_EVERY_S, ScheduleTiming, TimingError};
pub use self::zone::ScheduleZone;

/// How late a due time may be processed without counting as missed; covers a restart.
pub const GRACE: TimeDelta = TimeDelta::seconds(60);

words! {
    /// What happens to due times missed during downtime.
    IfMissed("missed-run policy") {
    /// Only the latest fires.
        Once = "once",
        /// None of them fires.
        Skip = "skip",
    }

    /// What happens when a schedule is due while an earlier run is still open.
    Overlap("overlap policy") {
    /// The run is skipped.
        Skip = "skip",
        /// The run fires anyway.
        Allow = "allow",
    }

    /// The status of a schedule run.
    ScheduleRunStatus("schedule run status") {
    /// Claimed for processing.
        Claimed = "claimed",
        /// Handed off to the project manager.
        HandedOver = "handed_over",
        /// Its tasks were created.
        Done = "done",
        /// Skipped; nothing was created.
        Skipped = "skipped",
        /// It failed.
        Failed = "failed",
    }
}

impl ScheduleRunStatus {
    /// Whether the status is final.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Done | Self::Skipped | Self::Failed)
    }
}

/// The work of a schedule. The kind determines who creates the tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SchedulePayload {
    /// Prose: the project manager interprets it and creates the tasks.
    Prompt { text: String },
    /// A complete task, created unchanged.
    Task {
        /// A `CreateTask` request.
        request: Value,
    },
    /// Work for the project manager, submitted unchanged.
    Request {
        /// A `SubmitRequest`.
        request: Value,
    },
}

/// The timing rule of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRule {
    pub timing: ScheduleTiming,
    pub zone: ScheduleZone,
    /// Start of the intervals.
    pub anchor: DateTime<Utc>,
}

/// A due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueTime {
    /// The latest due time, which is to be processed.
    pub due_at: DateTime<Utc>,
    /// Whether earlier due times are skipped.
    pub has_skipped_earlier: bool,
    /// Whether it is older than [`GRACE`].
    pub is_missed: bool,
    /// The next due time; `None` if there is none.
    pub next: Option<DateTime<Utc>>,
}

impl ScheduleRule {
    /// The first due time after `after`.
    pub fn next_after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.timing.next_after(self.zone, self.anchor, after)
    }

    /// The due time at `now`, given the expected due time.
    pub fn due_time(&self, expected: DateTime<Utc>, now: DateTime<Utc>) -> DueTime {
        let due_at = self.timing.latest_before(self.zone, self.anchor, now);
        let due_at = due_at.filter(|latest| *latest > expected).unwrap_or(expected);
        DueTime {
            due_at,
            has_skipped_earlier: due_at > expected,
            is_missed: now - due_at > GRACE,
            next: self.next_after(now.max(due_at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn rule(timing: ScheduleTiming, zone: &str) -> ScheduleRule {
        ScheduleRule { timing, zone: zone.parse().unwrap(), anchor: at("2026-11-15T00:00:00Z") }
    }

    #[test]
    fn after_downtime_the_latest_time_is_due_and_the_others_are_passed_over() {
        let daily = rule(ScheduleTiming::cron("0 3 * * *").unwrap(), "UTC");

        let due = daily.due_time(at("2026-11-10T03:00:00Z"), at("2026-11-15T12:00:00Z"));

        assert_eq!(due.due_at, at("2026-11-15T03:00:00Z"));
        assert_eq!(due.next, Some(at("2026-11-16T03:00:00Z")));
        assert!(due.has_skipped_earlier && due.is_missed);
    }

    #[test]
    fn a_time_that_is_looked_at_soon_after_it_came_is_not_missed() {
        let daily = rule(ScheduleTiming::cron("0 3 * * *").unwrap(), "UTC");

        let due = daily.due_time(at("2026-11-15T03:00:00Z"), at("2026-11-15T03:00:30Z"));

        let next = Some(at("2026-11-16T03:00:00Z"));
        let due_at = at("2026-11-15T03:00:00Z");
        assert_eq!(due, DueTime { due_at, has_skipped_earlier: false, is_missed: false, next });
    }

    #[test]
    fn intervals_keep_their_beat_over_downtime() {
        let hourly = rule(ScheduleTiming::every(3600).unwrap(), "UTC");

        let due = hourly.due_time(at("2026-11-15T01:00:00Z"), at("2026-11-15T07:20:00Z"));

        assert_eq!(due.due_at, at("2026-11-15T07:00:00Z"));
        assert_eq!(due.next, Some(at("2026-11-15T08:00:00Z")));
    }

    #[test]
    fn a_single_time_is_due_once_however_late() {
        let once = rule(ScheduleTiming::At { at: at("2026-11-15T01:00:00Z") }, "UTC");

        let due = once.due_time(at("2026-11-15T01:00:00Z"), at("2026-11-20T00:00:00Z"));

        assert_eq!((due.due_at, due.next), (at("2026-11-15T01:00:00Z"), None));
        assert!(due.is_missed && !due.has_skipped_earlier);
    }
}
