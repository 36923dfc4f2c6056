//! What happens when a review has sent work back as often as it may.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Issue, IssueWeight, object, one_of, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// Work was sent back as often as it may be: what now?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewCapExceeded {
    /// The work unit.
    pub unit: String,
    /// How often it was sent back.
    pub rounds: u32,
    /// What is still wrong.
    pub open_issues: Vec<Issue>,
    /// Whether the tests pass.
    pub tests_pass: bool,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapAction {
    /// It goes on; what is wrong is noted.
    ProceedWithNotes,
    /// A person is asked.
    Escalate,
}

/// What happens, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapDecision {
    /// What happens.
    pub action: CapAction,
    /// Why.
    pub reason: String,
}

impl CapDecision {
    fn ruled(action: CapAction, reason: &str) -> Ruling<Self> {
        let answer = Self { action, reason: reason.to_owned() };
        let words = ReviewCapExceeded::summary(&answer);
        Ruling::new(answer, words)
    }
}

impl Decision for ReviewCapExceeded {
    type Answer = CapDecision;

    const PURPOSE: &'static str = "review_cap_exceeded";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object(&json!({
            "action": one_of("What happens.", &["proceed_with_notes", "escalate"]),
            "reason": text("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let lines: Vec<String> = self
            .open_issues
            .iter()
            .map(|issue| format!("- {}: {} ({})", issue.location, issue.problem, issue.fix))
            .collect();
        let issues = untrusted::quote("open issues", &lines.join("\n"), 16 * 1024);
        format!(
            "{} was sent back {} times, which is as often as it may be. Does it go on with these issues \
             noted, or must a person decide?\n\n{issues}",
            untrusted::inline(&self.unit),
            self.rounds
        )
    }

    fn by_rule(&self) -> Option<Ruling<CapDecision>> {
        if !self.tests_pass {
            return Some(CapDecision::ruled(CapAction::Escalate, "its tests do not pass"));
        }
        let weighs = |weight| self.open_issues.iter().any(|issue| issue.weight == weight);
        if weighs(IssueWeight::Critical) {
            return Some(CapDecision::ruled(CapAction::Escalate, "a critical issue is open"));
        }
        (!weighs(IssueWeight::Major)).then(|| {
            CapDecision::ruled(CapAction::ProceedWithNotes, "nothing that matters much is open")
        })
    }

    fn fallback(&self) -> Ruling<CapDecision> {
        CapDecision::ruled(CapAction::Escalate, "a person decides what nobody else can")
    }

    fn summary(answer: &CapDecision) -> String {
        let action = match answer.action {
            CapAction::ProceedWithNotes => "proceed_with_notes",
            CapAction::Escalate => "escalate",
        };
        format!("{action}: {}", answer.reason)
    }
}
