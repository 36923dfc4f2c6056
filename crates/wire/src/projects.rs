//! Projects.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ProjectId;
use serde::{Deserialize, Serialize};

/// `POST /v1/projects`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// The name people see; its slug is made from it.
    pub display_name: String,
    /// What the project is about.
    #[serde(default)]
    pub description: String,
}

/// `PATCH /v1/projects/{project}`; absent fields stay as they are.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateProject {
    /// The new name people see; the slug stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The new description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the project takes new tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_active: Option<bool>,
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProjectView {
    /// The project's id.
    pub id: ProjectId,
    /// The name in URLs and on the command line.
    pub slug: String,
    /// The name people see.
    pub display_name: String,
    /// What the project is about.
    pub description: String,
    /// Whether it is its owner's default project.
    pub is_default: bool,
    /// Whether the project takes new tasks.
    pub is_active: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}
