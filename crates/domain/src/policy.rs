//! Who may call which tool: the words of the decision, and the decisions that need no I/O.
//!
//! Start at [`allowlist::is_allowlisted`] (what a role may ever reach), [`ToolScope::admits`] (where a tool
//! may be called from) and [`rules::evaluate`] (what the installation's rules say). Each is a pure
//! function; the gateway runs them in a fixed order and every one of them must agree.
//!
//! Invariant: silence is a refusal. No rule, no allowlist entry and no known word means no.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub mod allowlist;
mod error_kind;
pub mod network;
pub mod pattern;
pub mod rules;

pub use crate::words::UnknownWord;
pub use error_kind::ErrorKind;

words! {
    /// The kinds of agents.
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
        /// From project managers, analysts and people only.
        Pm = "pm",
        /// From everywhere.
        Both = "both",
    }

    /// What a rule does with what it matches.
    Effect("effect") {
        /// Lets it pass, unless another rule denies it.
        Allow = "allow",
        /// Refuses it, whatever other rules say.
        Deny = "deny",
    }

    /// What came of a call.
    CallStatus("call status") {
        /// It is still going on, or its process died and has not come back.
        Pending = "pending",
        /// It did what it should.
        Success = "success",
        /// It was refused, or failed.
        Error = "error",
    }

    /// The stages of the decision about a tool call, in the order in which they are asked.
    Stage("stage") {
        /// Who is calling.
        Authenticate = "authenticate",
        /// Whether the tool exists.
        Known = "known",
        /// Whether the tool and its server are turned on.
        Enabled = "enabled",
        /// Whether the tool is still what an administrator approved.
        Review = "review",
        /// Whether the caller's role may ever reach it.
        Allowlist = "allowlist",
        /// Whether it may be called from where the caller is.
        Scope = "scope",
        /// Whether the setting that guards it is on.
        Setting = "setting",
        /// Whether the arguments are what the tool takes.
        Arguments = "arguments",
        /// Whether the ids in the arguments belong to the caller.
        Context = "context",
        /// Whether the installation's rules allow it.
        Rules = "rules",
        /// Whether limits leave room for it.
        Limits = "limits",
        /// The call was let through; what follows is its outcome.
        Invoke = "invoke",
    }
}

/// Who calls a tool: an agent of some kind, or a person's own client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Principal {
    /// An agent.
    Agent(AgentType),
    /// A person, through a client of their own.
    User,
}

impl Principal {
    /// The project manager.
    pub const PM: Self = Self::Agent(AgentType::Pm);
    /// A project analyst.
    pub const PA: Self = Self::Agent(AgentType::Pa);
    /// An agent inside a sandbox.
    pub const SANDBOX: Self = Self::Agent(AgentType::Sandbox);
    /// Everybody who can call.
    pub const ALL: &[Self] = &[Self::PM, Self::PA, Self::SANDBOX, Self::User];

    /// The word in the database and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent(agent) => agent.as_str(),
            Self::User => "user",
        }
    }

    /// The kind of agent; nothing for a person.
    pub const fn agent(self) -> Option<AgentType> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::User => None,
        }
    }
}

impl utoipa::ToSchema for Principal {}

impl utoipa::PartialSchema for Principal {
    /// On the wire a caller is one word.
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
        assert_eq!(refused.to_string(), "\"root\" is no agent type; use one of: pm, pa, sandbox");
    }
}
