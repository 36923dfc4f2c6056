//! Shows the lines of a file that resemble a text that was not found.

use std::collections::HashSet;
use std::fmt::Write as _;

use cynode_domain::text::truncate_bytes;

/// Lines of context around the closest ones.
const CONTEXT_LINES: usize = 2;
/// The most lines that are shown.
const MAX_SHOWN_LINES: usize = 30;
/// The most lines that are compared.
const MAX_COMPARED_LINES: usize = 20_000;
/// Bytes of a line that are compared and shown.
const MAX_LINE_BYTES: usize = 300;

/// Returns the lines around the place that resembles `old` most, with line numbers; `None` if nothing does.
pub(super) fn closest_lines(text: &str, old: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(MAX_COMPARED_LINES).collect();
    let wanted: Vec<HashSet<[char; 2]>> = old
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(MAX_SHOWN_LINES)
        .map(character_pairs)
        .collect();
    let first = wanted.first()?;
    let similar =
        |line: &str, wanted: &HashSet<[char; 2]>| similarity(&character_pairs(line), wanted);
    // The first line decides; the others break ties between equal first lines.
    let candidates = lines.iter().enumerate().map(|(at, line)| (at, similar(line, first)));
    let best = candidates.clone().map(|(_, score)| score).max().filter(|best| *best > 0)?;
    let (start, _) = candidates
        .filter(|(_, score)| *score == best)
        .map(|(at, _)| {
            let rest = wanted.iter().zip(&lines[at..]).skip(1);
            (at, rest.map(|(wanted, line)| similar(line, wanted)).sum::<usize>())
        })
        // The earliest of equals.
        .min_by_key(|(at, score)| (usize::MAX - score, *at))?;
    let begin = start.saturating_sub(CONTEXT_LINES);
    let end = (start + wanted.len() + CONTEXT_LINES).min(lines.len()).min(begin + MAX_SHOWN_LINES);
    Some(number_lines(&lines[begin..end], begin + 1))
}

/// Renders lines with their numbers, as `read_file` does.
pub(super) fn number_lines(lines: &[&str], first_number: usize) -> String {
    let mut text = String::new();
    for (number, line) in (first_number..).zip(lines) {
        let _ = writeln!(text, "{number}| {}", truncate_bytes(line, MAX_LINE_BYTES));
    }
    text
}

fn character_pairs(line: &str) -> HashSet<[char; 2]> {
    let characters: Vec<char> =
        truncate_bytes(line, MAX_LINE_BYTES).chars().filter(|c| !c.is_whitespace()).collect();
    characters.windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

/// Shared pairs in thousandths of all pairs.
fn similarity(line: &HashSet<[char; 2]>, wanted: &HashSet<[char; 2]>) -> usize {
    let shared = line.intersection(wanted).count();
    (2000 * shared).checked_div(line.len() + wanted.len()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_place_is_shown_with_line_numbers() {
        let text =
            "fn a() {\n    one();\n}\nfn add(x: i32, y: i32) -> i32 {\n    x - y\n}\nfn z() {}\n";

        let shown = closest_lines(text, "fn add(a: i32, b: i32) -> i32 {\n    a - b\n}").unwrap();

        assert!(shown.starts_with("2|     one();\n3| }\n4| fn add(x"), "{shown}");
        assert!(shown.contains("5|     x - y"), "{shown}");
    }

    #[test]
    fn nothing_is_shown_if_nothing_is_similar() {
        assert_eq!(closest_lines("aaa\n", "zzz"), None);
        assert_eq!(closest_lines("", "zzz"), None);
        assert_eq!(closest_lines("aaa", "\n \n"), None);
    }
}
