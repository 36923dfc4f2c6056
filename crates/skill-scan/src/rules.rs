//! The rules: the built-in file, and what an installation adds.
//!
//! Invariant: an added rule can only make the scan stricter. It has an id of its own and no exception, so it neither
//! replaces nor weakens a built-in one.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use cynode_domain::text::last_bytes;
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::Category;

pub(crate) const BUILT_IN: &str = include_str!("rules.toml");

/// The most rules that an installation adds.
pub const MAX_ADDED_RULES: usize = 200;
/// The longest pattern.
pub const MAX_PATTERN_BYTES: usize = 1000;
/// The memory of a compiled pattern.
pub(crate) const MAX_COMPILED_BYTES: usize = 8 * 1024 * 1024;
const MAX_REASON_CHARS: usize = 200;
const MAX_ID_BYTES: usize = 64;
/// How far before a match a negation counts, in bytes.
const NEGATION_REACH: usize = 32;

/// A negation directly before a match: "never bypass access controls".
static NEGATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"(?:\b(?:do not|don't|does not|doesn't|never|must not|mustn't|should not|shouldn't|may not|cannot|can't|can not|not allowed to|refuse to|refuses to|try to|tries to|trying to|attempts? to|attempting to|asks? you to|asking you to|tells? you to|asked to|told to|not|no one may|nobody may)(?: ever| just| simply| blindly| silently)?) $";
    Regex::new(words).ok()
});

/// A rule of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedRule {
    /// Lower-case letters, digits, dots and hyphens.
    pub id: String,
    pub category: Category,
    /// Why a passage that matches is rejected.
    pub reason: String,
    /// A regular expression. It is matched against the text in lower case, with single spaces.
    pub pattern: String,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFault {
    /// Which rule.
    pub at: String,
    pub what: String,
}

impl RuleFault {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }
}

impl fmt::Display for RuleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.what)
    }
}

impl AddedRule {
    /// Reads the rules of an installation from a list; every fault at once.
    pub fn parse_all(value: &serde_json::Value) -> Result<Vec<Self>, Vec<RuleFault>> {
        let Some(items) = value.as_array() else {
            return Err(vec![RuleFault::new("rules", "must be a list of rules")]);
        };
        if items.len() > MAX_ADDED_RULES {
            let what = format!("there are more than {MAX_ADDED_RULES}");
            return Err(vec![RuleFault::new("rules", what)]);
        }
        let (mut rules, mut faults) = (vec![], vec![]);
        for (index, item) in items.iter().enumerate() {
            match Self::deserialize(item) {
                Ok(rule) => rules.push(rule),
                Err(error) => {
                    faults.push(RuleFault::new(name_of(index, item), error.to_string()));
                }
            }
        }
        // The rules that can be read are checked too, so that nothing is reported one by one.
        if let Err(more) = load(&rules) {
            faults.extend(more);
        }
        if faults.is_empty() { Ok(rules) } else { Err(faults) }
    }
}

fn name_of(index: usize, item: &serde_json::Value) -> String {
    let id = item.get("id").and_then(serde_json::Value::as_str);
    id.map_or_else(|| format!("rule {}", index + 1), |id| format!("rule \"{id}\""))
}

/// The file of built-in rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rule: Vec<BuiltInRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BuiltInRule {
    id: String,
    category: Category,
    reason: String,
    pattern: String,
    /// A sentence with a match counts only if this does not match it.
    #[serde(default)]
    except: Option<String>,
    /// Whether a negation directly before a match makes it harmless.
    #[serde(default)]
    negatable: bool,
}

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct ScanRule {
    pub(crate) id: String,
    pub(crate) category: Category,
    pub(crate) reason: String,
    pub(crate) pattern: Regex,
    except: Option<Regex>,
    is_negatable: bool,
}

impl ScanRule {
    /// The first match that no exception covers.
    pub(crate) fn find(&self, text: &str) -> Option<Range<usize>> {
        self.pattern.find_iter(text).map(|found| found.range()).find(|range| {
            let is_negated = self.is_negatable && is_negated(&text[..range.start]);
            let is_excepted =
                self.except.as_ref().is_some_and(|except| except.is_match(sentence(text, range)));
            !is_negated && !is_excepted
        })
    }
}

