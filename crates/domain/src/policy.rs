//! Access policy of tool calls: vocabulary, and the decisions that need no I/O.
//!
//! Start at [`allowlist::is_allowlisted`] (the upper bound of a role), [`ToolScope::admits`] (where a tool
//! may be called from) and [`rules::evaluate`] (the installation's rules). Each is a pure function; the
//! gateway runs them in a fixed order and all must allow the call.
//!
//! Invariant: default deny. A missing rule, a missing allowlist entry or an unknown word denies.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub mod allowed_hosts;
pub mod allowlist;
mod error_kind;
pub mod network;
pub mod pattern;
pub mod repository_access;
pub mod rules;

pub use crate::words::UnknownWord;
pub use error_kind::ErrorKind;

words! {
    /// The type of an agent.
    AgentType("agent type") {
        /// The project manager.
        Pm = "pm",
        /// A project analyst.
        Pa = "pa",
        /// An agent inside a sandbox.
        Sandbox = "sandbox",
    }

    /// Where a tool may be called from.
    ToolScope("tool scope") {
        /// From sandboxes only.
        Sandbox = "sandbox",
        /// From project managers, analysts and users only.
        Pm = "pm",
        /// From everywhere.
        Both = "both",
    }

    /// The effect of a matching rule.
    Effect("effect") {
        /// Allows, unless another rule denies.
        Allow = "allow",
        /// Denies, regardless of other rules.
        Deny = "deny",
    }

    /// The status of a call.
    CallStatus("call status") {
        /// In progress, or its process died and was not restarted.
        Pending = "pending",
        /// It succeeded.
        Success = "success",
        /// It was denied or failed.
        Error = "error",
    }

    /// The stages of the decision about a tool call, in evaluation order.
    Stage("stage") {
        /// The caller is authenticated.
        Authenticate = "authenticate",
        /// The tool exists.
        Known = "known",
        /// The tool and its server are enabled.
        Enabled = "enabled",
        /// The tool's definition is the approved one.
        Review = "review",
        /// The allowlist of the caller's role contains the tool.
        Allowlist = "allowlist",
        /// The tool's scope admits the caller.
        Scope = "scope",
        /// The setting that guards the tool is on.
        Setting = "setting",
        /// The arguments match the tool's schema.
        Arguments = "arguments",
        /// The ids in the arguments belong to the caller.
        Context = "context",
        /// The installation's rules allow the call.
        Rules = "rules",
        /// The rate and concurrency limits admit the call.
        Limits = "limits",
        /// The call was allowed; its outcome follows.
        Invoke = "invoke",
    }
}

/// The caller of a tool: an agent, or a user's client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Principal {
    Agent(AgentType),
    /// A user, through their own client.
    User,
}

impl Principal {
    pub const PM: Self = Self::Agent(AgentType::Pm);
    pub const PA: Self = Self::Agent(AgentType::Pa);
    pub const SANDBOX: Self = Self::Agent(AgentType::Sandbox);
    pub const ALL: &[Self] = &[Self::PM, Self::PA, Self::SANDBOX, Self::User];

    /// The spelling in the database and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent(agent) => agent.as_str(),
            Self::User => "user",
        }
    }

    /// The agent type; `None` for a user.
    pub const fn agent(self) -> Option<AgentType> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::User => None,
        }
    }
}

impl utoipa::ToSchema for Principal {}

impl utoipa::PartialSchema for Principal {
    /// A string on the wire.
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, Type};
        let words = Self::ALL.iter().map(|caller| caller.as_str());
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
    }
}

impl From<AgentType> for Principal {
    fn from(agent: AgentType) -> Self {
        Self::Agent(agent)
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Principal {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.iter().copied().find(|known| known.as_str() == word).ok_or_else(|| UnknownWord {
            what: "caller",
            word: word.to_owned(),
            allowed: "pm, pa, sandbox, user".to_owned(),
        })
    }
}

impl TryFrom<String> for Principal {
    type Error = UnknownWord;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse()
    }
}

impl From<Principal> for String {
    fn from(principal: Principal) -> Self {
        principal.as_str().to_owned()
    }
}

impl ToolScope {
    /// Whether a tool of this scope may be called by `caller`.
    pub const fn admits(self, caller: Principal) -> bool {
        match self {
            Self::Both => true,
            Self::Sandbox => matches!(caller, Principal::Agent(AgentType::Sandbox)),
            Self::Pm => !matches!(caller, Principal::Agent(AgentType::Sandbox)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_admits_the_callers_of_its_side_only() {
        let admitted = |scope: ToolScope| -> Vec<_> {
            Principal::ALL.iter().copied().filter(|caller| scope.admits(*caller)).collect()
        };

        assert_eq!(admitted(ToolScope::Sandbox), [Principal::SANDBOX]);
        assert_eq!(admitted(ToolScope::Pm), [Principal::PM, Principal::PA, Principal::User]);
        assert_eq!(admitted(ToolScope::Both), Principal::ALL);
    }

    #[test]
    fn policy_words_read_back_as_written_and_unknown_ones_are_refused_in_words() {
        for stage in Stage::ALL {
            assert_eq!(stage.as_str().parse::<Stage>().as_ref(), Ok(stage));
        }
        let refused = "root".parse::<AgentType>().unwrap_err();
        let expected = "\"root\" is not a valid agent type; use one of: pm, pa, sandbox";
        assert_eq!(refused.to_string(), expected);
    }
}
