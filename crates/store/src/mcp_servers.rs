//! Installed MCP servers.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, UserId};
use cynode_domain::policy::ToolScope;
use cynode_domain::server_transport::ServerTransport;
use serde_json::json;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// An installed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub id: ServerId,
    /// The prefix in `<server>.<tool>`; unique for each owner, and among the servers of the system.
    pub slug: String,
    /// The user who installed it.
    pub owner: UserId,
    /// Whether an administrator installed it for every user.
    pub is_system: bool,
    pub transport: ServerTransport,
    /// The initial scope of its tools.
    pub scope: ToolScope,
    /// Whether its tools can be called.
    pub enabled: bool,
    /// The error of the last connection.
    pub last_error: Option<String>,
    /// When it first listed its tools.
    pub listed_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// Installed servers.
impl Tx {
    /// Adds a server. A slug that its owner or, for a server of the system, the system has is an
    /// [`Error::Duplicate`].
    pub async fn server_insert(&mut self, server: &McpServer) -> Result<(), Error> {
        let sql = "INSERT INTO mcp_servers (id, slug, owner_id, transport, config, scope, enabled,
                   last_error, listed_at, created_at, updated_at, is_system)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let params = params![
            server.id,
            &server.slug,
            server.owner,
            server.transport.kind(),
            json!(server.transport),
            server.scope,
            server.enabled,
            server.last_error.clone(),
            server.listed_at,
            server.created_at,
            server.updated_at,
            server.is_system,
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn server_get(&mut self, id: ServerId) -> Result<Option<McpServer>, Error> {
        let sql = "SELECT * FROM mcp_servers WHERE id = $1";
        self.one(&tables::SERVERS, sql, params![id], server).await
    }

    /// Lists all servers, by slug and then oldest first.
    pub async fn server_list(&mut self) -> Result<Vec<McpServer>, Error> {
        let sql = "SELECT * FROM mcp_servers ORDER BY slug, id";
        self.list(&tables::SERVERS, sql, &[], server).await
    }

    /// Updates transport, scope, switch, error and times of a server.
    pub async fn server_update(&mut self, server: &McpServer) -> Result<(), Error> {
        let sql = "UPDATE mcp_servers SET transport = $2, config = $3, scope = $4, enabled = $5,
                   last_error = $6, listed_at = $7, updated_at = $8 WHERE id = $1";
        let params = params![
            server.id,
            server.transport.kind(),
            json!(server.transport),
            server.scope,
            server.enabled,
            server.last_error.clone(),
            server.listed_at,
            server.updated_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Renames a server, its tools and the rules about it. A slug that exists is an [`Error::Duplicate`].
    pub async fn server_rename(&mut self, server: &McpServer, slug: &str) -> Result<(), Error> {
        let (old, new) = (format!("{}.", server.slug), format!("{slug}."));
        let sql = "UPDATE mcp_servers SET slug = $2 WHERE id = $1";
        self.execute(sql, params![server.id, slug]).await?;
        let sql = "UPDATE mcp_tools SET name = $2 || substr(name, length($3 /*pg ::text */) + 1)
                   WHERE server_id = $1";
        self.execute(sql, params![server.id, &new, &old]).await?;
        let sql = "UPDATE access_control_rules
                   SET resource_pattern = $2 || substr(resource_pattern, length($3 /*pg ::text */) + 1)
                   WHERE server_id = $1 AND substr(resource_pattern, 1, length($3)) = $3";
        self.execute(sql, params![server.id, &new, &old]).await.map(drop)
    }

    /// Deletes a server. The caller deletes its tools first.
    pub async fn server_delete(&mut self, id: ServerId) -> Result<(), Error> {
        self.execute("DELETE FROM mcp_servers WHERE id = $1", params![id]).await.map(drop)
    }
}

pub(crate) fn server(row: &Row) -> Result<McpServer, Error> {
    Ok(McpServer {
        id: row.id("id")?,
        slug: row.get("slug")?,
        owner: row.id("owner_id")?,
        is_system: row.get("is_system")?,
        transport: row.json("config")?,
        scope: row.keyword("scope")?,
        enabled: row.get("enabled")?,
        last_error: row.get("last_error")?,
        listed_at: row.get("listed_at")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
