//! Detects requests to run commands on a schedule.
//!
//! A sentence with `every` never runs its commands at once: it is understood as a whole, or nothing is done.

use crate::brain::decisions::explicit_commands;

/// A request to run commands on a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecurringRequest {
    /// Times and commands are clear.
    Clear { pace: RecurringTiming, commands: Vec<String> },
    /// The commands are clear, the times are not.
    UnclearTiming,
}

/// The times of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RecurringTiming {
    /// A cron expression, in UTC.
    Cron(String),
    /// An interval in seconds.
    Every(u32),
}

const EVERY: &[&str] = &["every", "each", "daily", "hourly"];
/// Words without influence on the request.
const FILLER: &[&str] = &[
    "run", "execute", "please", "can", "could", "you", "and", "then", "just", "now", "the",
    "command", "commands", "utc", "in", "kindly", "also",
];
const DAYS: &[&str] =
    &["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const MINUTE_S: u32 = 60;
const HOUR_S: u32 = 3600;
const DAY_S: u32 = 24 * HOUR_S;

/// Parses a request for recurring commands.
pub(super) fn parse_recurring(text: &str) -> Option<RecurringRequest> {
    let (prose, commands) = split_prose(text);
    let words = lower_case_words(&prose);
    let first = words.iter().position(|word| EVERY.contains(&word.as_str()))?;
    let asks = words.iter().any(|word| matches!(word.as_str(), "run" | "execute"));
    if commands.is_empty() || !asks {
        return None;
    }
    let clear = parse_timing(&words[first..]).filter(|(_, used)| {
        let others = words[..first].iter().chain(&words[first + used..]);
        others.into_iter().all(|word| FILLER.contains(&word.as_str()))
    });
    Some(clear.map_or(RecurringRequest::UnclearTiming, |(pace, _)| RecurringRequest::Clear {
        pace,
        commands,
    }))
}

/// Whether an unquoted command may include a schedule: it contains `every`, or ends like `each hour`. The end of
/// such a command is ambiguous.
pub(super) fn may_include_schedule(command: &str) -> bool {
    let words = lower_case_words(command);
    let ends_with_pace = |from: usize| {
        let tail = &words[from..];
        parse_timing(tail).is_some_and(|(_, used)| used == tail.len())
    };
    let says = |(at, word): (usize, &String)| {
        word == "every" || EVERY.contains(&word.as_str()) && ends_with_pace(at)
    };
    words.iter().enumerate().skip(1).any(says)
}

/// Splits a text into its prose and its quoted commands.
fn split_prose(text: &str) -> (String, Vec<String>) {
    if let Some((prose, block)) = text.split_once("```") {
        return (prose.to_owned(), explicit_commands(&format!("run:\n```{block}")));
    }
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return (text.to_owned(), vec![]);
    }
    let (prose, code): (Vec<_>, Vec<_>) =
        parts.into_iter().enumerate().partition(|(index, _)| index % 2 == 0);
    let prose = prose.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(" ");
    let code = code.into_iter().map(|(_, part)| part.trim().to_owned());
    (prose, code.filter(|part| !part.is_empty()).collect())
}

fn lower_case_words(prose: &str) -> Vec<String> {
    let trimmed = |word: &str| word.trim_matches([',', '.', '!', ':', ';']).to_lowercase();
    prose.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect()
}

/// Parses the times at the start of the words; returns the number of words used.
fn parse_timing(words: &[String]) -> Option<(RecurringTiming, usize)> {
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    let (head, mut used) = match word(0) {
        "daily" => ("day", 1),
        "hourly" => ("hour", 1),
        _ => (word(1), 2),
    };
    if let Ok(number) = head.parse::<u32>() {
        let unit = match word(used) {
            "minutes" | "min" => MINUTE_S,
            "hours" | "h" => HOUR_S,
            "days" => DAY_S,
            _ => return None,
        };
        return Some((
            RecurringTiming::Every(number.checked_mul(unit).filter(|s| *s > 0)?),
            used + 1,
        ));
    }
    let days = match head {
        "minute" => return Some((RecurringTiming::Every(MINUTE_S), used)),
        "hour" => return Some((RecurringTiming::Every(HOUR_S), used)),
        "day" | "night" | "morning" => "*".to_owned(),
        "weekday" => "1-5".to_owned(),
        day => DAYS.iter().position(|known| *known == day)?.to_string(),
    };
    if word(used) != "at" {
        // Without a time of day only `every day` is clear: an interval of one day.
        return (head == "day").then_some((RecurringTiming::Every(DAY_S), used));
    }
    let (hour, minute, more) = parse_time_of_day(word(used + 1), word(used + 2))?;
    used += 1 + more;
    Some((RecurringTiming::Cron(format!("{minute} {hour} * * {days}")), used))
}

