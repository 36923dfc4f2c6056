//! Skills: instructions for agents.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, ProjectId, SkillId, UserId};
use cynode_domain::skill::SkillScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page::{MAX_CURSOR_CHARS, MAX_LIMIT, PageQuery};

/// The longest name of a skill.
pub const MAX_NAME_CHARS: usize = 100;
/// The longest text of a skill.
pub const MAX_CONTENT_BYTES: usize = 64 * 1024;
/// The longest reason of a change.
pub const MAX_REASON_CHARS: usize = 500;

/// A skill to store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSkill {
    /// The text, in Markdown.
    #[schemars(length(min = 1, max = MAX_CONTENT_BYTES))]
    pub content: String,
    /// Name; the first heading when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who can read it; `user` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SkillScope>,
    /// The project of a project's skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The group of a group's skill; the owner's one group when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
}

/// Changes to a skill.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema,
)]
#[serde(deny_unknown_fields)]
pub struct UpdateSkill {
    /// New text.
    #[schemars(length(min = 1, max = MAX_CONTENT_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// New name.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SkillScope>,
    /// The project of a project's skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The group of a group's skill; the owner's one group when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
    /// Why, for the history.
    #[schemars(length(max = MAX_REASON_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Restores a version of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackSkill {
    /// The version whose text is restored, as a new version.
    pub version: i64,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Releases a skill from quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseSkill {
    /// Why; recorded in the audit log.
    pub reason: String,
}

/// Two versions to compare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SkillDiffQuery {
    /// The older version; the one before `to` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<i64>,
    /// The newer version; the current one when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

/// The difference between two versions of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkillDiffView {
    /// The older version.
    pub from: i64,
    /// The newer version.
    pub to: i64,
    /// A unified diff; empty if the texts are equal.
    pub diff: String,
}

/// A version of a skill, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkillVersionView {
    /// The number, from 1.
    pub version: i64,
    /// The name that the skill had.
    pub name: String,
    /// The SHA-256 of the text, in hex.
    pub content_sha256: String,
    /// The user who wrote it; null for the text of a release.
    pub author: Option<UserId>,
    /// Why it was written.
    pub reason: Option<String>,
    /// When it was written.
    pub created_at: DateTime<Utc>,
}

/// A version of a skill with its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkillVersionContentView {
    /// The version.
    #[serde(flatten)]
    pub version: SkillVersionView,
    /// Its text.
    pub content: String,
}

/// Why a skill is in quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkillFindingView {
    /// The id of the rule.
    pub rule: String,
    /// The category of the rule.
    pub category: String,
    /// Why, for people.
    pub reason: String,
    /// The passage.
    pub text: String,
}

/// Filters on skills.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SkillQuery {
    /// Page size, 1 to 200; 50 when absent.
    #[schemars(range(min = 1, max = MAX_LIMIT))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[schemars(length(min = 1, max = MAX_CURSOR_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Only skills of this scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SkillScope>,
    /// Only skills of this owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
}

impl SkillQuery {
    /// Paging parameters of the query.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// A skill, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkillView {
    /// The skill's id.
    pub id: SkillId,
    /// Name.
    pub name: String,
    /// Who can read it.
    pub scope: SkillScope,
    /// The project of a project's skill.
    pub project_id: Option<ProjectId>,
    /// The group of a group's skill.
    pub group_id: Option<GroupId>,
    /// Owner; null for the system skill, which only administrators replace.
    pub owner: Option<UserId>,
    /// The SHA-256 of the text, in hex.
    pub content_sha256: String,
    /// Version, incremented by every change.
    pub version: i64,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// Time of the last write.
    pub updated_at: DateTime<Utc>,
    /// User who wrote it last; null for the text of the release.
    pub updated_by: Option<UserId>,
    /// In lists, present if the scan rejects the text, which is not delivered then: why, for its owner and
    /// administrators; empty for other readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<Vec<SkillFindingView>>,
}

/// A skill with its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkillContentView {
    /// The skill.
    #[serde(flatten)]
    pub skill: SkillView,
    /// Its text.
    pub content: String,
}
