//! Phrases in a sequence of words.
//!
//! A phrase is words with one blank between them. A word that ends with `*` stands for every word with this beginning, `#` for a
//! word with a digit, and `_` for any one word. A table is phrases separated by `|`.

/// The word that stands for a mark between clauses.
pub(super) const CLAUSE_MARK: &str = ",";

/// Splits a text into lower-case words; an apostrophe belongs to its word, and a mark between clauses is the word `,`.
pub(super) fn split_words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let c = if c == '’' { '\'' } else { c };
        if c.is_alphanumeric() || c == '\'' {
            word.extend(c.to_lowercase());
            continue;
        }
        push_word(&mut words, &mut word);
        let is_before_blank = chars.peek().is_none_or(|next| next.is_whitespace());
        let is_mark = match c {
            ',' | ':' | ';' | '-' => is_before_blank,
            '(' | ')' | '–' | '—' | '→' | '.' | '!' | '?' => is_before_blank || c == '(',
            _ => false,
        };
        if is_mark && words.last().is_some_and(|last| last != CLAUSE_MARK) {
            words.push(CLAUSE_MARK.to_owned());
        }
    }
    push_word(&mut words, &mut word);
    if words.last().is_some_and(|last| last == CLAUSE_MARK) {
        words.pop();
    }
    words
}

fn push_word(words: &mut Vec<String>, word: &mut String) {
    let text = word.trim_matches('\'');
    if !text.is_empty() {
        words.push(text.to_owned());
    }
    word.clear();
}

/// Returns the index of the first word of a phrase's first occurrence.
pub(super) fn find_phrase(words: &[String], phrase: &str) -> Option<usize> {
    (0..words.len()).find(|&start| starts_with_phrase(&words[start..], phrase))
}

/// The phrases of a table.
pub(super) fn phrases(table: &str) -> impl Iterator<Item = &str> {
    table.split('|').map(str::trim)
}

/// Whether one of the phrases occurs.
pub(super) fn contains_any(words: &[String], table: &str) -> bool {
    phrases(table).any(|phrase| find_phrase(words, phrase).is_some())
}

/// Returns the occurrence that starts first: its position and its length in words.
pub(super) fn find_any(words: &[String], table: &str) -> Option<(usize, usize)> {
    (0..words.len()).find_map(|start| match_start(&words[start..], table).map(|len| (start, len)))
}

/// Returns the length in words of the first of the phrases that the words start with.
pub(super) fn match_start(words: &[String], table: &str) -> Option<usize> {
    phrases(table)
        .find(|phrase| starts_with_phrase(words, phrase))
        .map(|phrase| phrase.split(' ').count())
}

fn starts_with_phrase(words: &[String], phrase: &str) -> bool {
    let [Some(start), Some(first)] =
        [phrase.as_bytes().first(), words.first().and_then(|word| word.as_bytes().first())]
    else {
        return false;
    };
    // Most phrases differ in their first byte.
    if start != first && !matches!(start, b'#' | b'_') {
        return false;
    }
    let mut rest = words.iter();
    phrase.split(' ').all(|pattern| rest.next().is_some_and(|word| matches_word(pattern, word)))
}

fn matches_word(pattern: &str, word: &str) -> bool {
    match pattern {
        "_" => true,
        "#" => word.contains(|c: char| c.is_ascii_digit()),
        _ => match pattern.strip_suffix('*') {
            Some(stem) => word.starts_with(stem),
            None => pattern == word,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_match_whole_words_beginnings_numbers_and_any_word() {
        let words = split_words("It doesn’t crash-loop from 20 to 50, e.g. here.");

        assert_eq!(find_phrase(&words, "doesn't crash"), Some(1));
        assert_eq!(find_phrase(&words, "from # to #"), Some(4));
        assert_eq!(find_phrase(&words, "cras* _ from"), Some(2));
        assert_eq!(find_phrase(&words, "rash"), None);
        assert_eq!(find_phrase(&words, "50 e"), None, "a comma separates");
        assert_eq!(find_phrase(&words, "here and"), None);
        assert_eq!(match_start(&words, "doesn't | it"), Some(1));
    }
}
