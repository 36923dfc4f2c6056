//! Parser for durations such as `--timeout`.

/// Parses `90`, `90s`, `5m`, `2h`, `7d` or `1h30m` to seconds.
pub(crate) fn parse(text: &str) -> Result<u32, String> {
    let bad = || format!("\"{text}\" is not a duration; use for example 90s, 5m, 1h30m or 7d");
    let mut seconds: u32 = 0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number: u32 = rest[..digits].parse().map_err(|_| bad())?;
        let mut unit = rest[digits..].chars();
        let factor = match unit.next() {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86_400,
            Some(_) => return Err(bad()),
        };
        let part = number.checked_mul(factor).ok_or_else(bad)?;
        seconds = seconds.checked_add(part).ok_or_else(bad)?;
        rest = unit.as_str();
    }
    Ok(seconds)
}

/// Parses the interval of a schedule: 1 minute to 366 days.
pub(crate) fn pace(text: &str) -> Result<u32, String> {
    let seconds = parse(text)?;
    if (60..=366 * 86_400).contains(&seconds) {
        return Ok(seconds);
    }
    Err("`--every` must be between 1m and 366d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_the_way_people_write_them() {
        for (text, seconds) in [
            ("90", 90),
            ("90s", 90),
            ("5m", 300),
            ("2h", 7200),
            ("1h30m", 5400),
            ("7d", 604_800),
            ("1d12h", 129_600),
        ] {
            assert_eq!(parse(text), Ok(seconds), "for {text}");
        }
    }

    #[test]
    fn a_pace_is_a_minute_to_a_year() {
        assert_eq!(pace("1m"), Ok(60));
        for text in ["30s", "367d"] {
            assert!(pace(text).unwrap_err().contains("between 1m and 366d"), "for {text}");
        }
    }

    #[test]
    fn what_is_no_span_is_refused_in_words() {
        for text in ["", "soon", "5w", "m", "99999999999", "4294967295h", "5m s", "٣s"] {
            assert!(parse(text).unwrap_err().contains("not a duration"), "for {text}");
        }
    }
}
