//! The index of a list of tools: which tools a term speaks for, and how much.
//!
//! The weights are computed once, so that ranking a goal reads only the tools of its terms.

use std::collections::BTreeMap;

use super::phrases::{PhraseTerms, phrase_terms};
use super::terms::{TermGroup, name_terms, text_terms};

/// The weight of a term in the name.
const NAME_WEIGHT: f64 = 1.0;
/// The weight of a term in the first sentence of the description.
const FIRST_SENTENCE_WEIGHT: f64 = 0.6;
/// The weight of a term in the rest of the description.
const DESCRIPTION_WEIGHT: f64 = 0.3;
/// How much more name and description count for a tool without phrases.
const WITHOUT_PHRASES_FACTOR: f64 = 2.5;
/// After how many phrases a term counts half of what it can.
const PHRASE_SATURATION: f64 = 4.0;

/// The tools of each term.
#[derive(Debug)]
pub(super) struct Index {
    postings: BTreeMap<String, Vec<Posting>>,
}

/// How much a term speaks for a tool.
#[derive(Debug)]
struct Posting {
    /// The position in the list of tools.
    tool: usize,
    weight: f64,
}

/// The terms of a tool by field.
struct ToolTerms {
    /// Terms of name and description, with the weight of the best field that has them.
    text: BTreeMap<String, f64>,
    phrases: Option<&'static PhraseTerms>,
}

impl Index {
    /// Indexes tools, given as name and description.
    pub(super) fn new(tools: &[(String, String)]) -> Self {
        let tools: Vec<ToolTerms> =
            tools.iter().map(|(name, description)| ToolTerms::new(name, description)).collect();
        let total = tools.len();
        let text = frequencies(tools.iter().flat_map(|tool| tool.text.keys()));
        let phrases =
            frequencies(tools.iter().filter_map(|it| it.phrases).flat_map(BTreeMap::keys));
        let mut postings: BTreeMap<String, Vec<Posting>> = BTreeMap::new();
        for (tool, terms) in tools.iter().enumerate() {
            let factor = if terms.phrases.is_some() { 1.0 } else { WITHOUT_PHRASES_FACTOR };
            let in_text = terms
                .text
                .iter()
                .map(|(term, weight)| (term, weight * factor * rarity(text[term.as_str()], total)));
            let in_phrases = terms.phrases.into_iter().flatten().map(|(term, count)| {
                let count = count_as_f64(*count);
                let share = count * (PHRASE_SATURATION + 1.0) / (count + PHRASE_SATURATION);
                (term, share * rarity(phrases[term.as_str()], total))
            });
            for (term, weight) in in_text.chain(in_phrases) {
                let of_term = postings.entry(term.clone()).or_default();
                match of_term.last_mut().filter(|last| last.tool == tool) {
                    Some(last) => last.weight += weight,
                    None => of_term.push(Posting { tool, weight }),
                }
            }
        }
        Self { postings }
    }

    /// Whether a tool has the term.
    pub(super) fn has(&self, term: &str) -> bool {
        self.postings.contains_key(term)
    }

    /// The tools that match a term of the group, each with the weight of the best.
    pub(super) fn best_matches(&self, group: &TermGroup) -> BTreeMap<usize, f64> {
        let mut best: BTreeMap<usize, f64> = BTreeMap::new();
        for (term, weight) in group {
            for posting in self.postings.get(term).into_iter().flatten() {
                let known = best.entry(posting.tool).or_default();
                *known = known.max(weight * posting.weight);
            }
        }
        best
    }
}

impl ToolTerms {
    fn new(name: &str, description: &str) -> Self {
        let first_end = description.find(". ").map_or(description.len(), |end| end + 1);
        let (first, rest) = description.split_at_checked(first_end).unwrap_or((description, ""));
        let mut text: BTreeMap<String, f64> = BTreeMap::new();
        for term in text_terms(rest) {
            text.insert(term, DESCRIPTION_WEIGHT);
        }
        for term in text_terms(first) {
            text.insert(term, FIRST_SENTENCE_WEIGHT);
        }
        for term in name_terms(name) {
            *text.entry(term).or_default() += NAME_WEIGHT;
        }
        Self { text, phrases: phrase_terms(name) }
    }
}

/// In how many tools a term occurs, given the terms of each tool without repetitions.
fn frequencies<'t>(terms: impl Iterator<Item = &'t String>) -> BTreeMap<&'t str, usize> {
    let mut frequencies: BTreeMap<&str, usize> = BTreeMap::new();
    for term in terms {
        *frequencies.entry(term).or_default() += 1;
    }
    frequencies
}

/// The inverse document frequency of a term that `having` of `total` tools have.
fn rarity(having: usize, total: usize) -> f64 {
    let (having, total) = (count_as_f64(having), count_as_f64(total));
    (1.0 + (total - having + 0.5) / (having + 0.5)).ln()
}

fn count_as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight_of(tools: &[(&str, &str)], term: &str, tool: usize) -> f64 {
        let owned: Vec<(String, String)> =
            tools.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect();
        let group = TermGroup::from([(term.to_owned(), 1.0)]);
        let matches = Index::new(&owned).best_matches(&group);
        matches.get(&tool).copied().unwrap_or_default()
    }

    #[test]
    fn a_term_counts_most_in_the_name_and_least_late_in_the_description() {
        let tools = [("a.moon", "x."), ("b.x", "A moon. x"), ("c.x", "x. A moon."), ("d.x", "x")];
        let weights: Vec<f64> = (0..4).map(|tool| weight_of(&tools, "moon", tool)).collect();
        assert!(weights[0] > weights[1] && weights[1] > weights[2], "{weights:?}");
        assert!(weights[2] > 0.0 && weights[3] == 0.0, "{weights:?}");
    }

    #[test]
    fn a_rare_term_counts_more_than_one_of_many_tools() {
        let tools = [("a.moon", "x"), ("b.sun", "x"), ("c.sun", "x")];
        assert!(weight_of(&tools, "moon", 0) > weight_of(&tools, "sun", 1));
    }
}
