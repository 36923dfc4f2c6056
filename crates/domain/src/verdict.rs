//! What an analyst says about a step: a verdict made of findings.
//!
//! Invariant: what somebody looked at and could not tell is accepted by nobody but a person.

use serde::{Deserialize, Serialize};

/// The rule of findings that an analyst has put on record itself.
pub const BY_ANALYST: &str = "analyst";
/// The rule of findings that a person has settled.
pub const BY_PERSON: &str = "person";
/// The first version of the graph whose runs ask a person what an analyst could not tell. A runner that
/// knows only older ones cannot read such a verdict.
pub const CLARIFIES_SINCE: u32 = 3;

/// Whether the step's result is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// Accepted.
    Pass,
    /// Not accepted; the findings say why.
    Fail,
    /// Whoever looked could not tell: a person says.
    Unclear,
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
    /// An analyst looked and could not tell.
    Unclear,
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
    /// The decision that follows from findings: one failure fails the step; without one, what is not
    /// clear waits for a person.
    pub fn of(findings: Vec<Finding>) -> Self {
        let has = |status| findings.iter().any(|finding| finding.status == status);
        Self {
            status: if has(FindingStatus::Fail) {
                VerdictStatus::Fail
            } else if has(FindingStatus::Unclear) {
                VerdictStatus::Unclear
            } else {
                VerdictStatus::Pass
            },
            recommended_actions: findings.iter().filter_map(|f| f.suggestion.clone()).collect(),
            findings,
        }
    }

    /// The findings that a person is to settle.
    pub fn unclear(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status == FindingStatus::Unclear)
    }

    /// The verdict once a person has said whether what was not clear is met, and in which words.
    #[must_use]
    pub fn settled(self, is_met: bool, said: &str) -> Self {
        let settle = |finding: Finding| match finding.status {
            FindingStatus::Unclear => {
                let message = format!("{} ({said})", finding.message);
                Finding::of(BY_PERSON, is_met, message)
            }
            FindingStatus::Pass | FindingStatus::Fail | FindingStatus::Unchecked => finding,
        };
        Self::of(self.findings.into_iter().map(settle).collect())
    }

    /// The message of the first failed finding.
    pub fn first_failure(&self) -> Option<&str> {
        self.findings.iter().find(|finding| finding.is_failure()).map(|f| f.message.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unclear() -> Finding {
        Finding { status: FindingStatus::Unclear, ..Finding::unchecked("it reads well") }
    }

    #[test]
    fn what_somebody_could_not_tell_is_neither_a_pass_nor_a_failure() {
        let met = || Finding::of("exit_code", true, String::new());
        let failed = Finding::of("file_exists", false, String::new());

        assert_eq!(Verdict::of(vec![met(), unclear()]).status, VerdictStatus::Unclear);
        assert_eq!(Verdict::of(vec![failed, unclear()]).status, VerdictStatus::Fail);
        let unchecked = Finding::unchecked("it is short");
        assert_eq!(Verdict::of(vec![met(), unchecked]).status, VerdictStatus::Pass);
    }

    #[test]
    fn a_person_settles_what_is_unclear_and_nothing_else() {
        let asked = || Verdict::of(vec![unclear(), Finding::unchecked("it is short")]);

        let yes = asked().settled(true, "ada said yes");
        let no = asked().settled(false, "ada said no");

        assert_eq!((yes.status, no.status), (VerdictStatus::Pass, VerdictStatus::Fail));
        assert_eq!(yes.findings[0].message, "it reads well (ada said yes)");
        assert_eq!(yes.findings[0].rule, BY_PERSON);
        assert_eq!(yes.findings[1], Finding::unchecked("it is short"));
    }
}
