//! The part of a passage that is shown for a query, and its citation.

use cynode_domain::text::ellipsize_bytes;

use crate::words::{TermId, is_function_word, stem, words};

/// The citation of a passage: its path and first line.
pub fn citation(path: &str, first_line: u32) -> String {
    format!("{path}:{first_line}")
}

/// The lines of a passage that hold most of the words of a query, in at most `max_bytes`.
///
/// Returns them with the number of the first one. Cut text ends with `…`.
pub fn snippet(text: &str, first_line: u32, terms: &[TermId], max_bytes: usize) -> (u32, String) {
    let lines: Vec<&str> = text.lines().collect();
    let hits: Vec<usize> = lines.iter().map(|line| count_hits(line, terms)).collect();
    let (mut best, mut best_hits) = (0, 0);
    for start in 0..lines.len() {
        let end = window_end(&lines, start, max_bytes);
        let found: usize = hits[start..end].iter().sum();
        let is_closer = found == best_hits && hits[start] > 0 && hits[best] == 0;
        if found > best_hits || is_closer {
            (best, best_hits) = (start, found);
        }
    }
    let end = window_end(&lines, best, max_bytes);
    let shown = lines.get(best..end).unwrap_or_default().join("\n");
    let shown = ellipsize_bytes(&shown, max_bytes).into_owned();
    (first_line + u32::try_from(best).unwrap_or(0), shown)
}

/// The end of the longest run of lines from `start` that fits; at least one line.
fn window_end(lines: &[&str], start: usize, max_bytes: usize) -> usize {
    let (mut end, mut bytes) = (start, 0);
    while let Some(line) = lines.get(end) {
        bytes += line.len() + usize::from(end > start);
        if bytes > max_bytes && end > start {
            break;
        }
        end += 1;
    }
    end
}

fn count_hits(line: &str, terms: &[TermId]) -> usize {
    let is_hit =
        |word: &String| !is_function_word(word) && terms.contains(&TermId::from_term(&stem(word)));
    words(line).iter().filter(|word| is_hit(word)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::query_terms;

    #[test]
    fn the_lines_with_the_words_of_the_query_are_shown_with_their_number() {
        let text = "one\ntwo\nthe lease expires\nand a new runner claims\nfive";

        let shown = snippet(text, 10, &query_terms("expired leases"), 45);

        assert_eq!(shown, (12, "the lease expires\nand a new runner claims".to_owned()));
        assert_eq!(citation("docs/a.md", shown.0), "docs/a.md:12");
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let (line, shown) = snippet(&"ü".repeat(100), 1, &[], 21);

        assert_eq!((line, shown.as_str()), (1, "üüüüüüüüü…"));
        assert_eq!(snippet("", 1, &[], 10), (1, String::new()));
    }
}
