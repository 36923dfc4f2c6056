//! Projects.

use chrono::{DateTime, Utc};
use cynode_domain::git::{BranchName, RepositoryUrl};
use cynode_domain::ids::{ProjectId, RuleId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest display name.
pub const MAX_NAME_CHARS: usize = 100;
/// The longest description.
pub const MAX_DESCRIPTION_BYTES: usize = 64 * 1024;

/// `POST /v1/projects`
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// Display name; the slug is derived from it.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    pub display_name: String,
    /// Description.
    #[schemars(length(max = MAX_DESCRIPTION_BYTES))]
    #[serde(default)]
    pub description: String,
    /// The repository of its tasks: `https://…`, `ssh://…`, `user@host:path`, or an absolute path on a worker node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
    /// The branch of the repository that tasks start from; the repository's own default branch when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// The name of the credential for the host of the repository, among those that the user of a task may use; the user's
    /// first one when absent. Never its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
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
    /// The repository of its tasks; empty for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
    /// The branch of the repository that tasks start from; empty for the repository's own default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
    /// The name of the credential for the host of the repository; empty for the first one of the user of a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
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
    /// The repository of its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub repository_url: Option<RepositoryUrl>,
    /// The branch of the repository that tasks start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub default_branch: Option<BranchName>,
    /// The name of the credential for the host of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// Whether it is its owner's default project.
    pub is_default: bool,
    /// Whether the project accepts new tasks.
    pub is_active: bool,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// What is known about the address of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that the caller asks for")]
pub struct RepositoryReport {
    /// Whether it is the address of a repository that tasks could work on.
    pub is_valid: bool,
    /// Why it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The repository as rules name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Whether rules allow to clone it.
    pub may_clone: bool,
    /// Whether rules allow to push to it.
    pub may_push: bool,
    /// The rules that allow or deny it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleId>,
    /// Whether it is the repository of the project.
    pub is_of_project: bool,
    /// Whether the project has a forge for it.
    pub has_forge: bool,
}
