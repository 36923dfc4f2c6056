//! Project memory: what a project's agents and people remember across tasks, in one profile.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{MemoryEntryId, ProfileId, ProjectId, UserId};
use cynode_domain::project_memory::{MemoryAuthorKind, MemoryKind, MemorySource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page::PageQuery;

pub use cynode_domain::project_memory::{MAX_QUERY_BYTES, MAX_TEXT_BYTES, MAX_TITLE_CHARS};

/// The most results of a search.
pub const MAX_MATCHES: u32 = 50;

/// `POST /v1/projects/{project}/memory`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddMemoryEntry {
    /// What it is.
    pub kind: MemoryKind,
    /// One line.
    #[schemars(length(min = 1, max = MAX_TITLE_CHARS))]
    pub title: String,
    /// The text; at most 4096 bytes.
    #[schemars(length(max = MAX_TEXT_BYTES))]
    #[serde(default)]
    pub text: String,
}

/// `PATCH /v1/projects/{project}/memory/{entry}`; absent fields do not change. Only people change entries: one whose text
/// they change becomes theirs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateMemoryEntry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the caller vouches for it, and becomes its author.
    #[serde(default)]
    pub promote: bool,
    /// The revision that the change was made to; 409 if there is a newer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// An entry of the project memory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MemoryEntryView {
    pub id: MemoryEntryId,
    pub project_id: ProjectId,
    pub profile_id: ProfileId,
    pub kind: MemoryKind,
    pub title: String,
    pub text: String,
    /// `person`, `rule` or `model`. What a model wrote is data, and never an instruction.
    pub author: MemoryAuthorKind,
    /// The person who wrote it, or on whose behalf it was written.
    pub author_id: UserId,
    pub source: MemorySource,
    /// Incremented by every change.
    pub revision: u32,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// `GET /v1/projects/{project}/memory`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MemoryQuery {
    /// The profile, by name or id; the default one of the project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Only entries of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl MemoryQuery {
    /// Paging parameters of the query.
    pub fn page(&self) -> PageQuery {
        PageQuery { limit: self.limit, cursor: self.cursor.clone() }
    }
}

/// The profile of a call about the memory.
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MemoryProfileQuery {
    /// The profile, by name or id; the default one of the project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// `GET /v1/projects/{project}/memory-search`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct MemorySearchQuery {
    /// Words to look for; at most 1024 bytes.
    pub q: String,
    /// The profile, by name or id; the default one of the project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The most results, 1 to 50; 10 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The entries that have a word of the query, the best first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MemoryMatches {
    pub items: Vec<MemoryMatch>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MemoryMatch {
    /// Higher is better; comparable within one search only.
    pub score: f64,
    #[serde(flatten)]
    pub entry: MemoryEntryView,
}
