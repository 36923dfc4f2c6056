//! The forge of a project's repository: which API it has, where it is, and what it may start.

use serde::{Deserialize, Serialize};

use crate::git::BranchName;

/// The action of opening a pull request, as rules name it.
pub const OPEN_PULL_REQUEST_ACTION: &str = "forge.pull_request.open";
/// The resource type of repositories of forges. A resource is the host and the path, such as `github.com/team/shop`.
pub const FORGE_REPOSITORY_RESOURCE: &str = "forge.repository";
/// The longest label that submits issues.
pub const MAX_ISSUE_LABEL_BYTES: usize = 100;

words! {
    /// The API of a forge.
    ForgeApiKind("forge") {
        Github = "github",
        Gitlab = "gitlab",
        /// Gitea and Forgejo.
        Gitea = "gitea",
    }
}

/// What is configured about the forge of a repository, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgeSettings {
    pub kind: ForgeApiKind,
    /// The URL of its web pages, such as `https://github.com`.
    pub base_url: String,
    /// The path of the repository there, such as `team/shop`.
    pub path: String,
    /// Whether it may be in an internal network. Only an administrator can set it.
    #[serde(default)]
    pub is_internal: bool,
    /// The branch that pull requests are merged into; the default branch of the forge if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub base_branch: Option<BranchName>,
    /// Issues with this label are submitted; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_label: Option<String>,
    /// Whether an accepted issue gets a comment.
    #[serde(default)]
    pub comments_on_issues: bool,
}

impl ForgeSettings {
    /// The repository as rules name it: host, port if it is not the usual one, and path.
    pub fn resource_name(&self) -> String {
        let (_, rest) = self.base_url.split_once("://").unwrap_or(("", &self.base_url));
        format!("{}/{}", rest.trim_end_matches('/').to_ascii_lowercase(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_a_repository_by_host_and_path() {
        let settings = |base_url: &str| ForgeSettings {
            kind: ForgeApiKind::Gitea,
            base_url: base_url.to_owned(),
            path: "team/Shop".to_owned(),
            is_internal: false,
            base_branch: None,
            issue_label: None,
            comments_on_issues: false,
        };
        let name = |base_url| settings(base_url).resource_name();

        assert_eq!(name("https://Codeberg.org/"), "codeberg.org/team/Shop");
        assert_eq!(name("http://10.0.0.1:3000/forge"), "10.0.0.1:3000/forge/team/Shop");
    }
}
