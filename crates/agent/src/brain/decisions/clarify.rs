//! What an agent is answered that does not know how to go on.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// Answers longer than this are no instruction.
const MAX_ANSWER: usize = 4000;

/// What is this agent answered?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarify {
    /// The role of the agent.
    pub role: String,
    /// What it asks.
    pub question: String,
    /// The answers that it offers.
    pub options: Vec<String>,
    /// What it says about the question.
    pub context: String,
    /// What the task asks for.
    pub request: String,
    /// What must be true of the result.
    pub criteria: Vec<String>,
}

/// An answer, or why a person has to give it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clarified {
    /// The answer; empty where a person has to give it.
    pub answer: String,
    /// Why this answer, or why a person.
    pub reason: String,
}

impl Decision for Clarify {
    type Answer = Clarified;

    const PURPOSE: &'static str = "clarify";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object(&json!({
            "answer": {
                "type": "string", "maxLength": MAX_ANSWER,
                "description": "What the agent is told; empty if only a person knows.",
            },
            "reason": text("Why, in one sentence.", 500),
        }))
    }

    fn prompt(&self) -> String {
        let role = untrusted::inline(&self.role);
        let question = untrusted::quote("question", &self.question, 8 * 1024);
        let options = untrusted::quote("options", &self.options.join("\n"), 4 * 1024);
        let context = untrusted::quote("context", &self.context, 8 * 1024);
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        let criteria = untrusted::quote("criteria", &self.criteria.join("\n"), 8 * 1024);
        format!(
            "Answer the question of the {role}, which works on the request below. Answer only what \
             follows from the request and its criteria. Leave the answer empty if it is a matter of \
             taste, money, access or permission, or if the request does not say: a person answers \
             then.\n\n{question}\n\nAnswers that it offers:\n{options}\n\nWhat it says about \
             it:\n{context}\n\nThe request:\n{request}\n\nWhat must be true of the result:\n{criteria}"
        )
    }

    fn fallback(&self) -> Ruling<Clarified> {
        let reason = "a person answers".to_owned();
        Ruling::new(Clarified { answer: String::new(), reason }, "a person answers")
    }

    fn summary(answer: &Clarified) -> String {
        if answer.answer.trim().is_empty() {
            return format!("a person answers: {}", answer.reason);
        }
        format!("answered: {}", answer.reason)
    }
}
