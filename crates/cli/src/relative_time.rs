//! Relative times and durations for people.

use chrono::{DateTime, TimeDelta, Utc};

/// Formats how long ago `then` was, such as `12 s ago`, or how far ahead it is, such as `in 3 min`.
pub fn format_relative(now: DateTime<Utc>, then: DateTime<Utc>) -> String {
    let passed = now - then;
    match passed.num_seconds() {
        ..0 => format!("in {}", format_largest_unit(-passed)),
        0 => "just now".to_owned(),
        1.. => format!("{} ago", format_largest_unit(passed)),
    }
}

/// Formats a time and how long ago it was.
pub fn format_with_relative(now: DateTime<Utc>, then: DateTime<Utc>) -> String {
    format!("{then} ({})", format_relative(now, then))
}

/// Formats a duration, such as `38 ms`, `4.2 s` or `3 min 12 s`.
pub fn format_duration(span: TimeDelta) -> String {
    let ms = span.num_milliseconds().max(0);
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

fn format_largest_unit(span: TimeDelta) -> String {
    match span.num_seconds() {
        s @ ..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min", s / 60),
        s @ 3600..172_800 => format!("{} h", s / 3600),
        s => format!("{} days", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_said_in_their_largest_unit() {
        let then = DateTime::UNIX_EPOCH;
        let after = |seconds| format_relative(then + TimeDelta::seconds(seconds), then);

        assert_eq!(after(0), "just now");
        assert_eq!(after(12), "12 s ago");
        assert_eq!(after(125), "2 min ago");
        assert_eq!(after(7200), "2 h ago");
        assert_eq!(after(200_000), "2 days ago");
        assert_eq!(after(-90), "in 1 min");
    }

    #[test]
    fn durations_keep_the_digits_that_matter() {
        let span = |ms| format_duration(TimeDelta::milliseconds(ms));

        assert_eq!(span(38), "38 ms");
        assert_eq!(span(4250), "4.2 s");
        assert_eq!(span(192_000), "3 min 12 s");
        assert_eq!(span(3_900_000), "1 h 5 min");
    }
}
