//! MCP servers that people installed.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, UserId};
use cynode_domain::policy::ToolScope;
use serde::{Deserialize, Serialize};

/// How a server is reached. Holds secrets; nothing of it is shown but names.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerTransport {
    /// A process that speaks over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The only variables it sees.
        env: BTreeMap<String, String>,
        /// Whether it may use the network.
        allow_network: bool,
    },
    /// A streamable HTTP endpoint.
    Http {
        /// The endpoint.
        url: String,
        /// Headers sent with every request.
        headers: BTreeMap<String, String>,
    },
}

/// An installed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// The server's id.
    pub id: ServerId,
    /// Its name in `<server>.<tool>`.
    pub slug: String,
    /// Who installed it.
    pub owner: UserId,
    /// How it is reached.
    pub transport: ServerTransport,
    /// The scope that its tools begin with.
    pub scope: ToolScope,
    /// Whether its tools can be called.
    pub enabled: bool,
    /// What went wrong when it was last spoken to.
    pub last_error: Option<String>,
    /// When it was installed.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl std::fmt::Debug for ServerTransport {
    /// Without values of variables and headers.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdio { command, .. } => {
                f.debug_struct("Stdio").field("command", command).finish_non_exhaustive()
            }
            Self::Http { .. } => f.debug_struct("Http").finish_non_exhaustive(),
        }
    }
}
