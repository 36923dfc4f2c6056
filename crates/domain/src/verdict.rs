//! What an analyst says about a step: a verdict made of findings.

use serde::{Deserialize, Serialize};

/// The rule of findings that an analyst has put on record itself.
pub const BY_ANALYST: &str = "analyst";

/// Whether the step's result is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// Accepted.
    Pass,
    /// Not accepted; the findings say why.
    Fail,
}

/// Whether one condition is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingStatus {
    /// Met.
    Pass,
    /// Not met.
    Fail,
    /// No rule can tell.
    Unchecked,
}

/// One checked condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Finding {
    /// Which rule looked.
    pub rule: String,
    /// What it saw.
    pub status: FindingStatus,
    /// One sentence for people.
    pub message: String,
    /// What would put it right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Finding {
    /// A condition that a rule has decided.
    pub fn of(rule: &str, met: bool, message: String) -> Self {
        let status = if met { FindingStatus::Pass } else { FindingStatus::Fail };
        Self { rule: rule.to_owned(), status, message, suggestion: None }
    }

    /// The same finding, saying what would put it right if it failed.
    #[must_use]
    pub fn or(self, suggestion: impl FnOnce() -> String) -> Self {
        let suggestion = self.is_failure().then(suggestion);
        Self { suggestion, ..self }
    }

    /// A condition that no rule can decide.
    pub fn unchecked(description: &str) -> Self {
        Self {
            rule: "text".to_owned(),
            status: FindingStatus::Unchecked,
            message: description.to_owned(),
            suggestion: None,
        }
    }

    /// Whether this finding alone fails the step.
    pub fn is_failure(&self) -> bool {
        self.status == FindingStatus::Fail
    }
}

/// The judgement of one step attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Verdict {
    /// The decision.
    pub status: VerdictStatus,
    /// What it rests on.
    pub findings: Vec<Finding>,
    /// What the analyst would do about a failure.
    pub recommended_actions: Vec<String>,
}

impl Verdict {
    /// The decision that follows from findings: one failure fails the step.
    pub fn of(findings: Vec<Finding>) -> Self {
        let failed = findings.iter().any(Finding::is_failure);
        Self {
            status: if failed { VerdictStatus::Fail } else { VerdictStatus::Pass },
            recommended_actions: findings.iter().filter_map(|f| f.suggestion.clone()).collect(),
            findings,
        }
    }

    /// The message of the first failed finding.
    pub fn first_failure(&self) -> Option<&str> {
        self.findings.iter().find(|finding| finding.is_failure()).map(|f| f.message.as_str())
    }
}
