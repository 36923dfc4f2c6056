//! `db.project.*`

use cynode_domain::ids::ProjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::page::PageQuery;
use crate::projects::CreateProject;

const MAX_SLUG_CHARS: usize = 200;

tool_calls! {
    DbProjectCreate => "db.project.create",
    DbProjectGet => "db.project.get",
    DbProjectList => "db.project.list",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct DbProjectCreate(pub CreateProject);

/// One of the two.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["project_id"] }, { "required": ["slug"] }]))]
pub struct DbProjectGet {
    /// The id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The slug of the project.
    #[schemars(length(min = 1, max = MAX_SLUG_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct DbProjectList(pub PageQuery);
