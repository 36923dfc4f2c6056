//! Projects.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ProjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest display name.
pub const MAX_NAME_CHARS: usize = 100;
/// The longest description.
pub const MAX_DESCRIPTION_BYTES: usize = 64 * 1024;

/// `POST /v1/projects`
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// Display name; the slug is derived from it.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub display_name: String,
    /// Description.
    #[schemars(length(max = MAX_DESCRIPTION_BYTES))]
    #[serde(default)]
    pub description: String,
}

/// `PATCH /v1/projects/{project}`; absent fields stay as they are.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateProject {
    /// New display name; the slug does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The new description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the project accepts new tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
    /// The group whose members see the tasks and requests of the project, by name or id; empty for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProjectView {
    /// The project's id.
    pub id: ProjectId,
    /// Name in URLs and on the command line.
    pub slug: String,
    /// Display name.
    pub display_name: String,
    /// Description.
    pub description: String,
    /// The handle of its owner.
    pub owner: String,
    /// The name of the group whose members see its tasks and requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Whether it is its owner's default project.
    pub is_default: bool,
    /// Whether the project accepts new tasks.
    pub is_active: bool,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}
