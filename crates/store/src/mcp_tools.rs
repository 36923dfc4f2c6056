//! Tools that agents can call.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, ToolId};
use cynode_domain::policy::ToolScope;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// The definition of a tool, as its server states it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpToolDefinition {
    /// The display name.
    pub title: Option<String>,
    /// Shown to models.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of the results.
    pub output_schema: Option<Value>,
    /// All other fields: annotations, icons, metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub other: Map<String, Value>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTool {
    pub id: ToolId,
    /// The canonical name; unique among built-in tools and for each server.
    pub name: String,
    /// The server that provides it; `None` for built-in tools.
    pub server: Option<ServerId>,
    /// Where it may be called from.
    pub scope: ToolScope,
    /// The switch of administrators.
    pub enabled: bool,
    /// The switch of its server's owner.
    pub disabled_by_owner: bool,
    /// Whether its server still lists it.
    pub present: bool,
    /// The current definition.
    pub definition: McpToolDefinition,
    /// The SHA-256 of the current definition, in hex.
    pub definition_sha256: String,
    /// The definition that was approved.
    pub approved: McpToolDefinition,
    /// The SHA-256 of the approved definition, in hex; empty if none was approved.
    pub approved_sha256: String,
    pub first_seen_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

impl StoredTool {
    /// Whether neither an administrator nor its owner disabled it.
    pub const fn is_enabled(&self) -> bool {
        self.enabled && !self.disabled_by_owner
    }

    /// Whether the current definition is the approved one.
    pub fn is_approved(&self) -> bool {
        self.definition_sha256 == self.approved_sha256
    }
}

/// Tools, built in and of servers.
impl Tx {
    /// Adds a tool. A name that exists, built in or at its server, is an [`Error::Duplicate`].
    pub async fn tool_insert(&mut self, tool: &StoredTool) -> Result<(), Error> {
        let sql = "INSERT INTO mcp_tools (id, name, server_id, scope, enabled, present, definition,
                   definition_sha256, approved_definition, approved_sha256, first_seen_at, updated_at,
                   disabled_by_owner)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
        let params = params![
            tool.id,
            &tool.name,
            tool.server,
            tool.scope,
            tool.enabled,
            tool.present,
            json!(tool.definition),
            &tool.definition_sha256,
            json!(tool.approved),
            &tool.approved_sha256,
            tool.first_seen_at,
            tool.updated_at,
            tool.disabled_by_owner,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Returns the tool with this name of a server, or the built-in one.
    pub async fn tool_by_name(
        &mut self,
        server: Option<ServerId>,
        name: &str,
    ) -> Result<Option<StoredTool>, Error> {
        let sql = "SELECT * FROM mcp_tools WHERE name = $1 AND server_id IS NOT DISTINCT FROM $2";
        self.one(&tables::TOOLS, sql, params![name, server], tool).await
    }

    pub async fn tool_get(&mut self, id: ToolId) -> Result<Option<StoredTool>, Error> {
        let sql = "SELECT * FROM mcp_tools WHERE id = $1";
        self.one(&tables::TOOLS, sql, params![id], tool).await
    }

    pub async fn tool_list(&mut self) -> Result<Vec<StoredTool>, Error> {
        let sql = "SELECT * FROM mcp_tools ORDER BY name, id";
        self.list(&tables::TOOLS, sql, &[], tool).await
    }

    /// Updates a tool, except its name, server and `first_seen_at`.
    pub async fn tool_update(&mut self, tool: &StoredTool) -> Result<(), Error> {
        let sql = "UPDATE mcp_tools SET scope = $2, enabled = $3, present = $4, definition = $5,
                   definition_sha256 = $6, approved_definition = $7, approved_sha256 = $8,
                   updated_at = $9, disabled_by_owner = $10 WHERE id = $1";
        let params = params![
            tool.id,
            tool.scope,
            tool.enabled,
            tool.present,
            json!(tool.definition),
            &tool.definition_sha256,
            json!(tool.approved),
            &tool.approved_sha256,
            tool.updated_at,
            tool.disabled_by_owner,
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn tool_delete(&mut self, id: ToolId) -> Result<(), Error> {
        self.execute("DELETE FROM mcp_tools WHERE id = $1", params![id]).await.map(drop)
    }

    pub async fn tool_delete_by_server(&mut self, server: ServerId) -> Result<(), Error> {
        let sql = "DELETE FROM mcp_tools WHERE server_id = $1";
        self.execute(sql, params![server]).await.map(drop)
    }
}

pub(crate) fn tool(row: &Row) -> Result<StoredTool, Error> {
    Ok(StoredTool {
        id: row.id("id")?,
        name: row.get("name")?,
        server: row.id_opt("server_id")?,
        scope: row.keyword("scope")?,
        enabled: row.get("enabled")?,
        disabled_by_owner: row.get("disabled_by_owner")?,
        present: row.get("present")?,
        definition: row.json("definition")?,
        definition_sha256: row.get("definition_sha256")?,
        approved: row.json("approved_definition")?,
        approved_sha256: row.get("approved_sha256")?,
        first_seen_at: row.get("first_seen_at")?,
        updated_at: row.get("updated_at")?,
    })
}
