//! What the words of people stand for in the catalogue of tools, English and German.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::terms::stem;

/// Lines of the form `term: word word`; a word of a goal stands for the term.
const TABLE: &str = include_str!("synonyms.txt");

static SYNONYMS: LazyLock<BTreeMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut synonyms: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let Some((term, words)) = line.split_once(':') else { continue };
        for word in words.split_whitespace() {
            let terms = synonyms.entry(stem(word)).or_default();
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
    }
    synonyms
});

/// The words that a stem stands for.
pub(super) fn synonyms_of(stem: &str) -> &'static [&'static str] {
    SYNONYMS.get(stem).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_term_with_words() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (term, words) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            assert!(term.chars().all(|c| c.is_ascii_lowercase()), "{line}");
            assert!(words.split_whitespace().count() > 0, "{line}");
            assert!(words.chars().all(|c| c.is_ascii_lowercase() || c == ' '), "{line}");
        }
    }

    #[test]
    fn forms_of_a_word_stand_for_the_same() {
        assert!(synonyms_of(&stem("stopping")).contains(&"cancel"));
        assert!(synonyms_of(&stem("aufgaben")).contains(&"task"));
        assert_eq!(synonyms_of("xyzzy"), [""; 0]);
    }
}
