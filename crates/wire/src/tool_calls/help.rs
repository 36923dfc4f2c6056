//! `help.get`

use cynode_domain::ids::TaskId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;

const MAX_TOPIC_CHARS: usize = 100;

tool_calls! {
    HelpGet => "help.get",
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HelpGet {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// overview, tasks, schedules, sandboxes, artifacts, preferences, memory, skills, findings, agents, ids or
    /// errors.
    #[schemars(length(min = 1, max = MAX_TOPIC_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
}
