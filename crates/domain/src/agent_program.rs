//! The programs of other vendors that work as agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What an agent profile says: the program, and what its sandbox allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentProfileSpec {
    /// What the agent is, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The program that works in the sandbox.
    pub program: AgentProgramSpec,
    /// Hosts that the proxy of the sandbox connects to: `host`, `host:port` or `*.example.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

/// A program that carries out the job in place of the agent's own loop, as a child process in the same sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentProgramSpec {
    /// A program that speaks the Agent Client Protocol, version 1, on its standard streams.
    Acp {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables in addition to those of the sandbox.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
        /// Answers to the program's permission requests. They are recorded and are no boundary: the sandbox is.
        #[serde(default)]
        permissions: PermissionRules,
        /// The mode to select, by its id; the program's own default when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
        /// The model to select, by its id; the program's own default when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A program that takes a prompt and exits with 0 if it succeeded.
    Command {
        /// The program and its arguments, with the placeholders `{prompt}`, `{prompt_file}` and `{workspace}`. Without one
        /// of the first two, the prompt is its standard input.
        command: Vec<String>,
        /// Variables in addition to those of the sandbox.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
    },
}

/// How permission requests are answered, by the kind of the tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionRules {
    /// The answer for kinds without one of their own.
    #[serde(default)]
    pub default: PermissionAnswer,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<ToolCallKind, PermissionAnswer>,
}

/// Allows what a sandbox confines and the gateway decides (`other` is the kind of MCP tools). Rejects `fetch`, because the
/// sandbox has no network, and `switch_mode`, because the specification selects the mode.
impl Default for PermissionRules {
    fn default() -> Self {
        use ToolCallKind::{Delete, Edit, Execute, Move, Other, Read, Search, Think};
        let allowed = [Read, Edit, Delete, Move, Search, Execute, Think, Other];
        let kinds = allowed.map(|kind| (kind, PermissionAnswer::Allow)).into();
        Self { default: PermissionAnswer::Reject, kinds }
    }
}

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionAnswer {
    Allow,
    #[default]
    Reject,
}

/// The kind of a tool call in the Agent Client Protocol.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

impl AgentProgramSpec {
    /// The program and its arguments.
    pub fn command(&self) -> &[String] {
        match self {
            Self::Acp { command, .. } | Self::Command { command, .. } => command,
        }
    }

    /// Variables in addition to those of the sandbox.
    pub const fn env(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Acp { env, .. } | Self::Command { env, .. } => env,
        }
    }
}
