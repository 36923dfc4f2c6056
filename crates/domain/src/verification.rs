//! Verifications: their keys, and the verification status of a completed task.
//!
//! Invariant: a criterion that no rule, analyst or person judged never counts as met. Only the preference
//! [`ACCEPT_UNVERIFIED_KEY`] accepts a result with such a criterion, as
//! [`VerificationStatus::Unverified`].

use std::fmt;
use std::str::FromStr;

use crate::ids::{JobId, RunId};
use crate::words::UnknownWord;

/// The preference that accepts results with unjudged criteria.
pub const ACCEPT_UNVERIFIED_KEY: &str = "verification.accept_unverified";

words! {
    /// The verification status of a completed task.
    VerificationStatus("verification status") {
        /// There are acceptance criteria or expected outputs; a rule, an analyst or a person judged all of
        /// them as met.
        Verified = "verified",
        /// At least one acceptance criterion is unjudged; the preference `verification.accept_unverified`
        /// accepted the result.
        Unverified = "unverified",
        /// There are no acceptance criteria: only exit codes were checked.
        NotChecked = "not_checked",
    }

    /// The result of a check.
    CheckResult("check result") {
        /// The condition is met.
        Met = "met",
        /// The condition is not met.
        NotMet = "not_met",
        /// The condition is unjudged.
        NotJudged = "not_judged",
    }

    /// Who judged a condition.
    Judge("check judge") {
        /// A rule of the orchestrator.
        Rule = "rule",
        /// A project analyst.
        Analyst = "analyst",
        /// A person.
        Person = "person",
    }
}

/// Identifies one verification of one job's result.
///
/// A token that carries it was issued by the orchestrator to the analyst of this verification. Only
/// findings that carry it decide the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VerificationKey {
    /// The run whose step is verified. The job may belong to the run that it continues.
    pub run: RunId,
    /// The job: one attempt at one step.
    pub job: JobId,
    /// How often a person requested another verification of the job.
    pub round: u32,
}

impl fmt::Display for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.run, self.job, self.round)
    }
}

impl FromStr for VerificationKey {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = || {
            let mut parts = text.split('/');
            let run = parts.next()?.parse().ok()?;
            let job = parts.next()?.parse().ok()?;
            let round = parts.next()?.parse().ok()?;
            parts.next().is_none().then_some(Self { run, job, round })
        };
        parsed().ok_or_else(|| UnknownWord {
            what: "verification",
            word: text.to_owned(),
            allowed: "RUN/JOB/ROUND".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_back_as_it_was_written_and_nothing_else_is() {
        let key = VerificationKey { run: RunId::generate(), job: JobId::generate(), round: 2 };

        assert_eq!(key.to_string().parse(), Ok(key));
        for bad in ["", "x/y/0", &format!("{key}/1"), &format!("{}/{}", key.run, key.job)] {
            assert!(bad.parse::<VerificationKey>().is_err(), "{bad}");
        }
    }
}
