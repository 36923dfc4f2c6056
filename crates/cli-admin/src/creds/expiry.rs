//! Parser for `--expires`.

use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use cynode_wire::credentials::Expiry;

/// Expiry of a credential, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryArg {
    Never,
    At(DateTime<Utc>),
    /// Days from now.
    Days(u32),
}

impl ExpiryArg {
    /// Resolves relative to `now`.
    pub(super) fn expiry(self, now: DateTime<Utc>) -> Expiry {
        match self {
            Self::Never => Expiry::Never,
            Self::At(end) => Expiry::At(end),
            Self::Days(days) => Expiry::At(now + TimeDelta::days(days.into())),
        }
    }
}

/// Parses `90d`, `2027-01-31`, `2027-01-31T12:00:00Z` or `never`.
pub(super) fn parse(text: &str) -> Result<ExpiryArg, String> {
    let text = text.trim();
    let days = text.strip_suffix('d').filter(|days| days.chars().all(|c| c.is_ascii_digit()));
    if text == "never" {
        Ok(ExpiryArg::Never)
    } else if let Some(Ok(days @ 1..=36_500)) = days.map(str::parse) {
        Ok(ExpiryArg::Days(days))
    } else if let Ok(day) = text.parse::<NaiveDate>() {
        Ok(ExpiryArg::At(day.and_time(NaiveTime::MIN).and_utc()))
    } else if let Ok(moment) = text.parse::<DateTime<Utc>>() {
        Ok(ExpiryArg::At(moment))
    } else {
        Err("use a date such as 2027-01-31, a time such as 2027-01-31T12:00:00Z, a number of days \
            such as 90d, or never"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_read_the_way_people_write_it() {
        let now = DateTime::UNIX_EPOCH;
        let end = |text: &str| parse(text).unwrap().expiry(now);
        let at = |text: &str| Expiry::At(text.parse().unwrap());

        assert_eq!(end("never"), Expiry::Never);
        assert_eq!(end("90d"), at("1970-04-01T00:00:00Z"));
        assert_eq!(end("2027-01-31"), at("2027-01-31T00:00:00Z"));
        assert_eq!(end("2027-01-31T14:00:00+02:00"), at("2027-01-31T12:00:00Z"));
    }

    #[test]
    fn what_is_no_end_is_refused_in_words() {
        for text in ["", "soon", "0d", "-1d", "d", "99999999d", "2027-13-01", "tomorrow"] {
            assert!(parse(text).unwrap_err().contains("2027-01-31"), "for {text}");
        }
    }
}
