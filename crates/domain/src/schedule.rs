//! Schedules: what comes due when, and what is done about it.
//!
//! Start at [`Timing`]: it says when a schedule is due next. [`Rule::due`] decides what becomes of a time that
//! has come, also when nobody was there to see it come. [`Payload`] alone says whether somebody has to
//! interpret what is to be done.

mod timing;
mod zone;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::timing::{MIN_EVERY_S, Timing, TimingError};
pub use self::zone::Zone;

/// How late a time may be looked at without having been missed: a process that restarts misses none.
pub const GRACE: TimeDelta = TimeDelta::seconds(60);

words! {
    /// What becomes of times that came while nobody was there.
    IfMissed("rule for missed times") {
        /// The latest of them fires, once.
        Once = "once",
        /// None of them fires.
        Skip = "skip",
    }

    /// What becomes of a time that comes while work of an earlier one is still open.
    Overlap("rule for overlaps") {
        /// It is passed over.
        Skip = "skip",
        /// It fires all the same.
        Allow = "allow",
    }

    /// How far the work for one due time has come.
    ScheduleRunStatus("status of a schedule's run") {
        /// Somebody deals with it, or will soon.
        Claimed = "claimed",
        /// The project manager has it.
        HandedOver = "handed_over",
        /// Its tasks are made.
        Done = "done",
        /// Nothing was to be done.
        Skipped = "skipped",
        /// It could not be done.
        Failed = "failed",
    }
}

impl ScheduleRunStatus {
    /// Whether nothing more will happen.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Done | Self::Skipped | Self::Failed)
    }
}

/// What a schedule wants done. The kind alone decides who does it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Payload {
    /// Prose: the project manager interprets it and makes the tasks.
    Prompt {
        /// What is to be done.
        text: String,
    },
    /// A task that names its work: nothing to interpret, so it is made as it stands.
    Task {
        /// The task, as the API takes it.
        request: Value,
    },
}

/// A schedule's rule: when, where, counted from when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// When it is due.
    pub timing: Timing,
    /// In which time zone.
    pub zone: Zone,
    /// From when intervals are counted.
    pub anchor: DateTime<Utc>,
}

/// A time that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The time to deal with: the latest one that has come.
    pub due_at: DateTime<Utc>,
    /// Whether earlier ones had come too, and are passed over.
    pub has_passed_others: bool,
    /// Whether nobody was there when it came.
    pub is_missed: bool,
    /// When it is due again; never, if absent.
    pub next: Option<DateTime<Utc>>,
}

impl Rule {
    /// The first time after `after`.
    pub fn next_after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.timing.next_after(self.zone, self.anchor, after)
    }

    /// What is due at `now`, if it was known that `expected` would be.
    pub fn due(&self, expected: DateTime<Utc>, now: DateTime<Utc>) -> Due {
        let due_at = self.timing.latest_until(self.zone, self.anchor, now);
        let due_at = due_at.filter(|latest| *latest > expected).unwrap_or(expected);
        Due {
            due_at,
            has_passed_others: due_at > expected,
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

    fn rule(timing: Timing, zone: &str) -> Rule {
        Rule { timing, zone: zone.parse().unwrap(), anchor: at("2026-11-15T00:00:00Z") }
    }

    #[test]
    fn after_downtime_the_latest_time_is_due_and_the_others_are_passed_over() {
        let daily = rule(Timing::cron("0 3 * * *").unwrap(), "UTC");

        let due = daily.due(at("2026-11-10T03:00:00Z"), at("2026-11-15T12:00:00Z"));

        assert_eq!(due.due_at, at("2026-11-15T03:00:00Z"));
        assert_eq!(due.next, Some(at("2026-11-16T03:00:00Z")));
        assert!(due.has_passed_others && due.is_missed);
    }

    #[test]
    fn a_time_that_is_looked_at_soon_after_it_came_is_not_missed() {
        let daily = rule(Timing::cron("0 3 * * *").unwrap(), "UTC");

        let due = daily.due(at("2026-11-15T03:00:00Z"), at("2026-11-15T03:00:30Z"));

        let next = Some(at("2026-11-16T03:00:00Z"));
        let due_at = at("2026-11-15T03:00:00Z");
        assert_eq!(due, Due { due_at, has_passed_others: false, is_missed: false, next });
    }

    #[test]
    fn intervals_keep_their_beat_over_downtime() {
        let hourly = rule(Timing::every(3600).unwrap(), "UTC");

        let due = hourly.due(at("2026-11-15T01:00:00Z"), at("2026-11-15T07:20:00Z"));

        assert_eq!(due.due_at, at("2026-11-15T07:00:00Z"));
        assert_eq!(due.next, Some(at("2026-11-15T08:00:00Z")));
    }

    #[test]
    fn a_single_time_is_due_once_however_late() {
        let once = rule(Timing::At { at: at("2026-11-15T01:00:00Z") }, "UTC");

        let due = once.due(at("2026-11-15T01:00:00Z"), at("2026-11-20T00:00:00Z"));

        assert_eq!((due.due_at, due.next), (at("2026-11-15T01:00:00Z"), None));
        assert!(due.is_missed && !due.has_passed_others);
    }
}
