//! Decision: the reaction to a failed or silent agent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{enum_schema, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Decides about a failed agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandleFailure {
    pub role: String,
    /// The number of failures, including this one.
    pub failures: u32,
    /// The number of failures that escalates to a person.
    pub max_failures: u32,
    pub error: String,
    /// The progress that the agent reported.
    pub checkpoint: Option<String>,
}

/// The reaction to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureAction {
    /// Try the same again.
    Retry,
    /// Try a smaller part.
    ReduceScope,
    /// Ask a person.
    Escalate,
}

impl FailureAction {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::ReduceScope => "reduce_scope",
            Self::Escalate => "escalate",
        }
    }
}

/// The reaction and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureHandling {
    pub action: FailureAction,
    pub reason: String,
}

impl FailureHandling {
    fn rule_answer(action: FailureAction, reason: &str) -> RuleAnswer<Self> {
        let answer = Self { action, reason: reason.to_owned() };
        RuleAnswer::new(answer, format!("{}: {reason}", action.as_str()))
    }
}

impl BrainDecision for HandleFailure {
    type Answer = FailureHandling;

    const PURPOSE: &'static str = "handle_failure";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "action": enum_schema("The action.", &["retry", "reduce_scope", "escalate"]),
            "reason": text_schema("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let error = untrusted::quote("failure", &self.error, 8 * 1024);
        let so_far = self.checkpoint.as_deref().unwrap_or("unknown");
        let so_far = untrusted::quote("progress", so_far, 8 * 1024);
        format!(
            "The agent {} failed {} times; the limit is {}. Retry, reduce the scope, or escalate to a \
             person?\n\n{error}\n\nProgress:\n{so_far}",
            untrusted::inline(&self.role),
            self.failures,
            self.max_failures
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<FailureHandling>> {
        (self.failures >= self.max_failures).then(|| {
            FailureHandling::rule_answer(
                FailureAction::Escalate,
                "the limit of failures is reached",
            )
        })
    }

    fn fallback(&self) -> RuleAnswer<FailureHandling> {
        match self.failures {
            0 | 1 => FailureHandling::rule_answer(FailureAction::Retry, "it failed once"),
            2 => FailureHandling::rule_answer(FailureAction::ReduceScope, "it failed twice"),
            _ => FailureHandling::rule_answer(FailureAction::Escalate, "it failed more than twice"),
        }
    }

    fn summarize(answer: &FailureHandling) -> String {
        format!("{}: {}", answer.action.as_str(), answer.reason)
    }
}
