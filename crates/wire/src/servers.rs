//! Installed MCP servers.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, UserId};
use cynode_domain::policy::ToolScope;
use serde::{Deserialize, Serialize};

/// `POST /v1/servers`
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallServer {
    /// Server name, unique among the caller's servers; its tools are named `<slug>.<tool>`.
    pub slug: String,
    /// Whether it is for all users, whose servers of the same name cannot be reached by it. Administrators only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub system: bool,
    /// Transport.
    pub transport: Transport,
    /// Initial scope of its tools; `both` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ToolScope>,
}

/// `PATCH /v1/servers/{server}`; absent fields stay as they are.
#[derive(Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateServer {
    /// New name, for its tools and rules too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// New transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Whether its tools can be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Transport of a server. Values of variables and headers may be secret and are write-only.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Transport {
    /// A sandboxed process that speaks MCP on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Its environment variables; it gets no others.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Whether it may connect to every public host, at ports 80 and 443. Only an administrator may set it.
        #[serde(default)]
        allow_network: bool,
        /// Hosts that it may connect to: `api.example.com`, `*.example.com`, `example.com:8443`. The port is 443 if an
        /// entry names none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        allowed_hosts: Vec<String>,
    },
    /// A streamable HTTP endpoint.
    Http {
        /// The endpoint.
        url: String,
        /// Headers sent with every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

/// Transport of a server, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TransportView {
    /// A sandboxed process that speaks MCP on its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Names of its environment variables.
        env_names: Vec<String>,
        /// Whether it may connect to every public host.
        allow_network: bool,
        /// Hosts that it may connect to.
        #[serde(default)]
        allowed_hosts: Vec<String>,
    },
    /// A streamable HTTP endpoint.
    Http {
        /// The endpoint.
        url: String,
        /// The names of the headers sent with every request.
        header_names: Vec<String>,
    },
}

/// An installed server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ServerView {
    /// The server's id.
    pub id: ServerId,
    /// The server's name.
    pub slug: String,
    /// User who installed it.
    pub owner_id: UserId,
    /// Handle of that user.
    #[serde(default)]
    pub owner_handle: String,
    /// Whether it is for all users.
    #[serde(default)]
    pub system: bool,
    /// Whether a server for all users has the same name: calls by that name do not reach this one.
    #[serde(default)]
    pub hidden_by_system: bool,
    /// Transport.
    pub transport: TransportView,
    /// Initial scope of its tools.
    pub scope: ToolScope,
    /// Whether its tools can be called.
    pub enabled: bool,
    /// Last connection error.
    pub last_error: Option<String>,
    /// When it was installed.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}
