//! `knowledge.*`

use cynode_domain::ids::ProjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use super::web::MAX_URL_CHARS;
use crate::knowledge::{
    IngestDocuments, MAX_HITS, MAX_PATH_BYTES, MAX_QUERY_BYTES, MAX_SOURCE_CHARS,
};
use crate::page::PageQuery;
use crate::profiles::MAX_NAME_CHARS;

tool_calls! {
    KnowledgeDelete => "knowledge.delete",
    KnowledgeFetch => "knowledge.fetch",
    KnowledgeIngest => "knowledge.ingest",
    KnowledgeList => "knowledge.list",
    KnowledgeSearch => "knowledge.search",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct KnowledgeIngest {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(flatten)]
    pub documents: IngestDocuments,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeFetch {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The source that the document becomes part of; the host of the URL when absent.
    #[schemars(length(min = 1, max = MAX_SOURCE_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The http or https URL of the document.
    #[schemars(length(min = 1, max = MAX_URL_CHARS))]
    pub url: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct KnowledgeList {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Only documents of this source.
    #[schemars(length(min = 1, max = MAX_SOURCE_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Only the document with this path, or those in the folder of this name.
    #[schemars(length(min = 1, max = MAX_PATH_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeSearch {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// What to look for: a question or words.
    #[schemars(length(min = 1, max = MAX_QUERY_BYTES))]
    pub query: String,
    /// The most results; 5 when absent.
    #[schemars(range(min = 1, max = MAX_HITS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeDelete {
    /// The id of the project; an agent's own, or the caller's default project, when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The source.
    #[schemars(length(min = 1, max = MAX_SOURCE_CHARS))]
    pub source: String,
    /// Only the document with this path, or those in the folder of this name.
    #[schemars(length(min = 1, max = MAX_PATH_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}
