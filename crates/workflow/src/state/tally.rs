//! How the criteria of accepted steps were judged, counted.

use cynode_domain::criteria::Criterion;
use cynode_domain::verdict::Verdict;
use cynode_domain::verification::{Judge, VerificationStatus};
use serde::{Deserialize, Serialize};

/// The rule that looks at how a command ended. Without a criterion about it, it demands exit code 0.
const EXIT_CODE: &str = "exit_code";

/// How many acceptance criteria and expected outputs were judged by whom, over all accepted steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Met, as a rule says.
    pub by_rule: u32,
    /// Met, as an analyst says.
    pub by_analyst: u32,
    /// Met, as a person says.
    pub by_person: u32,
    /// Judged by nobody, and accepted by a preference.
    pub unverified: u32,
}

impl Tally {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How many there are in all.
    pub fn total(&self) -> u32 {
        self.by_rule + self.by_analyst + self.by_person + self.unverified
    }

    /// The same with the findings of an accepted step, whose criteria are these. That a command exited with code
    /// 0 is no criterion unless one says so.
    #[must_use]
    pub fn with(mut self, verdict: &Verdict, criteria: &[Criterion]) -> Self {
        let demands_code =
            criteria.iter().any(|criterion| matches!(criterion, Criterion::ExitCode { .. }));
        let is_criterion = |rule: &str| rule != EXIT_CODE || demands_code;
        for finding in verdict.findings.iter().filter(|finding| is_criterion(&finding.rule)) {
            match finding.judge() {
                Some(Judge::Rule) => self.by_rule += 1,
                Some(Judge::Analyst) => self.by_analyst += 1,
                Some(Judge::Person) => self.by_person += 1,
                None => self.unverified += 1,
            }
        }
        self
    }

    /// What was verified of a run with these criteria.
    pub fn status(&self) -> VerificationStatus {
        if self.unverified > 0 {
            VerificationStatus::Unverified
        } else if self.is_empty() {
            VerificationStatus::NotChecked
        } else {
            VerificationStatus::Verified
        }
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::verdict::{BY_ANALYST, BY_PERSON, Finding};

    use super::*;

    fn met(rule: &str) -> Finding {
        Finding::of(rule, true, String::new())
    }

    #[test]
    fn exit_codes_alone_verify_nothing_and_one_open_criterion_makes_all_unverified() {
        let code = [Criterion::ExitCode { equals: 0 }];
        let of = |findings: Vec<Finding>, criteria: &[Criterion]| {
            Tally::default().with(&Verdict::of(findings), criteria)
        };

        let bare = of(vec![met(EXIT_CODE)], &[]);
        let demanded = of(vec![met(EXIT_CODE)], &code);
        let judged = of(vec![met("file_exists"), met(BY_ANALYST), met(BY_PERSON)], &[]);
        let open = of(vec![met("file_exists"), Finding::unchecked("it reads well")], &[]);

        assert_eq!(bare.status(), VerificationStatus::NotChecked);
        assert_eq!(demanded.status(), VerificationStatus::Verified);
        assert_eq!((judged.status(), judged.total()), (VerificationStatus::Verified, 3));
        assert_eq!((open.status(), open.total()), (VerificationStatus::Unverified, 2));
    }
}
