//! How passages are ranked: BM25 over words and headings, combined with the similarity of hashed vectors.
//!
//! A score is between 0 and 1: a weighted sum of the share of the query that the passage covers (BM25 divided by the most
//! that any passage could reach for these words) and the cosine of the vectors. Scores of different queries and of
//! different backends are not comparable.

use std::collections::BTreeMap;

use crate::embed::{cosine, embed};
use crate::words::{TermId, is_function_word, stem, term_counts, words};

const K1: f64 = 1.2;
const B: f64 = 0.6;
/// The weight of an occurrence in the heading or path, relative to one in the text.
const HEADING_WEIGHT: f64 = 1.5;
/// The part of BM25 in a score; the rest is the similarity of the vectors.
const BM25_SHARE: f64 = 0.75;
/// The number of words of a typical passage.
const USUAL_WORDS: f64 = 120.0;
/// The most terms of a query that are searched; the others are left out, in order.
pub const MAX_QUERY_TERMS: usize = 24;

/// The terms of a query, each once, in order; without function words, if others remain.
pub fn query_terms(query: &str) -> Vec<TermId> {
    let all = words(query);
    let content: Vec<&String> = all.iter().filter(|word| !is_function_word(word)).collect();
    let chosen = if content.is_empty() { all.iter().collect() } else { content };
    let mut terms = vec![];
    for word in chosen {
        let term = TermId::from_term(&stem(word));
        if !terms.contains(&term) && terms.len() < MAX_QUERY_TERMS {
            terms.push(term);
        }
    }
    terms
}

/// What is known about the passages of one profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CorpusStatistics {
    pub passages: u64,
    /// Words of all passages.
    pub words: u64,
    /// In how many passages each term of the query occurs.
    pub passages_with: BTreeMap<TermId, u64>,
}

impl CorpusStatistics {
    /// How rare a term is; always above 0.
    pub fn rarity(&self, term: TermId) -> f64 {
        let all = to_f64(self.passages);
        let with = to_f64(self.passages_with.get(&term).copied().unwrap_or(0)).min(all);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    }

    fn average_words(&self) -> f64 {
        if self.passages == 0 { 1.0 } else { (to_f64(self.words) / to_f64(self.passages)).max(1.0) }
    }
}

/// Counts beyond 2^32 are rounded; no ranking depends on that.
fn to_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The words of a passage, counted once and scored for any query.
#[derive(Debug, Clone)]
pub struct PassageWords {
    text: BTreeMap<TermId, u32>,
    heading: BTreeMap<TermId, u32>,
    words: u32,
}

impl PassageWords {
    /// Counts the words of a passage, of its path and of its heading.
    pub fn count(path: &str, heading: &str, text: &str) -> Self {
        let text = term_counts(text);
        let words = text.values().sum();
        Self { text, heading: term_counts(&format!("{path} {heading}")), words }
    }

    /// Every term of passage and heading.
    pub fn terms(&self) -> impl Iterator<Item = TermId> {
        let only_heading = self.heading.keys().filter(|term| !self.text.contains_key(term));
        self.text.keys().chain(only_heading).copied()
    }

    /// The number of words of the text.
    pub fn words(&self) -> u32 {
        self.words
    }

    fn frequency(&self, term: TermId) -> f64 {
        let count =
            |counts: &BTreeMap<TermId, u32>| f64::from(counts.get(&term).copied().unwrap_or(0));
        // A path and a heading repeat a word for style, not for weight.
        count(&self.text) + HEADING_WEIGHT * count(&self.heading).min(1.0)
    }

    /// What a term adds at most to BM25, as a share from 0 to 1, for passages of average length `average_words`.
    pub fn saturation(&self, term: TermId, average_words: f64) -> f64 {
        let frequency = self.frequency(term);
        let length = 1.0 - B + B * f64::from(self.words) / average_words;
        frequency / (frequency + K1 * length)
    }

