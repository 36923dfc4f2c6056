//! The verdict about a step, derived from its findings.
//!
//! Invariant: an unjudged condition never counts as met. [`Verdict::from_findings`] returns no
//! [`VerdictStatus::Pass`] while a finding is open; a person settles it, or a preference accepts it as
//! [`VerdictStatus::Unverified`].

use serde::{Deserialize, Serialize};

use crate::question::Answer;
use crate::verification::{CheckResult, Judge};

/// The rule of findings recorded by an analyst.
pub const ANALYST_RULE: &str = "analyst";
/// The rule of findings about unjudged prose criteria.
pub const PROSE_RULE: &str = "text";
/// The rule of findings settled by a person.
pub const PERSON_RULE: &str = "person";
/// The name of the question about unjudged conditions; after a retry, a slash and the number of
/// retries follow.
pub const CLARIFY_QUESTION: &str = "clarify";
/// The first graph version that asks a person about unjudged conditions. A runner that supports only
/// older versions would accept them.
pub const ASKS_UNJUDGED_GRAPH_VERSION: u32 = 4;

/// The decision about a step's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// Accepted.
    Pass,
    /// Not accepted; the findings say why.
    Fail,
    /// At least one condition is unjudged: a person decides.
    Unclear,
    /// Accepted by a preference although at least one condition is unjudged.
    Unverified,
}

/// Whether one condition is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingStatus {
    /// Met.
    Pass,
    /// Not met.
    Fail,
    /// Unjudged: no rule can check it, and no analyst did.
    Unchecked,
    /// An analyst could not decide.
    Unclear,
}

/// One checked condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Finding {
    /// The rule that was applied.
    pub rule: String,
    /// The result.
    pub status: FindingStatus,
    /// A message for people.
    pub message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Finding {
    /// A condition decided by a rule.
    pub fn from_rule(rule: &str, met: bool, message: String) -> Self {
        let status = if met { FindingStatus::Pass } else { FindingStatus::Fail };
        Self { rule: rule.to_owned(), status, message, suggestion: None }
    }

    /// Adds a suggestion if the finding is a failure.
    #[must_use]
    pub fn with_suggestion(self, suggestion: impl FnOnce() -> String) -> Self {
        let suggestion = self.is_failure().then(suggestion);
        Self { suggestion, ..self }
    }

    /// A condition that no rule can check.
    pub fn unchecked(description: &str) -> Self {
        Self {
            rule: PROSE_RULE.to_owned(),
            status: FindingStatus::Unchecked,
            message: description.to_owned(),
            suggestion: None,
        }
    }

    /// Whether this finding fails the step.
    pub fn is_failure(&self) -> bool {
        self.status == FindingStatus::Fail
    }

    /// The result of the check.
    pub fn result(&self) -> CheckResult {
        match self.status {
            FindingStatus::Pass => CheckResult::Met,
            FindingStatus::Fail => CheckResult::NotMet,
            FindingStatus::Unchecked | FindingStatus::Unclear => CheckResult::NotJudged,
        }
    }

    /// Who judged the condition; `None` if it is open.
    pub fn judge(&self) -> Option<Judge> {
        let by = match self.rule.as_str() {
            ANALYST_RULE => Judge::Analyst,
            PERSON_RULE => Judge::Person,
            _ => Judge::Rule,
        };
        (!self.is_open()).then_some(by)
    }

    /// Whether it is about a prose criterion.
    pub fn is_prose(&self) -> bool {
        matches!(self.rule.as_str(), PROSE_RULE | ANALYST_RULE | PERSON_RULE)
    }

    /// Whether the condition is unjudged.
    pub fn is_open(&self) -> bool {
        matches!(self.status, FindingStatus::Unchecked | FindingStatus::Unclear)
    }
}

/// The verdict about one step attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Verdict {
    /// The decision.
    pub status: VerdictStatus,
    /// The findings it is based on.
    pub findings: Vec<Finding>,
    /// Suggestions for failed findings.
    pub recommended_actions: Vec<String>,
}

