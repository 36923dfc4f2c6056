//! Forges of projects' repositories. Secrets are write-only.

use chrono::{DateTime, Utc};
use cynode_domain::forge::{ForgeApiKind, ForgeSettings};
use cynode_domain::git::{BranchName, RepositoryUrl};
use cynode_domain::ids::{ForgeId, ProjectId, UserId};
use cynode_domain::request::RequestSettings;
use serde::{Deserialize, Serialize};

use crate::credentials::GivenSecret;

/// `PUT /v1/projects/{project}/forges`: sets or replaces the forge of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetForge {
    /// The repository as requests name it.
    #[schema(value_type = String)]
    pub repository: RepositoryUrl,
    /// Its API; derived from the repository if it is on a public forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ForgeApiKind>,
    /// The URL of the web pages of the forge; derived from the repository if it is on a public forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The path of the repository on the forge, such as `team/shop`; derived from the repository when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether the forge may be in an internal network. Administrators only.
    #[serde(default)]
    pub is_internal: bool,
    /// The branch that pull requests are merged into; the default branch when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub base_branch: Option<BranchName>,
    /// Issues with this label are submitted when the webhook reports them; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue_label: Option<String>,
    /// Whether an accepted issue gets a comment.
    #[serde(default)]
    pub comments_on_issues: bool,
    /// The API token. It is never returned.
    pub token: GivenSecret,
    /// The secret of the webhook; deliveries are rejected without one. It is never returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_secret: Option<GivenSecret>,
}

/// The forge of a repository, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ForgeView {
    pub id: ForgeId,
    pub project_id: ProjectId,
    #[schema(value_type = String)]
    pub repository: RepositoryUrl,
    #[serde(flatten)]
    pub settings: ForgeSettings,
    /// Whether deliveries of its webhook are accepted.
    pub has_webhook: bool,
    /// Where the forge delivers its webhook: a path of this server.
    pub webhook_path: String,
    /// How rules name the repository.
    pub resource: String,
    /// The user who set it. Issues that the webhook submits belong to them.
    pub updated_by: UserId,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// `POST /v1/issues`: submits an issue of a configured forge.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitIssue {
    /// The page of the issue.
    pub issue: String,
    /// The project, by id or slug; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Its name; derived from the text when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How it is worked on.
    #[serde(default)]
    pub settings: RequestSettings,
    /// Whether it is accepted although a request with the same text is open, or it looks like a question or like several
    /// requests.
    #[serde(default)]
    pub force: bool,
    /// Idempotency key: requests of one user with the same key create one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// A pull request to open for the branch of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPullRequest {
    /// One line.
    pub title: String,
    /// Plain text; markup and mentions in it have no effect.
    pub body: String,
}

/// A pull request that was opened or found.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct OpenedPullRequest {
    pub number: u64,
    /// Its page.
    pub url: String,
    /// `false` if the branch had an open one.
    pub is_new: bool,
    pub is_draft: bool,
}
