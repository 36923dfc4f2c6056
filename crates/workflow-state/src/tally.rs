//! Counts how the criteria of accepted steps were judged.

use serde::{Deserialize, Serialize};

use cynode_domain::criteria::Criterion;
use cynode_domain::verdict::Verdict;
use cynode_domain::verification::{Judge, VerificationStatus};

/// The rule for a command's exit code. Without a criterion about it, it requires exit code 0.
const EXIT_CODE: &str = "exit_code";

/// Acceptance criteria and expected outputs of all accepted steps, by judge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VerificationTally {
    pub by_rule: u32,
    pub by_analyst: u32,
    pub by_person: u32,
    /// Not judged, but accepted by a preference.
    pub unverified: u32,
}

impl VerificationTally {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn total(&self) -> u32 {
        self.by_rule + self.by_analyst + self.by_person + self.unverified
    }

    /// Adds the findings of an accepted step with these criteria. Exit code 0 counts as a criterion only if one
    /// requires it.
    #[must_use]
    pub fn with_verdict(mut self, verdict: &Verdict, criteria: &[Criterion]) -> Self {
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
    use super::*;
    use cynode_domain::verdict::{ANALYST_RULE, Finding, PERSON_RULE};

    fn met_finding(rule: &str) -> Finding {
        Finding::from_rule(rule, true, String::new())
    }

    #[test]
    fn exit_codes_alone_verify_nothing_and_one_open_criterion_makes_all_unverified() {
        let code = [Criterion::ExitCode { equals: 0 }];
        let of = |findings: Vec<Finding>, criteria: &[Criterion]| {
            VerificationTally::default().with_verdict(&Verdict::from_findings(findings), criteria)
        };

        let bare = of(vec![met_finding(EXIT_CODE)], &[]);
        let demanded = of(vec![met_finding(EXIT_CODE)], &code);
        let judged = of(
            vec![met_finding("file_exists"), met_finding(ANALYST_RULE), met_finding(PERSON_RULE)],
            &[],
        );
        let open = of(vec![met_finding("file_exists"), Finding::unchecked("it reads well")], &[]);

        assert_eq!(bare.status(), VerificationStatus::NotChecked);
        assert_eq!(demanded.status(), VerificationStatus::Verified);
        assert_eq!((judged.status(), judged.total()), (VerificationStatus::Verified, 3));
        assert_eq!((open.status(), open.total()), (VerificationStatus::Unverified, 2));
    }
}
