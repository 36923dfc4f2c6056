//! IANA time zones.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, LocalResult, NaiveDateTime, SecondsFormat, TimeZone as _, Utc};
use chrono_tz::Tz;

use super::TimingError;

/// Accepted formats of a local time.
const LOCAL_FORMATS: [&str; 4] =
    ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];

/// A time zone of the IANA database, such as `Europe/Berlin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleZone(pub(super) Tz);

impl ScheduleZone {
    pub const UTC: Self = Self(Tz::UTC);

    /// Local time with offset, as RFC 3339.
    pub fn format_rfc3339(self, moment: DateTime<Utc>) -> String {
        moment.with_timezone(&self.0).to_rfc3339_opts(SecondsFormat::Secs, false)
    }

    /// Date, time of day and zone, for people.
    pub fn format_local(self, moment: DateTime<Utc>) -> String {
        format!("{} {self}", moment.with_timezone(&self.0).format("%Y-%m-%d %H:%M"))
    }

    /// Parses a time with an offset, or a local time of this zone. An ambiguous local time is the first
    /// of the two.
    pub fn parse_time(self, text: &str) -> Result<DateTime<Utc>, TimingError> {
        let text = text.trim();
        let moment = match DateTime::parse_from_rfc3339(text) {
            Ok(moment) => moment.with_timezone(&Utc),
            Err(_) => self.parse_local_time(text)?,
        };
        // The databases store microseconds.
        DateTime::from_timestamp_micros(moment.timestamp_micros())
            .ok_or_else(|| TimingError::InvalidTime(text.to_owned()))
    }

    fn parse_local_time(self, text: &str) -> Result<DateTime<Utc>, TimingError> {
        let naive =
            LOCAL_FORMATS.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
        let naive =
            naive.ok_or_else(|| TimingError::InvalidTime(text.chars().take(60).collect()))?;
        match self.0.from_local_datetime(&naive) {
            LocalResult::Single(moment) | LocalResult::Ambiguous(moment, _) => {
                Ok(moment.with_timezone(&Utc))
            }
            LocalResult::None => {
                Err(TimingError::NonexistentTime { time: text.to_owned(), zone: self.to_string() })
            }
        }
    }
}

impl fmt::Display for ScheduleZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for ScheduleZone {
    type Err = TimingError;

    fn from_str(name: &str) -> Result<Self, TimingError> {
        let zone = name.trim().parse();
        zone.map(Self).map_err(|_| TimingError::UnknownZone(name.chars().take(60).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_without_an_offset_is_the_time_of_the_zone() {
        let berlin: ScheduleZone = "Europe/Berlin".parse().unwrap();

        let winter = berlin.parse_time("2026-11-16 03:00").unwrap();

        assert_eq!(winter.to_rfc3339(), "2026-11-16T02:00:00+00:00");
        assert_eq!(berlin.parse_time("2026-11-16T03:00:00+01:00").unwrap(), winter);
        assert_eq!(berlin.format_rfc3339(winter), "2026-11-16T03:00:00+01:00");
        assert_eq!(berlin.format_local(winter), "2026-11-16 03:00 Europe/Berlin");
    }

    #[test]
    fn times_and_zones_that_do_not_exist_are_refused_in_words() {
        let berlin: ScheduleZone = "Europe/Berlin".parse().unwrap();

        let skipped = berlin.parse_time("2026-03-29 02:30").unwrap_err().to_string();

        assert!(skipped.contains("does not exist"), "{skipped}");
        assert!(
            berlin.parse_time("tomorrow").unwrap_err().to_string().contains("not a valid time")
        );
        let unknown = "Berlin".parse::<ScheduleZone>().unwrap_err().to_string();
        assert!(unknown.contains("Europe/Berlin"), "{unknown}");
    }
}
