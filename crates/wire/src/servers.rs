//! MCP servers that people install.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, UserId};
use cynode_domain::policy::ToolScope;
use serde::{Deserialize, Serialize};

/// `POST /v1/servers`
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallServer {
    /// The server's name: its tools are called `<slug>.<tool>`.
    pub slug: String,
    /// How it is reached.
    pub transport: Transport,
    /// The scope that its tools begin with; `both` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ToolScope>,
}

/// `PATCH /v1/servers/{server}`; absent fields stay as they are.
#[derive(Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateServer {
    /// How it is reached from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Whether its tools can be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// How a server is reached. Values of variables and headers may be secret: they go in and never
/// come out again.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Transport {
    /// A process that speaks over its standard streams, in a sandbox.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// The only variables it sees.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Whether it may use the network.
        #[serde(default)]
        allow_network: bool,
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

/// How a server is reached, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TransportView {
    /// A process that speaks over its standard streams, in a sandbox.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The names of the variables it sees.
        env_names: Vec<String>,
        /// Whether it may use the network.
        allow_network: bool,
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
    /// Who installed it.
    pub owner_id: UserId,
    /// How it is reached.
    pub transport: TransportView,
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
