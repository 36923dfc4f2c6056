//! Ranks entries by BM25 over whole words.
//!
//! A word is a run of letters and digits of any script, in lower case. A score is 0 or more, higher is better; it compares
//! entries of one ranking only, because it depends on all of them. The same input gives the same order: equal scores
//! keep the order of the entries.

use std::collections::{BTreeMap, BTreeSet};

/// How fast the weight of repeated words saturates (`k1` of BM25).
const SATURATION: f64 = 1.2;
/// How much the length of an entry lowers its score (`b` of BM25).
const LENGTH_DISCOUNT: f64 = 0.75;
/// The weight of a word of the title, in words of the text.
const TITLE_WEIGHT: u32 = 2;
/// Scores are rounded to a multiple of 1 / `SCORE_PARTS`, so that every platform orders equal ones alike.
const SCORE_PARTS: f64 = 1e6;

/// An entry that has a word of the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankedEntry {
    /// Its position among the given entries.
    pub index: usize,
    pub score: f64,
}

/// The entries, as title and text, that have a word of the query; the best first.
pub fn rank_entries(query: &str, entries: &[(&str, &str)]) -> Vec<RankedEntry> {
    let wanted: BTreeSet<String> = split_words(query).collect();
    let counted: Vec<WordCounts> = entries.iter().map(|entry| WordCounts::count(*entry)).collect();
    let total: u32 = counted.iter().map(|words| words.length).sum();
    let number = as_f64(counted.len());
    let usual_length = (f64::from(total) / number.max(1.0)).max(1.0);
    let mut weights = BTreeMap::new();
    for word in &wanted {
        let found = as_f64(counted.iter().filter(|words| words.counts.contains_key(word)).count());
        weights.insert(word, (1.0 + (number - found + 0.5) / (found + 0.5)).ln());
    }
    let mut ranked: Vec<RankedEntry> = vec![];
    for (index, words) in counted.iter().enumerate() {
        let length = f64::from(words.length) / usual_length;
        let discount = SATURATION * (1.0 - LENGTH_DISCOUNT + LENGTH_DISCOUNT * length);
        let score: f64 = weights
            .iter()
            .filter_map(|(word, weight)| Some((f64::from(*words.counts.get(*word)?), weight)))
            .map(|(count, weight)| weight * count * (SATURATION + 1.0) / (count + discount))
            .sum();
        if score > 0.0 {
            ranked.push(RankedEntry { index, score: (score * SCORE_PARTS).round() / SCORE_PARTS });
        }
    }
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score));
    ranked
}

/// The words of a text, in lower case.
pub fn split_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

struct WordCounts {
    counts: BTreeMap<String, u32>,
    length: u32,
}

impl WordCounts {
    fn count((title, text): (&str, &str)) -> Self {
        let mut words = Self { counts: BTreeMap::new(), length: 0 };
        for (part, weight) in [(title, TITLE_WEIGHT), (text, 1)] {
            for word in split_words(part) {
                *words.counts.entry(word).or_default() += weight;
                words.length += weight;
            }
        }
        words
    }
}

fn as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(query: &str, entries: &[(&str, &str)]) -> Vec<usize> {
        rank_entries(query, entries).iter().map(|found| found.index).collect()
    }

    #[test]
    fn whole_words_of_any_script_match_and_parts_of_words_do_not() {
        let entries =
            [("Database", "PostgreSQL, not SQLite"), ("Größe", "Straße 東京"), ("Data", "base")];

        assert_eq!(order("database", &entries), [0]);
        assert_eq!(order("sql", &entries), Vec::<usize>::new());
        assert_eq!(order("GRÖSSE straße", &entries), [1]);
        assert_eq!(order("größe!", &entries), [1]);
        assert_eq!(order("東京", &entries), [1]);
        assert_eq!(order("", &entries), Vec::<usize>::new());
    }

    #[test]
    fn rare_words_titles_and_more_matches_come_first_and_equal_ones_keep_their_order() {
        let entries = [
            ("build", "run make"),
            ("notes", "cache the build"),
            ("notes", "cache the build"),
            ("build cache", "the build cache is shared"),
        ];

        assert_eq!(order("build cache", &entries), [3, 1, 2, 0]);
        let scores: Vec<f64> =
            rank_entries("build cache", &entries).iter().map(|found| found.score).collect();
        assert!(scores.windows(2).all(|pair| pair[0] >= pair[1]));
        assert!((scores[1] - scores[2]).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn every_ranked_entry_has_a_word_of_the_query_and_the_order_is_repeatable(
            query in "[a-e ]{0,12}",
            texts in prop::collection::vec("[a-e ]{0,12}", 0..8),
        ) {
            let entries: Vec<(&str, &str)> = texts.iter().map(|text| ("", text.as_str())).collect();
            let wanted: BTreeSet<String> = split_words(&query).collect();
            let ranked = rank_entries(&query, &entries);
            let found: BTreeSet<usize> = ranked.iter().map(|found| found.index).collect();

            for (index, text) in texts.iter().enumerate() {
                let has_word = split_words(text).any(|word| wanted.contains(&word));
                prop_assert_eq!(found.contains(&index), has_word);
            }
            prop_assert_eq!(rank_entries(&query, &entries), ranked);
        }
    }
}
