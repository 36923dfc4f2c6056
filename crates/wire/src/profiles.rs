//! Profiles of projects: what their agents may use.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProfileId, ProjectId, UserId};
use serde::{Deserialize, Serialize};

pub use cynode_domain::profile::{MAX_NAME_CHARS, ProfileSpec};

/// `POST /v1/projects/{project}/profiles`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProfile {
    /// Its name in the project: lowercase letters, digits and dashes.
    pub name: String,
    /// What it allows; everything that roles and rules allow when absent.
    #[serde(default)]
    pub spec: ProfileSpec,
}

/// `PUT /v1/projects/{project}/profiles/{profile}`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateProfile {
    /// What it allows from now on; replaces the old spec.
    pub spec: ProfileSpec,
    /// The revision that the change was made to; 409 if there is a newer one. Without it, the change replaces whatever is
    /// there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// What the agents of a project may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ProfileView {
    pub id: ProfileId,
    pub project_id: ProjectId,
    /// Its name in the project.
    pub name: String,
    /// Whether work that names no profile uses it.
    pub is_default: bool,
    /// What it allows.
    pub spec: ProfileSpec,
    /// Incremented by every change.
    pub revision: u32,
    pub created_by: UserId,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}
