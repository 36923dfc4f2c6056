//! The tools that agents can call.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, ToolId};
use cynode_domain::policy::ToolScope;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
