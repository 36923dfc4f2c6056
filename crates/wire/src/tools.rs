//! The tools that agents can call.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ToolId;
use cynode_domain::policy::{Principal, Stage, ToolScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a tool says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DefinitionView {
    /// The name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, as models read it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

/// Whether a tool is still what was approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// It is.
    Approved,
    /// Its definition changed; it cannot be called until an administrator approves the change.
    Changed,
}

/// A tool in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolView {
    /// The tool's id.
    pub id: ToolId,
    /// The name to call it by.
    pub name: String,
    /// The server it comes from, or `builtin`.
    pub server: String,
    /// Where it may be called from.
    pub scope: ToolScope,
    /// Whether it can be called.
    pub enabled: bool,
    /// Whether it is still what was approved.
    pub approval: Approval,
    /// What it does.
    pub description: String,
    /// When it was first seen.
    pub first_seen_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// One tool, with its definition.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolDetailView {
    /// The tool.
    #[serde(flatten)]
    pub tool: ToolView,
    /// What it says about itself now.
    pub definition: DefinitionView,
    /// The SHA-256 of that.
    pub definition_sha256: String,
    /// What it said when it was approved, if that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<DefinitionView>,
}

/// `PATCH /v1/tools/{tool}`; absent fields stay as they are.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTool {
    /// Whether it can be called. Administrators only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Where it may be called from. Administrators, and the owner of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ToolScope>,
}

/// `POST /v1/tools/{tool}/approve`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveTool {
    /// The definition that was read; if the tool changed again meanwhile, nothing is approved.
    pub definition_sha256: String,
}

/// `POST /v1/access/explain`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainAccess {
    /// Who would call.
    pub caller: Principal,
    /// Which tool.
    pub tool: String,
    /// For whom, by handle or id; the asking user when absent. Only administrators may name another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// For which task, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// With which arguments; that stage is passed over when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

/// Whether a tool could be called, and what each stage says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ExplainView {
    /// Whether it could be called.
    pub allowed: bool,
    /// The first stage that refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<Stage>,
    /// What each stage says, in order.
    pub stages: Vec<StageView>,
}

/// What one stage says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StageView {
    /// The stage.
    pub stage: Stage,
    /// What it says.
    pub verdict: StageVerdict,
    /// Why.
    pub reason: String,
}

/// What a stage says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageVerdict {
    /// Yes.
    Pass,
    /// No.
    Refuse,
    /// It was not asked.
    Skipped,
}
