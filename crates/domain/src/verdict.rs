//! What an analyst says about a step: a verdict made of findings.
//!
//! Invariant: a condition that was not judged never counts as met. [`Verdict::of`] makes no
//! [`VerdictStatus::Pass`] of findings among which one is open; a person settles it, or a preference
//! accepts it as [`VerdictStatus::Unverified`].

use serde::{Deserialize, Serialize};

use crate::question::Answer;
use crate::verification::{CheckResult, Judge};

/// The rule of findings that an analyst has put on record itself.
pub const BY_ANALYST: &str = "analyst";
/// The rule of findings about criteria in prose that nobody judged.
pub const PROSE: &str = "text";
/// The rule of findings that a person has settled.
pub const BY_PERSON: &str = "person";
/// What the node calls its question about conditions that were not judged; after a retry it appends a
/// slash and the number of retries.
pub const CLARIFY: &str = "clarify";
/// The first version of the graph whose runs ask a person about conditions that were not judged. A
/// runner that knows only older ones would accept them.
pub const ASKS_UNJUDGED_SINCE: u32 = 4;

/// Whether the step's result is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictStatus {
    /// Accepted.
    Pass,
    /// Not accepted; the findings say why.
    Fail,
    /// At least one condition was not judged: a person decides.
    Unclear,
    /// Accepted by a preference although at least one condition was not judged.
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
    /// Nobody judged it: no rule can, and no analyst did.
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
            rule: PROSE.to_owned(),
            status: FindingStatus::Unchecked,
            message: description.to_owned(),
            suggestion: None,
        }
    }

    /// Whether this finding alone fails the step.
    pub fn is_failure(&self) -> bool {
        self.status == FindingStatus::Fail
    }

    /// What came of it.
    pub fn result(&self) -> CheckResult {
        match self.status {
            FindingStatus::Pass => CheckResult::Met,
            FindingStatus::Fail => CheckResult::NotMet,
            FindingStatus::Unchecked | FindingStatus::Unclear => CheckResult::NotJudged,
        }
    }

    /// Who judged the condition; nobody if it is open.
    pub fn judge(&self) -> Option<Judge> {
        let by = match self.rule.as_str() {
            BY_ANALYST => Judge::Analyst,
            BY_PERSON => Judge::Person,
            _ => Judge::Rule,
        };
        (!self.is_open()).then_some(by)
    }

    /// Whether it is about a criterion that no rule can check.
    pub fn is_prose(&self) -> bool {
        matches!(self.rule.as_str(), PROSE | BY_ANALYST | BY_PERSON)
    }

    /// Whether the condition was not judged.
    pub fn is_open(&self) -> bool {
        matches!(self.status, FindingStatus::Unchecked | FindingStatus::Unclear)
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
    /// The decision that follows from findings: one failure fails the step; without one, a condition
    /// that was not judged waits for a person.
    pub fn of(findings: Vec<Finding>) -> Self {
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

    /// Whether the run goes on from the step.
    pub fn is_accepted(&self) -> bool {
        matches!(self.status, VerdictStatus::Pass | VerdictStatus::Unverified)
    }

    /// The findings that were not judged.
    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.is_open())
    }

    /// The verdict once a preference accepts conditions that were not judged. What an analyst looked at and
    /// could not tell is not among them: a person decides about that.
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

    /// The verdict once a person has said whether the open conditions are met, and in which words.
    #[must_use]
    pub fn settled(self, is_met: bool, said: &str) -> Self {
        let settle = |finding: Finding| {
            if !finding.is_open() {
                return finding;
            }
            let message = format!("{} ({said})", finding.message);
            Finding::of(BY_PERSON, is_met, message)
        };
        Self::of(self.findings.into_iter().map(settle).collect())
    }

    /// The verdict once a person has answered the question about its open conditions.
    #[must_use]
    pub fn settled_by(self, answer: &Answer) -> Self {
        if let Some(refusal) = answer.refusal() {
            return self.settled(false, &refusal);
        }
        let by = answer.by.as_deref().unwrap_or("a person");
        self.settled(true, &format!("{by} accepted it"))
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
        let met = || Finding::of("exit_code", true, String::new());
        let failed = || Finding::of("file_exists", false, String::new());

        for open in [unclear(), Finding::unchecked("it is short")] {
            let waits = Verdict::of(vec![met(), open.clone()]);
            assert_eq!((waits.status, waits.is_accepted()), (VerdictStatus::Unclear, false));
            assert_eq!(Verdict::of(vec![failed(), open]).status, VerdictStatus::Fail);
        }
        assert!(Verdict::of(vec![met()]).is_accepted());
    }

    #[test]
    fn a_preference_accepts_what_nobody_judged_and_says_that_it_is_unverified() {
        let unchecked = || Finding::unchecked("it is short");

        let accepted = Verdict::of(vec![unchecked()]).accept_unverified();
        assert_eq!((accepted.status, accepted.is_accepted()), (VerdictStatus::Unverified, true));
        assert_eq!(accepted.open().count(), 1);
        for (findings, expected) in [
            (vec![unchecked(), unclear()], VerdictStatus::Unclear),
            (vec![unchecked(), Finding::of("x", false, String::new())], VerdictStatus::Fail),
            (vec![], VerdictStatus::Pass),
        ] {
            assert_eq!(Verdict::of(findings).accept_unverified().status, expected);
        }
    }

    #[test]
    fn a_person_settles_every_open_condition() {
        let met = || Finding::of("exit_code", true, String::new());
        let asked = || Verdict::of(vec![met(), unclear(), Finding::unchecked("it is short")]);

        let yes = asked().settled(true, "ada accepted it");
        let no = asked().settled(false, "ada said no");

        assert_eq!((yes.status, no.status), (VerdictStatus::Pass, VerdictStatus::Fail));
        assert_eq!(yes.findings[0], met());
        assert_eq!(yes.findings[1].message, "it reads well (ada accepted it)");
        assert_eq!(yes.findings[2].message, "it is short (ada accepted it)");
        assert!(yes.findings[1..].iter().all(|finding| finding.rule == BY_PERSON));
    }
}
