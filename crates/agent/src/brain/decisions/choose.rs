//! Decision: a choice among named options.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Chooses one of several options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChooseOption {
    pub question: String,
    /// Key and description of each option; at least one.
    pub choices: Vec<(String, String)>,
    pub facts: Value,
    /// The key that a preference names.
    pub preferred: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenOption {
    /// The key of the option.
    pub choice: String,
    pub reason: String,
}

impl ChooseOption {
    fn has_option(&self, key: &str) -> bool {
        self.choices.iter().any(|(known, _)| known == key)
    }

    fn rule_answer(choice: &str, reason: &str) -> RuleAnswer<ChosenOption> {
        let answer = ChosenOption { choice: choice.to_owned(), reason: reason.to_owned() };
        RuleAnswer::new(answer, format!("{choice}: {reason}"))
    }
}

impl BrainDecision for ChooseOption {
    type Answer = ChosenOption;

    const PURPOSE: &'static str = "decide";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "choice": text_schema("Key of the chosen option.", 200),
            "reason": text_schema("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let lines: Vec<String> =
            self.choices.iter().map(|(key, text)| format!("{key}: {text}")).collect();
        let question = untrusted::quote("question", &self.question, 4 * 1024);
        let choices = untrusted::quote("choices", &lines.join("\n"), 8 * 1024);
        let facts = untrusted::quote("facts", &self.facts.to_string(), 16 * 1024);
        format!(
            "Choose one; the first if no fact favours another.\n\n{question}\n\n{choices}\n\n\
             Facts:\n{facts}"
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<ChosenOption>> {
        if let Some(preferred) = self.preferred.as_deref().filter(|key| self.has_option(key)) {
            return Some(Self::rule_answer(preferred, "a preference names it"));
        }
        let [(only, _)] = self.choices.as_slice() else { return None };
        Some(Self::rule_answer(only, "it is the only option"))
    }

    fn fallback(&self) -> RuleAnswer<ChosenOption> {
        let first = self.choices.first().map_or("", |(key, _)| key);
        Self::rule_answer(first, "it is the default")
    }

    fn find_objection(&self, answer: &ChosenOption) -> Option<String> {
        (!self.has_option(&answer.choice)).then(|| {
            let keys: Vec<_> = self.choices.iter().map(|(key, _)| key.as_str()).collect();
            format!("choice must be one of: {}", keys.join(", "))
        })
    }

    fn summarize(answer: &ChosenOption) -> String {
        format!("{}: {}", answer.choice, answer.reason)
    }
}
