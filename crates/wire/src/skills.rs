//! Skills: texts that tell agents how to work.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{GroupId, ProjectId, SkillId, UserId};
use cynode_domain::skill::SkillScope;
use serde::{Deserialize, Serialize};

use crate::page::PageQuery;

/// A skill to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSkill {
    /// The text, in Markdown.
    pub content: String,
    /// Its name; the first heading when absent.
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

/// What is to be changed of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateSkill {
    /// Another text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Other readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<SkillScope>,
    /// The project of a project's skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The group of a group's skill; the owner's one group when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<GroupId>,
}

/// Which skills are wanted.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SkillQuery {
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
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
    /// The pagination part.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// A skill, in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkillView {
    /// The skill's id.
    pub id: SkillId,
    /// Its name for people.
    pub name: String,
    /// Who can read it.
    pub scope: SkillScope,
    /// The project of a project's skill.
    pub project_id: Option<ProjectId>,
    /// The group of a group's skill.
    pub group_id: Option<GroupId>,
    /// Whose it is; nobody's: the system's own, which only administrators replace.
    pub owner: Option<UserId>,
    /// The SHA-256 of the text, in hex.
    pub content_sha256: String,
    /// Grows with every change.
    pub version: i64,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was written.
    pub updated_at: DateTime<Utc>,
    /// Who wrote it last; nobody: the release.
    pub updated_by: Option<UserId>,
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
