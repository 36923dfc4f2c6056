//! The repository of a project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::names::MAX_BRANCH_BYTES;
use super::{BranchName, RepositoryUrl, TaskRepository};

/// The longest name of a credential, in characters.
pub const MAX_CREDENTIAL_NAME_CHARS: usize = 100;

/// The repository of a project, which its tasks use if their request selects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRepository {
    pub url: RepositoryUrl,
    /// The branch that tasks start from; the repository's own default branch when absent.
    pub default_branch: Option<BranchName>,
    /// The name of the credential for its host, among those that the user of a task may use; never its value.
    pub credential: Option<String>,
}

/// Asks for the repository of a project instead of naming one.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, utoipa::ToSchema,
)]
#[serde(deny_unknown_fields)]
pub struct UseProjectRepository {
    /// The project, by id or slug, also one that is shared with the caller; that of the task when absent.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The branch to start from; the default branch of the project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(min = 1, max = MAX_BRANCH_BYTES))]
    #[schema(value_type = Option<String>)]
    pub base_branch: Option<BranchName>,
    /// The branch for the changes; `cynode/` and the name of the task when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(min = 1, max = MAX_BRANCH_BYTES))]
    #[schema(value_type = Option<String>)]
    pub branch: Option<BranchName>,
}

impl ProjectRepository {
    /// The repository for a task that selects it.
    pub fn for_task(self, wanted: UseProjectRepository) -> TaskRepository {
        TaskRepository {
            url: self.url,
            base_branch: wanted.base_branch.or(self.default_branch),
            branch: wanted.branch,
            commit_subject: None,
            credential: self.credential,
        }
    }
}

/// Why a text cannot be the name of a credential.
pub fn credential_name_fault(name: &str) -> Option<String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_valid =
        (1..=MAX_CREDENTIAL_NAME_CHARS).contains(&name.len()) && name.chars().all(is_known);
    (!is_valid).then(|| {
        format!(
            "credential is the name of one, of 1 to {MAX_CREDENTIAL_NAME_CHARS} letters, digits, and . _ -; see: cynork creds list"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_overrides_the_branch_of_the_project_and_keeps_the_rest() {
        let of_project = ProjectRepository {
            url: "https://git.example.com/shop".to_owned().try_into().unwrap(),
            default_branch: Some("main".parse().unwrap()),
            credential: Some("deploy".to_owned()),
        };
        let next =
            UseProjectRepository { base_branch: Some("next".parse().unwrap()), ..<_>::default() };

        let (usual, other) = (
            of_project.clone().for_task(UseProjectRepository::default()),
            of_project.for_task(next),
        );

        assert_eq!(usual.base_branch, Some("main".parse().unwrap()));
        assert_eq!(usual.credential.as_deref(), Some("deploy"));
        assert_eq!(other.base_branch, Some("next".parse().unwrap()));
        assert_eq!(other.url, usual.url);
    }

    #[test]
    fn a_name_of_a_credential_is_one_short_line() {
        assert_eq!(credential_name_fault("deploy-key"), None);
        for name in ["", "two words", "two\nlines", &"x".repeat(101)] {
            assert!(credential_name_fault(name).is_some(), "{name:?}");
        }
    }
}
