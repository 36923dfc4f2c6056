//! The tools that agents can call.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ServerId, ToolId};
use cynode_domain::policy::{Principal, Stage, ToolScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Definition of a tool, as its server publishes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DefinitionView {
    /// Title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for models.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// The JSON Schema of its results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

/// Whether a tool's definition equals the approved one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Unchanged since its approval.
    Approved,
    /// Its definition changed; it cannot be called until an administrator approves the change.
    Changed,
    /// Its server added it after the first list of tools; it cannot be called until an administrator approves it.
    New,
}

/// `GET /v1/tools`
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ToolQuery {
    /// Only tools that an administrator has to approve before they can be called.
    #[serde(default)]
    pub unapproved: bool,
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
    /// The id of that server.
    #[serde(default)]
    pub server_id: Option<ServerId>,
    /// Where it may be called from.
    pub scope: ToolScope,
    /// Whether it can be called.
    pub enabled: bool,
    /// Whether its definition equals the approved one.
    pub approval: Approval,
    /// Description.
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
    /// Current definition.
    pub definition: DefinitionView,
    /// SHA-256 of the current definition.
    pub definition_sha256: String,
    /// Approved definition, if it differs.
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
    /// Caller.
    pub caller: Principal,
    /// Tool.
    pub tool: String,
    /// User, by handle or id; the caller when absent. Only administrators may name another user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Task, by id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Arguments; the argument stage is skipped when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

/// Result of an access explanation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ExplainView {
    /// Whether the call would be allowed.
    pub allowed: bool,
    /// First stage that denies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<Stage>,
    /// Verdict of each stage, in order.
    pub stages: Vec<StageView>,
}

/// Verdict of one stage.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StageView {
    /// The stage.
    pub stage: Stage,
    /// Verdict.
    pub verdict: StageVerdict,
    /// Reason.
    pub reason: String,
}

/// Verdict of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageVerdict {
    /// Passed.
    Pass,
    /// Denied.
    Refuse,
    /// Not evaluated.
    Skipped,
}
