//! `db.agent_profile.*`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;

tool_calls! {
    DbAgentProfileList => "db.agent_profile.list",
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbAgentProfileList {}