/// Parses `3`, `03:30`, `3am`, `3 pm`, `noon` or `midnight`; returns hour, minute and the number of words used.
fn parse_time_of_day(first: &str, second: &str) -> Option<(u32, u32, usize)> {
    match first {
        "noon" => return Some((12, 0, 1)),
        "midnight" => return Some((0, 0, 1)),
        _ => {}
    }
    let (clock, half, used) = match (first.strip_suffix("am"), first.strip_suffix("pm"), second) {
        (Some(clock), _, _) => (clock, Some(0), 1),
        (_, Some(clock), _) => (clock, Some(12), 1),
        (None, None, "am") => (first, Some(0), 2),
        (None, None, "pm") => (first, Some(12), 2),
        (None, None, _) => (first, None, 1),
    };
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = match half {
        None => hour,
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        Some(_) => return None,
    };
    (hour < 24 && minute < 60).then_some((hour, minute, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clear(text: &str) -> Option<RecurringTiming> {
        match parse_recurring(text) {
            Some(RecurringRequest::Clear { pace, commands }) => {
                assert_eq!(commands, ["make clean"]);
                Some(pace)
            }
            Some(RecurringRequest::UnclearTiming) | None => None,
        }
    }

    #[test]
    fn a_pace_is_understood_before_and_after_what_is_to_be_run() {
        let cron = |text: &str| Some(RecurringTiming::Cron(text.to_owned()));
        for (text, pace) in [
            ("every day at 3 run `make clean`", cron("0 3 * * *")),
            ("Please run `make clean` every day at 03:30.", cron("30 3 * * *")),
            ("run `make clean` daily at 3 pm", cron("0 15 * * *")),
            ("every weekday at 9am run `make clean`", cron("0 9 * * 1-5")),
            ("Every Monday at noon, run `make clean`", cron("0 12 * * 1")),
            ("run `make clean` every 15 minutes", Some(RecurringTiming::Every(900))),
            ("hourly run `make clean`", Some(RecurringTiming::Every(3600))),
            ("run `make clean` every day", Some(RecurringTiming::Every(86_400))),
            ("Run every hour:\n```sh\nmake clean\n```", Some(RecurringTiming::Every(3600))),
        ] {
            assert_eq!(clear(text), pace, "{text}");
        }
    }

    #[test]
    fn what_says_every_and_is_not_understood_as_a_whole_is_not_clear() {
        for text in [
            "run `make clean` every other day",
            "run `make clean` every monday",
            "run `make clean` every day at 25",
            "run `make clean` every 15 minutes unless it fails",
            "every 0 minutes run `make clean`",
        ] {
            assert_eq!(parse_recurring(text), Some(RecurringRequest::UnclearTiming), "{text}");
        }
    }

    #[test]
    fn a_command_that_nothing_encloses_may_be_meant_for_later() {
        for text in ["make clean every day", "make every other day", "a daily", "b each hour."] {
            assert!(may_include_schedule(text), "{text}");
        }
        for text in ["make test", "echo each word", "./backup daily now", "every"] {
            assert!(!may_include_schedule(text), "{text}");
        }
    }

    #[test]
    fn what_names_no_command_or_no_pace_is_something_else() {
        for text in ["run `make`", "every day is a gift", "fix `every` loop", "run `a every hour`"]
        {
            assert_eq!(parse_recurring(text), None, "{text}");
        }
    }
}
