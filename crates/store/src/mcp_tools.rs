//! The tools that agents can call.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, ToolId};
use cynode_domain::policy::ToolScope;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// What a tool says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The name for people.
    pub title: Option<String>,
    /// What it does, as models read it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its results.
    pub output_schema: Option<Value>,
    /// All else, as its server says it: annotations, icons, metadata.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub other: Map<String, Value>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// The tool's id.
    pub id: ToolId,
    /// The name to call it by: canonical, unique.
    pub name: String,
    /// The server it is on; none if it is built in.
    pub server: Option<ServerId>,
    /// Where it may be called from.
    pub scope: ToolScope,
    /// Whether it can be called.
    pub enabled: bool,
    /// Whether its server still offers it.
    pub present: bool,
    /// What it says about itself now.
    pub definition: Definition,
    /// The SHA-256 of that, in hexadecimal.
    pub definition_sha256: String,
    /// What it said when it was approved.
    pub approved: Definition,
    /// The SHA-256 of that.
    pub approved_sha256: String,
    /// When it was first seen.
    pub first_seen_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl McpTool {
    /// Whether it is still what was approved.
    pub fn is_approved(&self) -> bool {
        self.definition_sha256 == self.approved_sha256
    }
}

/// Tools, built in and of servers. A name is given once.
#[async_trait]
pub trait ToolStore {
    /// Adds a tool. A name that exists is a [`Error::Duplicate`].
    async fn tool_insert(&mut self, tool: &McpTool) -> Result<(), Error>;
    /// The tool with this name.
    async fn tool_by_name(&mut self, name: &str) -> Result<Option<McpTool>, Error>;
    /// Every tool, by name.
    async fn tool_list(&mut self) -> Result<Vec<McpTool>, Error>;
    /// Writes all of a tool but its name, server and first sight.
    async fn tool_update(&mut self, tool: &McpTool) -> Result<(), Error>;
    /// Removes a tool.
    async fn tool_delete(&mut self, id: ToolId) -> Result<(), Error>;
    /// Removes every tool of a server.
    async fn tool_delete_of(&mut self, server: ServerId) -> Result<(), Error>;
}

#[async_trait]
impl ToolStore for Tx {
    async fn tool_insert(&mut self, tool: &McpTool) -> Result<(), Error> {
        let sql = "INSERT INTO mcp_tools (id, name, server_id, scope, enabled, present, definition,
                   definition_sha256, approved_definition, approved_sha256, first_seen_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
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
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn tool_by_name(&mut self, name: &str) -> Result<Option<McpTool>, Error> {
        let sql = "SELECT * FROM mcp_tools WHERE name = $1";
        self.one(&tables::TOOLS, sql, params![name], tool).await
    }

    async fn tool_list(&mut self) -> Result<Vec<McpTool>, Error> {
        let sql = "SELECT * FROM mcp_tools ORDER BY name";
        self.list(&tables::TOOLS, sql, &[], tool).await
    }

    async fn tool_update(&mut self, tool: &McpTool) -> Result<(), Error> {
        let sql = "UPDATE mcp_tools SET scope = $2, enabled = $3, present = $4, definition = $5,
                   definition_sha256 = $6, approved_definition = $7, approved_sha256 = $8,
                   updated_at = $9 WHERE id = $1";
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
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn tool_delete(&mut self, id: ToolId) -> Result<(), Error> {
        self.execute("DELETE FROM mcp_tools WHERE id = $1", params![id]).await.map(drop)
    }

    async fn tool_delete_of(&mut self, server: ServerId) -> Result<(), Error> {
        let sql = "DELETE FROM mcp_tools WHERE server_id = $1";
        self.execute(sql, params![server]).await.map(drop)
    }
}

pub(crate) fn tool(row: &Row) -> Result<McpTool, Error> {
    Ok(McpTool {
        id: row.id("id")?,
        name: row.get("name")?,
        server: row.id_opt("server_id")?,
        scope: row.word("scope")?,
        enabled: row.get("enabled")?,
        present: row.get("present")?,
        definition: row.json("definition")?,
        definition_sha256: row.get("definition_sha256")?,
        approved: row.json("approved_definition")?,
        approved_sha256: row.get("approved_sha256")?,
        first_seen_at: row.get("first_seen_at")?,
        updated_at: row.get("updated_at")?,
    })
}
