//! Due times: cron expressions, intervals and single times.

use chrono::{DateTime, TimeDelta, Utc};
use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use serde::{Deserialize, Serialize};

use super::ScheduleZone;

pub const MIN_EVERY_S: u32 = 60;
/// A leap year.
const MAX_EVERY_S: u32 = 366 * 24 * 3600;
/// Number of fields of a cron expression.
const CRON_FIELDS: usize = 5;
/// The longest cron expression, in bytes.
pub const MAX_EXPRESSION: usize = 200;

/// The timing of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScheduleTiming {
    /// A cron expression in the schedule's time zone.
    Cron {
        /// Minute, hour, day of the month, month, day of the week.
        expression: String,
    },
    /// A fixed interval.
    Every { seconds: u32 },
    /// Once.
    At { at: DateTime<Utc> },
}

/// An invalid timing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    #[error(
        "cron \"{expression}\" cannot be read: {reason}; write five fields: minute, hour, day of the month, month, day of the week, such as \"0 3 * * *\" for every day at 03:00"
    )]
    BadCron { expression: String, reason: String },
    #[error("cron \"{0}\" never comes due: there is no such date")]
    Never(String),
    #[error("every_s is {0}; allowed is {MIN_EVERY_S} to {MAX_EVERY_S} seconds")]
    BadInterval(u32),
    #[error("{0} is in the past: choose a future time")]
    InPast(String),
    #[error(
        "\"{0}\" is not a valid time: write 2026-11-16T03:00:00Z, or 2026-11-16 03:00 for the schedule's time zone"
    )]
    InvalidTime(String),
    /// The time falls into a daylight-saving gap.
    #[error("{time} does not exist in {zone}: the clocks go forward over it")]
    NonexistentTime { time: String, zone: String },
    #[error(
        "there is no time zone \"{0}\": use a name such as UTC, Europe/Berlin or America/New_York"
    )]
    UnknownZone(String),
}

impl ScheduleTiming {
    /// Parses a cron expression with five fields.
    pub fn cron(text: &str) -> Result<Self, TimingError> {
        let expression = text.split_whitespace().collect::<Vec<_>>().join(" ");
        parse_cron(&expression)?;
        Ok(Self::Cron { expression })
    }

    /// An interval in seconds.
    pub fn every(seconds: u32) -> Result<Self, TimingError> {
        if !(MIN_EVERY_S..=MAX_EVERY_S).contains(&seconds) {
            return Err(TimingError::BadInterval(seconds));
        }
        Ok(Self::Every { seconds })
    }

    /// The first due time after `after`; intervals start at `anchor`.
    pub(super) fn next_after(
        &self,
        zone: ScheduleZone,
        anchor: DateTime<Utc>,
        after: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        match self {
            Self::Cron { expression } => {
                let cron = parse_cron(expression).ok()?;
                let next = cron.find_next_occurrence(&after.with_timezone(&zone.0), false).ok()?;
                Some(next.with_timezone(&Utc))
            }
            Self::Every { seconds } => {
                let beats = elapsed_intervals(*seconds, anchor, after) + 1;
                interval_start(*seconds, anchor, beats.max(1))
            }
            Self::At { at } => Some(*at).filter(|at| *at > after),
        }
    }

    /// The last due time up to `until`.
    pub(super) fn latest_before(
        &self,
        zone: ScheduleZone,
        anchor: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        match self {
            Self::Cron { expression } => {
                let cron = parse_cron(expression).ok()?;
                let last = cron.find_previous_occurrence(&until.with_timezone(&zone.0), true);
                Some(last.ok()?.with_timezone(&Utc)).filter(|last| *last <= until)
            }
            Self::Every { seconds } => {
                let beats = elapsed_intervals(*seconds, anchor, until);
                if beats < 1 { None } else { interval_start(*seconds, anchor, beats) }
            }
            Self::At { at } => Some(*at).filter(|at| *at <= until),
        }
    }
}

/// The number of whole intervals between `anchor` and `moment`.
fn elapsed_intervals(seconds: u32, anchor: DateTime<Utc>, moment: DateTime<Utc>) -> i64 {
    (moment - anchor).num_seconds().div_euclid(i64::from(seconds.max(1)))
}

fn interval_start(seconds: u32, anchor: DateTime<Utc>, number: i64) -> Option<DateTime<Utc>> {
    let passed = i64::from(seconds).checked_mul(number)?;
    anchor.checked_add_signed(TimeDelta::try_seconds(passed)?)
}

