//! `db.profile.*`

use cynode_domain::ids::ProjectId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::profiles::MAX_NAME_CHARS;

tool_calls! {
    DbProfileGet => "db.profile.get",
    DbProfileList => "db.profile.list",
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbProfileGet {
    /// The id of the project; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// The name of the profile; the agent's own, or the default one of the project, when absent.
    #[schemars(length(min = 1, max = MAX_NAME_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbProfileList {
    /// The id of the project; the caller's default project when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
}
