//! Decision: the answer to an agent's question.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// The most characters of an answer.
const MAX_ANSWER: usize = 4000;

/// Answers an agent's question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerClarification {
    pub role: String,
    pub question: String,
    /// The answers that the agent offers.
    pub options: Vec<String>,
    /// The agent's context of the question.
    pub context: String,
    /// The request of the task.
    pub request: String,
    /// The acceptance criteria of the task.
    pub criteria: Vec<String>,
}

/// An answer, or the reason to ask a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClarificationAnswer {
    /// Empty if a person must answer.
    pub answer: String,
    pub reason: String,
}

impl BrainDecision for AnswerClarification {
    type Answer = ClarificationAnswer;

    const PURPOSE: &'static str = "clarify";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "answer": {
                "type": "string", "maxLength": MAX_ANSWER,
                "description": "Answer for the agent; empty if a person must answer.",
            },
            "reason": text_schema("Why, in one sentence.", 500),
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
            "Answer the question of the agent {role}, which works on the request below. Answer only what \
             follows from the request and its criteria. Leave the answer empty if it is a matter of \
             taste, money, access or permission, or if the request does not say: a person then \
             answers.\n\n{question}\n\nOptions:\n{options}\n\nContext:\n{context}\n\nThe \
             request:\n{request}\n\nWhat must be true of the result:\n{criteria}"
        )
    }

    fn fallback(&self) -> RuleAnswer<ClarificationAnswer> {
        let reason = "a person answers".to_owned();
        RuleAnswer::new(ClarificationAnswer { answer: String::new(), reason }, "a person answers")
    }

    fn summarize(answer: &ClarificationAnswer) -> String {
        if answer.answer.trim().is_empty() {
            return format!("a person answers: {}", answer.reason);
        }
        format!("answered: {}", answer.reason)
    }
}