fn parse_cron(expression: &str) -> Result<Cron, TimingError> {
    let short: String = expression.chars().take(MAX_EXPRESSION).collect();
    let bad = |reason: String| TimingError::BadCron { expression: short.clone(), reason };
    let fields = expression.split_whitespace().count();
    if fields != CRON_FIELDS {
        return Err(bad(format!("it has {fields} fields")));
    }
    if expression.len() > MAX_EXPRESSION {
        return Err(bad(format!("it is longer than {MAX_EXPRESSION} bytes")));
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(expression).map_err(|error| {
        let reason = match error {
            CronError::ComponentError(words)
            | CronError::InvalidPattern(words)
            | CronError::IllegalCharacters(words) => words,
            CronError::EmptyPattern
            | CronError::InvalidDate
            | CronError::InvalidTime
            | CronError::TimeSearchLimitExceeded => error.to_string(),
        };
        bad(reason.trim_end_matches('.').to_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANCHOR: DateTime<Utc> = DateTime::UNIX_EPOCH;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn times(expression: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let timing = ScheduleTiming::cron(expression).unwrap();
        let zone: ScheduleZone = zone.parse().unwrap();
        let mut now = at(from);
        let mut found = vec![];
        for _ in 0..count {
            now = timing.next_after(zone, ANCHOR, now).unwrap();
            found.push(zone.format_rfc3339(now));
        }
        found
    }

    #[test]
    fn a_daily_time_stays_the_same_on_the_wall_when_clocks_change() {
        let spring = times("0 9 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 2);
        let autumn = times("0 9 * * *", "Europe/Berlin", "2026-10-24T00:00:00Z", 2);

        assert_eq!(spring, ["2026-03-28T09:00:00+01:00", "2026-03-29T09:00:00+02:00"]);
        assert_eq!(autumn, ["2026-10-24T09:00:00+02:00", "2026-10-25T09:00:00+01:00"]);
    }

    #[test]
    fn a_time_that_the_clocks_go_forward_over_is_due_that_day_all_the_same() {
        let spring = times("30 2 * * *", "Europe/Berlin", "2026-03-28T02:00:00Z", 2);

        assert_eq!(spring, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]);
    }

    #[test]
    fn a_time_that_the_clocks_show_twice_is_due_once() {
        let autumn = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);

        assert_eq!(autumn, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]);
    }

    #[test]
    fn the_latest_time_is_one_that_comes_next_from_the_one_before() {
        let timing = ScheduleTiming::cron("*/15 * * * *").unwrap();

        let latest =
            timing.latest_before(ScheduleZone::UTC, ANCHOR, at("2026-11-15T10:44:59Z")).unwrap();

        assert_eq!(latest, at("2026-11-15T10:30:00Z"));
        assert_eq!(timing.latest_before(ScheduleZone::UTC, ANCHOR, latest), Some(latest));
        assert_eq!(
            timing.next_after(ScheduleZone::UTC, ANCHOR, latest),
            Some(at("2026-11-15T10:45:00Z"))
        );
    }

    #[test]
    fn bad_timings_are_refused_with_what_to_write_instead() {
        for text in ["", "* * * *", "0 0 3 * * *", "61 * * * *", "@daily", "x * * * *"] {
            let error = ScheduleTiming::cron(text).unwrap_err().to_string();
            assert!(error.contains("five fields"), "{text}: {error}");
        }
        assert_eq!(ScheduleTiming::every(59), Err(TimingError::BadInterval(59)));
        assert!(ScheduleTiming::every(60).is_ok());
    }

    #[test]
    fn a_date_that_does_not_exist_never_comes() {
        let never = ScheduleTiming::cron("0 0 30 2 *").unwrap();

        assert_eq!(never.next_after(ScheduleZone::UTC, ANCHOR, at("2026-01-01T00:00:00Z")), None);
    }

    #[test]
    fn intervals_are_counted_from_their_anchor() {
        let timing = ScheduleTiming::every(90).unwrap();

        let next = timing.next_after(
            ScheduleZone::UTC,
            at("2026-01-01T00:00:10Z"),
            at("2026-01-01T00:01:40Z"),
        );

        assert_eq!(next, Some(at("2026-01-01T00:03:10Z")));
    }
}