    /// [`PassageWords::saturation`] for passages of usual length, which does not change when others are added.
    pub fn usual_saturation(&self, term: TermId) -> f64 {
        self.saturation(term, USUAL_WORDS)
    }

    /// BM25 as a share from 0 to 1 of what any passage could reach.
    pub fn bm25(&self, terms: &[TermId], corpus: &CorpusStatistics) -> f64 {
        let average = corpus.average_words();
        let (mut sum, mut most) = (0.0, 0.0);
        for term in terms {
            let rarity = corpus.rarity(*term);
            sum += rarity * self.saturation(*term, average);
            most += rarity;
        }
        if most > 0.0 { sum / most } else { 0.0 }
    }
}

/// A query, read once.
#[derive(Debug, Clone)]
pub struct RankedQuery {
    pub terms: Vec<TermId>,
    vector: Vec<f32>,
}

impl RankedQuery {
    pub fn new(query: &str) -> Self {
        Self { terms: query_terms(query), vector: embed(query) }
    }

    /// The score of a passage, from 0 to 1.
    pub fn score(&self, passage: &PassageText<'_>, corpus: &CorpusStatistics) -> f64 {
        let PassageText { path, heading, text } = *passage;
        let lexical = PassageWords::count(path, heading, text).bm25(&self.terms, corpus);
        let vector = embed(&format!("{heading}\n{text}"));
        BM25_SHARE * lexical + (1.0 - BM25_SHARE) * cosine(&self.vector, &vector)
    }
}

/// A passage as it is ranked.
#[derive(Debug, Clone, Copy)]
pub struct PassageText<'a> {
    pub path: &'a str,
    pub heading: &'a str,
    pub text: &'a str,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn corpus(texts: &[&str]) -> CorpusStatistics {
        let mut corpus = CorpusStatistics::default();
        for text in texts {
            let words = PassageWords::count("", "", text);
            corpus.passages += 1;
            corpus.words += u64::from(words.words());
            for term in words.terms() {
                *corpus.passages_with.entry(term).or_insert(0) += 1;
            }
        }
        corpus
    }

    fn rank<'a>(query: &str, texts: &[&'a str]) -> Vec<(&'a str, f64)> {
        let (query, corpus) = (RankedQuery::new(query), corpus(texts));
        let score = |text| query.score(&PassageText { path: "", heading: "", text }, &corpus);
        let mut ranked: Vec<_> = texts.iter().map(|text| (*text, score(text))).collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        ranked
    }

    #[test]
    fn scores_follow_similarity() {
        let texts = ["alpha beta", "alpha gamma delta", "delta epsilon", "omega"];

        let ranked = rank("alpha beta", &texts);

        let order: Vec<&str> = ranked.iter().map(|(text, _)| *text).collect();
        assert_eq!(order[..2], ["alpha beta", "alpha gamma delta"]);
        assert!(ranked[0].1 > ranked[1].1 && ranked[1].1 > ranked[3].1);
    }

    #[test]
    fn rare_words_decide_and_function_words_do_not() {
        let texts = ["the lease expires", "the run of the task", "the of and to in it is"];

        assert_eq!(rank("what is the lease of the run", &texts)[0].0, "the lease expires");
        assert_eq!(
            query_terms("what is it").len(),
            3,
            "a query of function words only has words too"
        );
    }

    proptest! {
        #[test]
        fn scores_are_shares_and_do_not_depend_on_the_order_of_words(
            query in "[a-e ]{0,20}", text in "[a-e ]{0,60}", other in "[a-e ]{0,60}"
        ) {
            let corpus = corpus(&[&text, &other]);
            let passage = PassageText { path: "p", heading: "h", text: &text };
            let reversed: Vec<&str> = query.split(' ').rev().collect();

            let score = RankedQuery::new(&query).score(&passage, &corpus);
            let again = RankedQuery::new(&reversed.join(" ")).score(&passage, &corpus);

            prop_assert!((0.0..=1.0).contains(&score));
            prop_assert!((score - again).abs() < 1e-6);
        }
    }
}
