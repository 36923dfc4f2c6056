//! Vocabulary of verification findings.

use crate::policy::{AgentType, Principal};

words! {
    /// The status of a finding.
    FindingStatus("finding status") {
        Pass = "pass",
        Fail = "fail",
        /// Cannot be decided without an answer.
        NeedsClarification = "needs_clarification",
    }

    /// The author of a finding.
    FindingAuthor("finding author") {
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

    /// The severity of a finding.
    Severity("severity") {
        /// Informational.
        Info = "info",
        /// Should be fixed.
        Warning = "warning",
        /// Must be fixed.
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

/// Prefix of the location of a finding about a criterion.
const CRITERION_PREFIX: &str = "criterion/";

/// The location of a finding about the criterion at this index.
pub fn criterion_location(index: usize) -> String {
    format!("{CRITERION_PREFIX}{index}")
}

/// The index of the criterion that a location refers to.
pub fn parse_criterion_location(location: &str) -> Option<usize> {
    location.strip_prefix(CRITERION_PREFIX)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_about_a_criterion_says_which_one() {
        assert_eq!(parse_criterion_location(&criterion_location(3)), Some(3));
        assert_eq!(parse_criterion_location("src/main.rs:3"), None);
    }
}
