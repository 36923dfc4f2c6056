//! How installed MCP servers are reached.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The transport of a server. Contains secrets; only names are ever shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerTransport {
    /// A process that communicates over its standard streams.
    Stdio {
        command: String,
        args: Vec<String>,
        /// Its whole environment.
        env: ServerSecrets,
        /// Whether it may connect to every public host.
        allow_network: bool,
        /// Hosts that it may connect to.
        #[serde(default)]
        allowed_hosts: Vec<String>,
    },
    /// A streamable HTTP endpoint.
    Http {
        url: String,
        /// Sent with every request.
        headers: ServerSecrets,
        /// Whether an administrator allowed addresses in an internal network.
        #[serde(default)]
        may_be_internal: bool,
    },
}

/// Values by name that are encrypted at rest.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ServerSecrets {
    /// One ciphertext of all values, in base64, and the id of its key.
    Sealed { names: Vec<String>, key: String, sealed: String },
    /// Not encrypted yet, or in a row of an earlier version.
    Plain(BTreeMap<String, String>),
}

impl ServerTransport {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
        }
    }

    pub const fn secrets(&self) -> &ServerSecrets {
        match self {
            Self::Stdio { env: secrets, .. } | Self::Http { headers: secrets, .. } => secrets,
        }
    }

    pub const fn secrets_mut(&mut self) -> &mut ServerSecrets {
        match self {
            Self::Stdio { env: secrets, .. } | Self::Http { headers: secrets, .. } => secrets,
        }
    }
}

impl std::fmt::Debug for ServerTransport {
    /// Omits the values of variables and headers.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdio { command, .. } => {
                f.debug_struct("Stdio").field("command", command).finish_non_exhaustive()
            }
            Self::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
        }
    }
}
