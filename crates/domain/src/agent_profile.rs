//! The names of agent profiles.
//!
//! A profile is a program of another vendor that works as an agent in sandboxes. [`BUILT_IN`] is not a profile: it is the
//! agent of this project.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of the built-in agent, which no profile can have.
pub const BUILT_IN: &str = "sba";
/// The name of the agent of demonstrations, which no profile can have.
pub const DEMO: &str = "demo-script";
const MAX_CHARS: usize = 64;

/// The name of an agent profile: lowercase letters, digits and dashes, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentProfileName(String);

/// The agent profile of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSelection {
    pub profile: AgentProfileName,
    /// Whether the task is a canary run of the profile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_canary: bool,
}

/// A text that is not the name of a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProfileName {
    #[error(
        "the name of an agent profile must be 1 to {MAX_CHARS} lowercase letters, digits and dashes, beginning with a \
         letter"
    )]
    Format,
    #[error("\"{BUILT_IN}\" and \"{DEMO}\" are built-in agents; choose another name")]
    BuiltIn,
}

impl AgentProfileName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AgentProfileName {
    type Err = InvalidProfileName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_valid = text.len() <= MAX_CHARS
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        match (is_valid, text) {
            (false, _) => Err(InvalidProfileName::Format),
            (true, BUILT_IN | DEMO) => Err(InvalidProfileName::BuiltIn),
            (true, name) => Ok(Self(name.to_owned())),
        }
    }
}

impl TryFrom<String> for AgentProfileName {
    type Error = InvalidProfileName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AgentProfileName> for String {
    fn from(name: AgentProfileName) -> Self {
        name.0
    }
}

impl fmt::Display for AgentProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_a_plain_name_other_than_the_built_in_agent() {
        let parse = str::parse::<AgentProfileName>;

        assert_eq!(parse("opencode-2").unwrap().as_str(), "opencode-2");
        for built_in in [BUILT_IN, DEMO] {
            assert_eq!(parse(built_in), Err(InvalidProfileName::BuiltIn));
        }
        for invalid in ["", "2x", "Open", "a b", "a/b", "ä", &"a".repeat(65)] {
            assert_eq!(parse(invalid), Err(InvalidProfileName::Format), "{invalid}");
        }
    }
}