fn is_negated(before: &str) -> bool {
    let reach = last_bytes(before, NEGATION_REACH);
    NEGATION.as_ref().is_some_and(|negation| negation.is_match(reach))
}

/// The sentence around a match.
fn sentence<'t>(text: &'t str, range: &Range<usize>) -> &'t str {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '。');
    let ends_before = text[..range.start]
        .rmatch_indices(is_end)
        .find(|(at, end)| text[at + end.len()..].starts_with(' '));
    let start = ends_before.map_or(0, |(at, end)| at + end.len());
    let after = &text[range.end..];
    let ends_after = after
        .match_indices(is_end)
        .find(|(at, end)| !after[at + end.len()..].starts_with(char::is_alphanumeric));
    let end = ends_after.map_or(text.len(), |(at, _)| range.end + at);
    &text[start..end]
}

/// Compiles the built-in rules and the added ones; every fault of the added ones at once.
pub(crate) fn load(added: &[AddedRule]) -> Result<Vec<ScanRule>, Vec<RuleFault>> {
    let file: RuleFile = toml::from_str(BUILT_IN)
        .map_err(|error| vec![RuleFault::new("built-in rules", error.to_string())])?;
    let (mut rules, mut faults, mut ids) = (vec![], vec![], BTreeSet::new());
    for rule in file.rule {
        ids.insert(rule.id.clone());
        let BuiltInRule { id, category, reason, pattern, except, negatable } = rule;
        match (compile(&pattern), except.as_deref().map(compile).transpose()) {
            (Ok(pattern), Ok(except)) => {
                rules.push(ScanRule {
                    id,
                    category,
                    reason,
                    pattern,
                    except,
                    is_negatable: negatable,
                });
            }
            (Err(error), _) | (_, Err(error)) => faults.push(RuleFault::new(id, error)),
        }
    }
    for (index, rule) in added.iter().enumerate() {
        let at = if rule.id.is_empty() {
            format!("rule {}", index + 1)
        } else {
            format!("rule \"{}\"", rule.id)
        };
        faults.extend(faults_of(rule).into_iter().map(|what| RuleFault::new(&at, what)));
        if !ids.insert(rule.id.clone()) {
            faults.push(RuleFault::new(&at, "there is a rule with this id already"));
        }
        match compile(&rule.pattern) {
            Ok(pattern) if pattern.is_match("") => {
                faults.push(RuleFault::new(&at, "the pattern matches every text"));
            }
            Ok(pattern) => rules.push(ScanRule {
                id: rule.id.clone(),
                category: rule.category,
                reason: rule.reason.clone(),
                pattern,
                except: None,
                is_negatable: false,
            }),
            Err(error) => faults.push(RuleFault::new(&at, error)),
        }
    }
    if faults.is_empty() { Ok(rules) } else { Err(faults) }
}

fn faults_of(rule: &AddedRule) -> Vec<String> {
    let mut faults = vec![];
    let is_letter = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b".-".contains(&c);
    if !(1..=MAX_ID_BYTES).contains(&rule.id.len()) || !rule.id.bytes().all(is_letter) {
        faults.push(format!(
            "an id has 1 to {MAX_ID_BYTES} lower-case letters, digits, dots and hyphens"
        ));
    }
    if !(1..=MAX_REASON_CHARS).contains(&rule.reason.trim().chars().count()) {
        faults.push(format!("a reason has 1 to {MAX_REASON_CHARS} characters"));
    }
    if !(1..=MAX_PATTERN_BYTES).contains(&rule.pattern.len()) {
        faults.push(format!("a pattern has 1 to {MAX_PATTERN_BYTES} bytes"));
    }
    if rule.pattern.chars().any(char::is_uppercase) && !rule.pattern.contains('\\') {
        faults.push("a pattern is matched against lower case: write it in lower case".to_owned());
    }
    faults
}

fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).build();
    built.map_err(|error| {
        let text = error.to_string();
        // The last line says what is wrong; those before draw it.
        text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })
}
