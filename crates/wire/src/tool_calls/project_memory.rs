//! `project_memory.*`

use cynode_domain::ids::{MemoryEntryId, ProjectId};
use cynode_domain::project_memory::MemoryKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::page::PageQuery;
use crate::profiles::MAX_NAME_CHARS;
use crate::project_memory::{AddMemoryEntry, MAX_MATCHES, MAX_QUERY_BYTES};

tool_calls! {
    ProjectMemoryAdd => "project_memory.add",
    ProjectMemoryDelete => "project_memory.delete",
    ProjectMemoryGet => "project_memory.get",
    ProjectMemoryList => "project_memory.list",
    ProjectMemorySearch => "project_memory.search",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct ProjectMemoryAdd {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(flatten)]
    pub entry: AddMemoryEntry,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectMemoryDelete {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The id of the entry.
    pub entry_id: MemoryEntryId,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectMemoryGet {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The id of the entry.
    pub entry_id: MemoryEntryId,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct ProjectMemoryList {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Only entries of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectMemorySearch {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Words to look for.
    #[schemars(length(min = 1, max = MAX_QUERY_BYTES))]
    pub query: String,
    /// The most results; 10 when absent.
    #[schemars(range(min = 1, max = MAX_MATCHES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
