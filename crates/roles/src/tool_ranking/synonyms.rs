//! The concepts that words stand for, English and German.
//!
//! A concept is a term beside the word itself, in goals, phrases, names and descriptions. So texts in different words
//! and languages meet in it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::terms::stem;

/// Lines of the form `concept: word word`; the concept stands for itself too.
const TABLE: &str = include_str!("synonyms.txt");

static CONCEPTS: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut concepts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let Some((concept, words)) = line.split_once(':') else { continue };
        for word in [concept].into_iter().chain(words.split_whitespace()) {
            let of_word = concepts.entry(stem(word)).or_default();
            let term = format!("={concept}");
            if !of_word.contains(&term) {
                of_word.push(term);
            }
        }
    }
    concepts
});

/// The terms of the concepts that a stem stands for.
pub(super) fn concepts_of(stem: &str) -> &'static [String] {
    CONCEPTS.get(stem).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_of_the_table_is_another_concept_with_words() {
        let mut concepts = BTreeSet::new();
        for line in TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (concept, words) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            assert!(concept.chars().all(|c| c.is_ascii_lowercase()), "{line}");
            assert!(concepts.insert(concept), "{line}");
            assert!(words.split_whitespace().count() > 0, "{line}");
            assert!(words.chars().all(|c| c.is_ascii_lowercase() || c == ' '), "{line}");
        }
    }

    #[test]
    fn forms_of_a_word_and_words_of_both_languages_stand_for_the_same() {
        for word in ["cancel", "stopping", "aborted", "abbrechen"] {
            assert!(concepts_of(&stem(word)).contains(&"=cancel".to_owned()), "{word}");
        }
        assert_eq!(concepts_of("xyzzy"), [""; 0]);
    }
}
