//! Text of bounded length, never cut inside a character.
//!
//! `truncate_*` keep the start and `last_*` the end, both without a mark; `ellipsize_*` keep the start and mark what is missing
//! with `…`, which counts towards the limit. Limits are in the unit of the name.

use std::borrow::Cow;

const ELLIPSIS: char = '…';

/// The first `max` characters.
pub fn truncate_chars(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}

/// As many characters from the start as fit into `max` bytes.
pub fn truncate_bytes(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// As many whole lines from the start as fit into `max` bytes. If the last line that fits in part makes up most of the text,
/// its start is kept too.
pub fn truncate_at_line(text: &str, max: usize) -> &str {
    let kept = truncate_bytes(text, max);
    match kept.rfind('\n') {
        Some(end) if kept.len() < text.len() && end > kept.len() / 2 => &kept[..end],
        _ => kept,
    }
}

/// The last `max` characters.
pub fn last_chars(text: &str, max: usize) -> &str {
    let excess = text.chars().count().saturating_sub(max);
    &text[truncate_chars(text, excess).len()..]
}

/// As many characters from the end as fit into `max` bytes.
pub fn last_bytes(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// The text, or its start and `…`: at most `max` characters.
pub fn ellipsize_chars(text: &str, max: usize) -> Cow<'_, str> {
    if truncate_chars(text, max).len() == text.len() {
        return Cow::Borrowed(text);
    }
    max.checked_sub(1).map_or(Cow::Borrowed(""), |room| ellipsis_after(truncate_chars(text, room)))
}

/// The text, or its start and `…`: at most `max` bytes.
pub fn ellipsize_bytes(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    max.checked_sub(ELLIPSIS.len_utf8())
        .map_or(Cow::Borrowed(""), |room| ellipsis_after(truncate_bytes(text, room)))
}

fn ellipsis_after(start: &str) -> Cow<'static, str> {
    Cow::Owned(format!("{}{ELLIPSIS}", start.trim_end()))
}

/// The text as one line: its words, separated by one blank each, without control characters.
pub fn single_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_start_is_kept_without_a_mark() {
        assert_eq!(truncate_chars("äöü", 2), "äö");
        assert_eq!(truncate_chars("äöü", 3), "äöü");
        assert_eq!(truncate_chars("äöü", 0), "");
        assert_eq!(truncate_bytes("äöü", 4), "äö");
        assert_eq!(truncate_bytes("äöü", 3), "ä");
        assert_eq!(truncate_bytes("äöü", 6), "äöü");
        assert_eq!(truncate_bytes("äöü", 0), "");
    }

    #[test]
    fn the_end_is_kept_without_a_mark() {
        assert_eq!(last_chars("äöü", 2), "öü");
        assert_eq!(last_chars("äöü", 3), "äöü");
        assert_eq!(last_chars("äöü", 0), "");
        assert_eq!(last_bytes("äöü", 4), "öü");
        assert_eq!(last_bytes("äöü", 3), "ü");
        assert_eq!(last_bytes("äöü", 6), "äöü");
        assert_eq!(last_bytes("äöü", 0), "");
    }

    #[test]
    fn an_ellipsis_marks_what_is_missing_and_counts() {
        assert_eq!(ellipsize_chars("äöü", 3), "äöü");
        assert_eq!(ellipsize_chars("äöüß", 3), "äö…");
        assert_eq!(ellipsize_chars("one two", 5), "one…", "no blank before the mark");
        assert_eq!(ellipsize_chars("äö", 1), "…");
        assert_eq!(ellipsize_chars("äö", 0), "");
        assert_eq!(ellipsize_chars("", 0), "");
        assert_eq!(ellipsize_bytes("äöü", 6), "äöü");
        assert_eq!(ellipsize_bytes("äöüß", 7), "äö…");
        assert_eq!(ellipsize_bytes("äöüß", 3), "…");
        assert_eq!(ellipsize_bytes("äöüß", 2), "");
    }

    #[test]
    fn a_text_is_truncated_at_the_end_of_a_line_unless_the_line_is_most_of_it() {
        assert_eq!(truncate_at_line("one\ntwo\nthree", 9), "one\ntwo");
        assert_eq!(truncate_at_line("one\na long second line", 12), "one\na long s");
        assert_eq!(truncate_at_line("one\ntwo\n", 8), "one\ntwo\n");
        assert_eq!(truncate_at_line("ää\n", 3), "ä");
        assert_eq!(truncate_at_line("one\ntwo", 0), "");
    }

    #[test]
    fn a_single_line_has_no_breaks_and_no_control_characters() {
        assert_eq!(single_line(" a\r\n\n## b\t\u{7}c\u{1b} "), "a ## b c");
        assert_eq!(single_line(" \n"), "");
    }

    proptest! {
        #[test]
        fn no_text_is_longer_than_its_limit(text in "\\PC{0,20}", max in 0_usize..40) {
            for kept in [truncate_bytes(&text, max), last_bytes(&text, max), truncate_at_line(&text, max)] {
                prop_assert!(kept.len() <= max);
            }
            prop_assert!(ellipsize_bytes(&text, max).len() <= max);
            let all = text.chars().count();
            for kept in [truncate_chars(&text, max), last_chars(&text, max)] {
                prop_assert_eq!(kept.chars().count(), all.min(max));
            }
            prop_assert!(ellipsize_chars(&text, max).chars().count() <= max);
        }
    }
}
