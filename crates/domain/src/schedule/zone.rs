//! Time zones by name.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, LocalResult, NaiveDateTime, SecondsFormat, TimeZone as _, Utc};
use chrono_tz::Tz;

use super::TimingError;

/// How a local time may be written.
const LOCAL: [&str; 4] =
    ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d %H:%M"];

/// A time zone of the IANA database, such as `Europe/Berlin`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone(pub(super) Tz);

impl Zone {
    /// The zone without a local time of its own.
    pub const UTC: Self = Self(Tz::UTC);

    /// A moment as the clocks there show it, with its offset.
    pub fn local(self, moment: DateTime<Utc>) -> String {
        moment.with_timezone(&self.0).to_rfc3339_opts(SecondsFormat::Secs, false)
    }

    /// A moment in words for people: date, time of day and zone.
    pub fn told(self, moment: DateTime<Utc>) -> String {
        format!("{} {self}", moment.with_timezone(&self.0).format("%Y-%m-%d %H:%M"))
    }

    /// The moment that `text` names: with its own offset, or as the clocks of this zone show it. The
    /// first one, where they show it twice.
    pub fn moment(self, text: &str) -> Result<DateTime<Utc>, TimingError> {
        let text = text.trim();
        let moment = match DateTime::parse_from_rfc3339(text) {
            Ok(moment) => moment.with_timezone(&Utc),
            Err(_) => self.local_moment(text)?,
        };
        // The databases keep microseconds.
        DateTime::from_timestamp_micros(moment.timestamp_micros())
            .ok_or_else(|| TimingError::NoTime(text.to_owned()))
    }

    fn local_moment(self, text: &str) -> Result<DateTime<Utc>, TimingError> {
        let naive = LOCAL.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
        let naive = naive.ok_or_else(|| TimingError::NoTime(text.chars().take(60).collect()))?;
        match self.0.from_local_datetime(&naive) {
            LocalResult::Single(moment) | LocalResult::Ambiguous(moment, _) => {
                Ok(moment.with_timezone(&Utc))
            }
            LocalResult::None => {
                Err(TimingError::NeverShown { time: text.to_owned(), zone: self.to_string() })
            }
        }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FromStr for Zone {
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
        let berlin: Zone = "Europe/Berlin".parse().unwrap();

        let winter = berlin.moment("2026-11-16 03:00").unwrap();

        assert_eq!(winter.to_rfc3339(), "2026-11-16T02:00:00+00:00");
        assert_eq!(berlin.moment("2026-11-16T03:00:00+01:00").unwrap(), winter);
        assert_eq!(berlin.local(winter), "2026-11-16T03:00:00+01:00");
        assert_eq!(berlin.told(winter), "2026-11-16 03:00 Europe/Berlin");
    }

    #[test]
    fn times_and_zones_that_do_not_exist_are_refused_in_words() {
        let berlin: Zone = "Europe/Berlin".parse().unwrap();

        let skipped = berlin.moment("2026-03-29 02:30").unwrap_err().to_string();

        assert!(skipped.contains("never show"), "{skipped}");
        assert!(berlin.moment("tomorrow").unwrap_err().to_string().contains("no time"));
        let unknown = "Berlin".parse::<Zone>().unwrap_err().to_string();
        assert!(unknown.contains("Europe/Berlin"), "{unknown}");
    }
}
