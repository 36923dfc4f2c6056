//! What to do when an agent failed or fell silent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, one_of, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// An agent failed: what now?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandleFailure {
    /// The agent's role.
    pub role: String,
    /// How often it has failed, this time included.
    pub failures: u32,
    /// How often it may fail before a person is asked.
    pub max_failures: u32,
    /// What is known of the failure.
    pub error: String,
    /// How far it came, if it said so.
    pub checkpoint: Option<String>,
}

/// What is done about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureAction {
    /// The same again.
    Retry,
    /// Less of it.
    ReduceScope,
    /// A person is asked.
    Escalate,
}

impl FailureAction {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::ReduceScope => "reduce_scope",
            Self::Escalate => "escalate",
        }
    }
}

/// What is done about a failure, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handled {
    /// What is done.
    pub action: FailureAction,
    /// Why.
    pub reason: String,
}

impl Handled {
    fn ruled(action: FailureAction, reason: &str) -> Ruling<Self> {
        let answer = Self { action, reason: reason.to_owned() };
        Ruling::new(answer, format!("{}: {reason}", action.as_str()))
    }
}

impl Decision for HandleFailure {
    type Answer = Handled;

    const PURPOSE: &'static str = "handle_failure";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object(&json!({
            "action": one_of("What is done.", &["retry", "reduce_scope", "escalate"]),
            "reason": text("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let error = untrusted::quote("failure", &self.error, 8 * 1024);
        let so_far = self.checkpoint.as_deref().unwrap_or("nothing is known");
        let so_far = untrusted::quote("progress", so_far, 8 * 1024);
        format!(
            "The {} failed for the {}. time of at most {}. Is the same worth another try, is less of \
             it, or must a person decide?\n\n{error}\n\nHow far it came:\n{so_far}",
            untrusted::inline(&self.role),
            self.failures,
            self.max_failures
        )
    }

    fn by_rule(&self) -> Option<Ruling<Handled>> {
        (self.failures >= self.max_failures)
            .then(|| Handled::ruled(FailureAction::Escalate, "it failed as often as it may"))
    }

    fn fallback(&self) -> Ruling<Handled> {
        match self.failures {
            0 | 1 => Handled::ruled(FailureAction::Retry, "it failed once"),
            2 => Handled::ruled(FailureAction::ReduceScope, "it failed twice"),
            _ => Handled::ruled(FailureAction::Escalate, "it failed more than twice"),
        }
    }

    fn summary(answer: &Handled) -> String {
        format!("{}: {}", answer.action.as_str(), answer.reason)
    }
}
