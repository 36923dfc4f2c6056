//! The words of a verification's findings.

use crate::policy::{AgentType, Principal};

words! {
    /// What a finding says about the work.
    FindingStatus("finding status") {
        /// It is as it should be.
        Pass = "pass",
        /// It is not.
        Fail = "fail",
        /// Nobody can tell before somebody answers.
        NeedsClarification = "needs_clarification",
    }

    /// Who wrote a finding.
    FindingAuthor("author of a finding") {
        /// A rule of the orchestrator.
        Rule = "rule",
        /// The project manager.
        Pm = "pm",
        /// A project analyst.
        Pa = "pa",
        /// An agent inside a sandbox.
        Sandbox = "sandbox",
        /// A person.
        User = "user",
    }

    /// How much a finding matters.
    Severity("severity") {
        /// Good to know.
        Info = "info",
        /// Should be mended.
        Warning = "warning",
        /// Must be mended.
        Error = "error",
    }
}

impl From<Principal> for FindingAuthor {
    fn from(caller: Principal) -> Self {
        match caller {
            Principal::Agent(AgentType::Pm) => Self::Pm,
            Principal::Agent(AgentType::Pa) => Self::Pa,
            Principal::Agent(AgentType::Sandbox) => Self::Sandbox,
            Principal::User => Self::User,
        }
    }
}

/// Before the place of a criterion in the location of a finding.
const CRITERION: &str = "criterion/";

/// The location of a finding about a criterion, by the criterion's place in its list, from 0.
pub fn at_criterion(index: usize) -> String {
    format!("{CRITERION}{index}")
}

/// Which criterion a finding with this location is about.
pub fn criterion_at(location: &str) -> Option<usize> {
    location.strip_prefix(CRITERION)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_about_a_criterion_says_which_one() {
        assert_eq!(criterion_at(&at_criterion(3)), Some(3));
        assert_eq!(criterion_at("src/main.rs:3"), None);
    }
}
