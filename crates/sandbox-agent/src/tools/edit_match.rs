//! Finds the place of an edit: exactly, then with differences in white space that do not matter.

use std::ops::Range;

/// How the old text of an edit was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchKind {
    Exact,
    /// Trailing white space or line endings differ.
    TrailingSpace,
    /// Indentation differs.
    Indentation,
    /// The old text had line numbers, as `read_file` shows them.
    LineNumbers,
}

impl MatchKind {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Exact => "matched exactly",
            Self::TrailingSpace => "matched except for trailing white space or line endings",
            Self::Indentation => "matched except for indentation",
            Self::LineNumbers => "matched without the line numbers",
        }
    }
}

/// A place in a text and the text to put there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) range: Range<usize>,
    pub(super) new: String,
    pub(super) kind: MatchKind,
}

/// Why an edit has no unique place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MatchError {
    Missing,
    /// The lines where the old text begins.
    Ambiguous(Vec<usize>),
}

/// Finds the one place of `old` in `text` and adapts `new` to its indentation and line endings.
pub(super) fn find_replacement(
    text: &str,
    old: &str,
    new: &str,
) -> Result<Replacement, MatchError> {
    let is_crlf = uses_crlf(text);
    let exact: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match exact.as_slice() {
        [at] => {
            let new = adapt_line_endings(new, is_crlf);
            let range = *at..*at + old.len();
            return Ok(Replacement { range, new, kind: MatchKind::Exact });
        }
        [] => {}
        several => {
            return Err(MatchError::Ambiguous(
                several.iter().map(|at| line_number(text, *at)).collect(),
            ));
        }
    }
    let lines = split_lines(text);
    for kind in [MatchKind::TrailingSpace, MatchKind::Indentation] {
        if let Some(found) = find_lines(text, &lines, old, new, kind) {
            return found;
        }
    }
    let (Some(old), new) = (strip_line_numbers(old), strip_line_numbers(new)) else {
        return Err(MatchError::Missing);
    };
    let new = new.as_deref().unwrap_or_default();
    let found = find_replacement(text, &old, new)?;
    Ok(Replacement { kind: MatchKind::LineNumbers, ..found })
}

/// The line of a position, from 1.
pub(super) fn line_number(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Finds whole lines that equal the lines of `old` under `kind`; `None` if there are none.
fn find_lines(
    text: &str,
    lines: &[Range<usize>],
    old: &str,
    new: &str,
    kind: MatchKind,
) -> Option<Result<Replacement, MatchError>> {
    let normalize: fn(&str) -> &str = match kind {
        MatchKind::Exact | MatchKind::TrailingSpace => str::trim_end,
        MatchKind::Indentation | MatchKind::LineNumbers => str::trim,
    };
    let old_lines: Vec<&str> = trim_blank_lines(old);
    let first = old_lines.first()?;
    let starts: Vec<usize> = (0..lines.len().saturating_sub(old_lines.len() - 1))
        .filter(|&start| {
            old_lines
                .iter()
                .zip(&lines[start..])
                .all(|(old, line)| normalize(old) == normalize(&text[line.clone()]))
        })
        .collect();
    let start = match starts.as_slice() {
        [] => return None,
        [start] => *start,
        several => {
            let numbers = several.iter().map(|start| start + 1).collect();
            return Some(Err(MatchError::Ambiguous(numbers)));
        }
    };
    let (begin, last) = (lines[start].start, &lines[start + old_lines.len() - 1]);
    let matched_first = &text[lines[start].clone()];
    let new_lines = trim_blank_lines(new);
    let shifted = shift_indentation(&new_lines, indentation(first), indentation(matched_first));
    let is_crlf = uses_crlf(text);
    let mut new = adapt_line_endings(&shifted.join("\n"), is_crlf);
    // The replaced lines end with the line break of the last one, unless `new` removes them.
    let mut end = last.end;
    if new_lines.is_empty() {
        new.clear();
    } else {
        let kept = text[last.clone()].trim_end_matches(['\n', '\r']).len();
        end = last.start + kept;
    }
    Some(Ok(Replacement { range: begin..end, new, kind }))
}

/// The ranges of all lines, with their line breaks.
fn split_lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let range = start..start + line.len();
            start = range.end;
            range
        })
        .collect()
}

