//! Decision: how to continue at the revision limit.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ArtifactIssue, IssueWeight, enum_schema, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Decides about work that reached the revision limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewCapExceeded {
    pub unit: String,
    /// The number of revisions.
    pub rounds: u32,
    pub open_issues: Vec<ArtifactIssue>,
    pub tests_pass: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapAction {
    /// Continue; the open issues are noted.
    ProceedWithNotes,
    /// Ask a person.
    Escalate,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapDecision {
    pub action: CapAction,
    pub reason: String,
}

impl CapDecision {
    fn rule_answer(action: CapAction, reason: &str) -> RuleAnswer<Self> {
        let answer = Self { action, reason: reason.to_owned() };
        let words = ReviewCapExceeded::summarize(&answer);
        RuleAnswer::new(answer, words)
    }
}

impl BrainDecision for ReviewCapExceeded {
    type Answer = CapDecision;

    const PURPOSE: &'static str = "review_cap_exceeded";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "action": enum_schema("What happens.", &["proceed_with_notes", "escalate"]),
            "reason": text_schema("Why, in one sentence.", 1000),
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
            "{} reached its limit of {} revisions. Proceed with these issues noted, or escalate to a \
             person?\n\n{issues}",
            untrusted::inline(&self.unit),
            self.rounds
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<CapDecision>> {
        if !self.tests_pass {
            return Some(CapDecision::rule_answer(CapAction::Escalate, "its tests do not pass"));
        }
        let weighs = |weight| self.open_issues.iter().any(|issue| issue.weight == weight);
        if weighs(IssueWeight::Critical) {
            return Some(CapDecision::rule_answer(CapAction::Escalate, "a critical issue is open"));
        }
        (!weighs(IssueWeight::Major)).then(|| {
            CapDecision::rule_answer(CapAction::ProceedWithNotes, "only minor issues are open")
        })
    }

    fn fallback(&self) -> RuleAnswer<CapDecision> {
        CapDecision::rule_answer(CapAction::Escalate, "no rule decides this")
    }

    fn summarize(answer: &CapDecision) -> String {
        let action = match answer.action {
            CapAction::ProceedWithNotes => "proceed_with_notes",
            CapAction::Escalate => "escalate",
        };
        format!("{action}: {}", answer.reason)
    }
}
