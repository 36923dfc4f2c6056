//! A choice among named things, which preferences may settle.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// Which of these?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choose {
    /// What is to be decided.
    pub question: String,
    /// What can be chosen: key and meaning; at least one.
    pub choices: Vec<(String, String)>,
    /// What is known.
    pub facts: Value,
    /// What a preference says, if one was named.
    pub preferred: Option<String>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// Its key.
    pub choice: String,
    /// Why.
    pub reason: String,
}

impl Choose {
    fn has(&self, key: &str) -> bool {
        self.choices.iter().any(|(known, _)| known == key)
    }

    fn ruled(choice: &str, reason: &str) -> Ruling<Chosen> {
        let answer = Chosen { choice: choice.to_owned(), reason: reason.to_owned() };
        Ruling::new(answer, format!("{choice}: {reason}"))
    }
}

impl Decision for Choose {
    type Answer = Chosen;

    const PURPOSE: &'static str = "decide";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object(&json!({
            "choice": text("The key of what is chosen.", 200),
            "reason": text("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let lines: Vec<String> =
            self.choices.iter().map(|(key, text)| format!("{key}: {text}")).collect();
        let question = untrusted::quote("question", &self.question, 4 * 1024);
        let choices = untrusted::quote("choices", &lines.join("\n"), 8 * 1024);
        let facts = untrusted::quote("facts", &self.facts.to_string(), 16 * 1024);
        format!(
            "Choose one; the first where nothing speaks for another.\n\n{question}\n\n{choices}\n\n\
             What is known:\n{facts}"
        )
    }

    fn by_rule(&self) -> Option<Ruling<Chosen>> {
        if let Some(preferred) = self.preferred.as_deref().filter(|key| self.has(key)) {
            return Some(Self::ruled(preferred, "a preference says so"));
        }
        let [(only, _)] = self.choices.as_slice() else { return None };
        Some(Self::ruled(only, "there is no other choice"))
    }

    fn fallback(&self) -> Ruling<Chosen> {
        let first = self.choices.first().map_or("", |(key, _)| key);
        Self::ruled(first, "nothing speaks for another")
    }

    fn objection(&self, answer: &Chosen) -> Option<String> {
        (!self.has(&answer.choice)).then(|| {
            let keys: Vec<_> = self.choices.iter().map(|(key, _)| key.as_str()).collect();
            format!("choice must be one of: {}", keys.join(", "))
        })
    }

    fn summary(answer: &Chosen) -> String {
        format!("{}: {}", answer.choice, answer.reason)
    }
}