/// The lines of a text without blank lines at its start and end.
fn trim_blank_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let blank = lines.iter().take_while(|line| line.trim().is_empty()).count();
    lines.split_off(blank)
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Replaces the indentation `from` by `to` at the start of every line that has it.
fn shift_indentation(lines: &[&str], from: &str, to: &str) -> Vec<String> {
    lines
        .iter()
        .map(|line| match line.strip_prefix(from) {
            Some(rest) if !line.trim().is_empty() => format!("{to}{rest}"),
            _ => (*line).to_owned(),
        })
        .collect()
}

/// Whether most lines end with CR LF.
fn uses_crlf(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf * 2 > text.matches('\n').count()
}

fn adapt_line_endings(text: &str, is_crlf: bool) -> String {
    if !is_crlf {
        return text.to_owned();
    }
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Removes `12| ` from every line; `None` unless every line that is not blank has it.
fn strip_line_numbers(text: &str) -> Option<String> {
    let strip = |line: &str| {
        if line.trim().is_empty() {
            return Some(String::new());
        }
        let (number, rest) = line.split_once('|')?;
        let number = number.trim();
        let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
        is_number.then(|| rest.strip_prefix(' ').unwrap_or(rest).to_owned())
    };
    if text.trim().is_empty() {
        return None;
    }
    let lines: Option<Vec<String>> = text.lines().map(strip).collect();
    lines.map(|lines| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, old: &str, new: &str) -> (String, MatchKind) {
        let found = find_replacement(text, old, new).unwrap();
        let mut edited = text.to_owned();
        edited.replace_range(found.range, &found.new);
        (edited, found.kind)
    }

    #[test]
    fn an_exact_match_is_preferred() {
        assert_eq!(apply("a = 1\nb = 2\n", "1", "3"), ("a = 3\nb = 2\n".into(), MatchKind::Exact));
    }

    #[test]
    fn trailing_white_space_makes_no_difference() {
        let (text, kind) = apply("if x:  \n    y()\t\nz\n", "if x:\n    y()\n", "if x:\n    w()\n");
        assert_eq!((text.as_str(), kind), ("if x:\n    w()\nz\n", MatchKind::TrailingSpace));
    }

    #[test]
    fn new_text_gets_the_indentation_of_the_file() {
        let text = "class A:\n    def f(self):\n        return 1\n";
        let (text, kind) =
            apply(text, "def f(self):\n    return 1", "def f(self):\n    x = 2\n\n    return x");
        let expected = "class A:\n    def f(self):\n        x = 2\n\n        return x\n";
        assert_eq!((text.as_str(), kind), (expected, MatchKind::Indentation));
    }

    #[test]
    fn tabs_and_spaces_are_the_same_indentation() {
        let (text, _) = apply("{\n\tfoo();\n}\n", "    foo();", "    bar();");
        assert_eq!(text, "{\n\tbar();\n}\n");
    }

    #[test]
    fn line_endings_of_the_file_are_kept() {
        let (text, kind) = apply("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz");
        assert_eq!((text.as_str(), kind), ("x\r\ny\r\nz\r\nc\r\n", MatchKind::TrailingSpace));
        assert_eq!(apply("a\r\nb\r\n", "b", "x\ny").0, "a\r\nx\r\ny\r\n");
    }

    #[test]
    fn line_numbers_of_a_listing_are_removed() {
        let (text, kind) = apply("a\nb\nc\n", "2| b\n3| c", "2| B\n3| C");
        assert_eq!((text.as_str(), kind), ("a\nB\nC\n", MatchKind::LineNumbers));
    }

    #[test]
    fn several_places_are_reported_with_their_lines() {
        let ambiguous = |text, old| find_replacement(text, old, "z").unwrap_err();
        assert_eq!(ambiguous("x\ny\nx\n", "x"), MatchError::Ambiguous(vec![1, 3]));
        assert_eq!(ambiguous(" x \n\tx\n", "    x"), MatchError::Ambiguous(vec![1, 2]));
        assert_eq!(ambiguous("x\n", "nothing"), MatchError::Missing);
        assert_eq!(ambiguous("", "nothing"), MatchError::Missing);
    }

    #[test]
    fn lines_can_be_removed() {
        assert_eq!(apply("a\n  b\nc\n", "b\n", "").0, "a\n  c\n");
        assert_eq!(apply("a\n  b \nc\n", "  b\n", "").0, "a\nc\n");
    }
}
