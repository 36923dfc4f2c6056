//! Scans texts that agents follow, and finds hostile instructions in them.
//!
//! Start at [`SkillScanner::scan`]. A text is first checked for what readers do not see (`hidden`). Then every
//! rule is matched against several views of it: folded to plain letters, without markup, and with encoded parts
//! decoded (`encoded`), so that a disguise does not help. The built-in rules are a data file, `rules.toml`; an
//! installation adds rules ([`AddedRule`]) and weakens none.
//!
//! The scan finds known attacks; it does not prove that a text is harmless. Its error rates are measured on a
//! corpus (`tests/corpus`).

mod encoded;
mod hidden;
mod rules;
mod views;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use regex::{RegexSet, RegexSetBuilder};
use sha2::{Digest as _, Sha256};

pub use cynode_domain::skill::Category;
use rules::ScanRule;
pub use rules::{AddedRule, MAX_ADDED_RULES, MAX_PATTERN_BYTES, RuleFault};
use views::TextView;

/// The longest quoted passage, in characters.
const MAX_QUOTE_CHARS: usize = 200;
/// The rule of phrases that an installation rejects.
const PHRASE_RULE: &str = "phrase";

/// A hostile passage.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("{reason} ({category})")]
pub struct ScanFinding {
    pub rule: String,
    pub category: Category,
    /// Why, for people.
    pub reason: String,
    /// The passage as it stands in the text, or its decoded form; truncated.
    pub text: String,
    /// The hash of what the rule looks for, so that a rule with the same name and another pattern is another rule.
    #[serde(default)]
    pub pattern_sha256: String,
}

impl ScanFinding {
    fn new(rule: &str, category: Category, reason: &str, text: &str) -> Self {
        let text = text.trim_matches(|c: char| c.is_whitespace() || ".,;:!)".contains(c));
        Self {
            rule: rule.to_owned(),
            category,
            reason: reason.to_owned(),
            text: text.chars().take(MAX_QUOTE_CHARS).collect(),
            // A rule without a pattern is a part of this program.
            pattern_sha256: hash_pattern(rule),
        }
    }

    fn with_pattern(self, pattern: &str) -> Self {
        Self { pattern_sha256: hash_pattern(pattern), ..self }
    }
}

/// The built-in rules, with those of an installation.
#[derive(Debug)]
pub struct SkillScanner {
    fingerprint: String,
    phrases: Vec<(Category, String)>,
    /// Compiled at the first scan: a process that scans nothing pays nothing.
    patterns: LazyLock<CompiledRules, Box<dyn FnOnce() -> CompiledRules + Send>>,
}

#[derive(Debug)]
struct CompiledRules {
    rules: Vec<ScanRule>,
    /// The patterns of `rules`, to find the few that match in one pass.
    set: RegexSet,
}

impl CompiledRules {
    fn new(added: &[AddedRule]) -> Result<Self, Vec<RuleFault>> {
        let rules = rules::load(added)?;
        let set = RegexSetBuilder::new(rules.iter().map(|rule| rule.pattern.as_str()))
            .size_limit(rules::MAX_COMPILED_BYTES * 8)
            .build();
        let set = set.map_err(|error| vec![RuleFault::new("rules", error.to_string())])?;
        Ok(Self { rules, set })
    }
}

impl SkillScanner {
    /// The scanner without rules of an installation.
    pub fn built_in() -> Arc<Self> {
        static BUILT_IN: LazyLock<Arc<SkillScanner>> = LazyLock::new(|| {
            #[expect(clippy::expect_used, reason = "a test compiles the file that is compiled in")]
            let compile = || CompiledRules::new(&[]).expect("the built-in rules are valid");
            Arc::new(SkillScanner {
                fingerprint: fingerprint(&[], &[]),
                phrases: vec![],
                patterns: LazyLock::new(Box::new(compile)),
            })
        });
        Arc::clone(&BUILT_IN)
    }

    /// The built-in rules with added rules and phrases; every fault of the additions at once.
    pub fn with_additions(
        added: &[AddedRule],
        phrases: &[(Category, String)],
    ) -> Result<Self, Vec<RuleFault>> {
        let compiled = CompiledRules::new(added)?;
        let phrases = phrases
            .iter()
            .map(|(category, phrase)| (*category, views::fold(phrase).text))
            .filter(|(_, phrase)| !phrase.trim().is_empty());
        let phrases: Vec<_> = phrases.collect();
        let fingerprint = fingerprint(added, &phrases);
        Ok(Self { fingerprint, phrases, patterns: LazyLock::new(Box::new(|| compiled)) })
    }

    /// The identity of the rules: a text that passed a scanner passes every other one with the same fingerprint.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Every hostile passage, at most one for each rule; empty if the text passes.
    pub fn scan(&self, text: &str) -> Vec<ScanFinding> {
        let mut findings = hidden::find(text);
        let mut seen = BTreeSet::new();
        for view in views::build_all(text) {
            self.scan_view(text, &view, &mut seen, &mut findings);
        }
        findings
    }

    fn scan_view<'s>(
        &'s self,
        text: &str,
        view: &TextView,
        seen: &mut BTreeSet<&'s str>,
        findings: &mut Vec<ScanFinding>,
    ) {
        let matching = self.patterns.set.matches(&view.text);
        for rule in matching.iter().filter_map(|index| self.patterns.rules.get(index)) {
            let Some(found) = rule.find(&view.text) else { continue };
            if seen.insert(&rule.id) {
                let passage = view.passage(text, &found);
                let found = ScanFinding::new(&rule.id, rule.category, &rule.reason, passage);
                findings.push(found.with_pattern(rule.pattern.as_str()));
            }
        }
        for (category, phrase) in &self.phrases {
            let Some(found) = views::find_words(&view.text, phrase) else { continue };
            if seen.insert(phrase) {
                let passage = view.passage(text, &found);
                let reason = "it contains a phrase that this installation rejects";
                let found = ScanFinding::new(PHRASE_RULE, *category, reason, passage);
                findings.push(found.with_pattern(phrase));
            }
        }
    }
}

fn hash_pattern(pattern: &str) -> String {
    hex::encode(Sha256::digest(pattern))
}

fn fingerprint(added: &[AddedRule], phrases: &[(Category, String)]) -> String {
    let mut hasher = Sha256::new();
    // The version of the code: raise it when `hidden`, `views` or `encoded` find more or less than before, or when more of
    // a skill is scanned.
    hasher.update("skill scan 2\n");
    hasher.update(rules::BUILT_IN);
    for AddedRule { id, category, reason, pattern } in added {
        hasher.update(format!("\n{id}\t{category}\t{reason}\t{pattern}"));
    }
    for (category, phrase) in phrases {
        hasher.update(format!("\n{category}\t{phrase}"));
    }
    hex::encode(hasher.finalize())
}

#[cfg(test)]
mod tests;