impl Verdict {
    /// Derives the verdict from findings: one failure fails the step; otherwise an unjudged condition
    /// needs a person.
    pub fn from_findings(findings: Vec<Finding>) -> Self {
        Self {
            status: if findings.iter().any(Finding::is_failure) {
                VerdictStatus::Fail
            } else if findings.iter().any(Finding::is_open) {
                VerdictStatus::Unclear
            } else {
                VerdictStatus::Pass
            },
            recommended_actions: findings.iter().filter_map(|f| f.suggestion.clone()).collect(),
            findings,
        }
    }

    /// Whether the run continues after the step.
    pub fn is_accepted(&self) -> bool {
        matches!(self.status, VerdictStatus::Pass | VerdictStatus::Unverified)
    }

    /// The unjudged findings.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_open())
    }

    /// Accepts unjudged conditions by preference. Conditions that an analyst could not decide are
    /// excluded: a person decides.
    #[must_use]
    pub fn accept_unverified(self) -> Self {
        let is_asked = self.findings.iter().any(|f| f.status == FindingStatus::Unclear);
        match self.status {
            VerdictStatus::Unclear if !is_asked => {
                Self { status: VerdictStatus::Unverified, ..self }
            }
            VerdictStatus::Pass
            | VerdictStatus::Fail
            | VerdictStatus::Unclear
            | VerdictStatus::Unverified => self,
        }
    }

    /// Settles the open conditions with a person's decision and comment.
    #[must_use]
    pub fn settle(self, is_met: bool, reason: &str) -> Self {
        let settle = |finding: Finding| {
            if !finding.is_open() {
                return finding;
            }
            let message = format!("{} ({reason})", finding.message);
            Finding::from_rule(PERSON_RULE, is_met, message)
        };
        Self::from_findings(self.findings.into_iter().map(settle).collect())
    }

    /// Settles the open conditions with a person's answer.
    #[must_use]
    pub fn settle_with_answer(self, answer: &Answer) -> Self {
        if let Some(refusal) = answer.refusal() {
            return self.settle(false, &refusal);
        }
        let by = answer.by.as_deref().unwrap_or("a person");
        self.settle(true, &format!("{by} accepted it"))
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
    fn a_condition_that_was_not_judged_is_neither_a_pass_nor_a_failure() {
        let met = || Finding::from_rule("exit_code", true, String::new());
        let failed = || Finding::from_rule("file_exists", false, String::new());

        for open in [unclear(), Finding::unchecked("it is short")] {
            let waits = Verdict::from_findings(vec![met(), open.clone()]);
            assert_eq!((waits.status, waits.is_accepted()), (VerdictStatus::Unclear, false));
            assert_eq!(Verdict::from_findings(vec![failed(), open]).status, VerdictStatus::Fail);
        }
        assert!(Verdict::from_findings(vec![met()]).is_accepted());
    }

    #[test]
    fn a_preference_accepts_what_nobody_judged_and_says_that_it_is_unverified() {
        let unchecked = || Finding::unchecked("it is short");

        let accepted = Verdict::from_findings(vec![unchecked()]).accept_unverified();
        assert_eq!((accepted.status, accepted.is_accepted()), (VerdictStatus::Unverified, true));
        assert_eq!(accepted.open().count(), 1);
        for (findings, expected) in [
            (vec![unchecked(), unclear()], VerdictStatus::Unclear),
            (vec![unchecked(), Finding::from_rule("x", false, String::new())], VerdictStatus::Fail),
            (vec![], VerdictStatus::Pass),
        ] {
            assert_eq!(Verdict::from_findings(findings).accept_unverified().status, expected);
        }
    }

    #[test]
    fn a_person_settles_every_open_condition() {
        let met = || Finding::from_rule("exit_code", true, String::new());
        let open =
            || Verdict::from_findings(vec![met(), unclear(), Finding::unchecked("it is short")]);

        let yes = open().settle(true, "ada accepted it");
        let no = open().settle(false, "declined by ada");

        assert_eq!((yes.status, no.status), (VerdictStatus::Pass, VerdictStatus::Fail));
        assert_eq!(yes.findings[0], met());
        assert_eq!(yes.findings[1].message, "it reads well (ada accepted it)");
        assert_eq!(yes.findings[2].message, "it is short (ada accepted it)");
        assert!(yes.findings[1..].iter().all(|finding| finding.rule == PERSON_RULE));
    }
}
