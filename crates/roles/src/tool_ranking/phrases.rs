//! The phrases in which people ask for built-in tools.
//!
//! A phrase is data (`phrases.txt`): one more way to ask for a tool is one more phrase. What counts is in how many
//! phrases of a tool a term occurs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::terms::phrase_terms as terms_of;

/// The name of a tool on a line of its own, then indented lines of phrases separated by semicolons.
const PHRASES: &str = include_str!("phrases.txt");

/// In how many phrases of a tool a term occurs.
pub(super) type PhraseTerms = BTreeMap<String, usize>;

static TERMS: LazyLock<BTreeMap<&'static str, PhraseTerms>> = LazyLock::new(|| {
    let mut tools: BTreeMap<&str, PhraseTerms> = BTreeMap::new();
    for (tool, phrase) in phrases(PHRASES) {
        let terms = tools.entry(tool).or_default();
        for term in terms_of(phrase).into_iter().collect::<BTreeSet<_>>() {
            *terms.entry(term).or_default() += 1;
        }
    }
    tools
});

/// The terms of the phrases of a tool, if it is built in.
pub(super) fn phrase_terms(tool: &str) -> Option<&'static PhraseTerms> {
    TERMS.get(tool)
}

/// The phrases of a text with the tool that each asks for.
fn phrases(text: &str) -> Vec<(&str, &str)> {
    let (mut found, mut tool) = (vec![], "");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with(' ') {
            let parts = line.split(';').map(str::trim).filter(|phrase| !phrase.is_empty());
            found.extend(parts.map(|phrase| (tool, phrase)));
        } else {
            tool = line.trim();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOGUE: &str = include_str!("../../../../docs/reference/tool-schemas.json");
    const FEWEST_PHRASES: usize = 10;

    #[test]
    fn every_built_in_tool_has_phrases_and_no_phrase_asks_for_an_unknown_tool() {
        let catalogue: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(CATALOGUE).unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (tool, phrase) in phrases(PHRASES) {
            assert!(catalogue.contains_key(tool), "{tool:?}: {phrase}");
            *counts.entry(tool).or_default() += 1;
        }
        for tool in catalogue.keys() {
            let count = counts.get(tool.as_str()).copied().unwrap_or_default();
            assert!(count >= FEWEST_PHRASES, "{tool} has {count} phrases");
        }
    }

    #[test]
    fn a_tool_counts_each_phrase_of_a_term_once() {
        let found = phrases("# comment\na.b\n  one; one one;\n  two\nc.d\n  three");
        assert_eq!(found, [("a.b", "one"), ("a.b", "one one"), ("a.b", "two"), ("c.d", "three")]);
        let plug = phrase_terms("db.task.cancel").and_then(|terms| terms.get("plug"));
        assert_eq!((plug, phrase_terms("weather.look_up")), (Some(&1), None));
    }
}
