//! `skills.*`

use cynode_domain::ids::{SkillId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool_calls;
use crate::skills::{CreateSkill, SkillQuery, UpdateSkill};

tool_calls! {
    SkillsCreate => "skills.create",
    SkillsDelete => "skills.delete",
    SkillsGet => "skills.get",
    SkillsList => "skills.list",
    SkillsUpdate => "skills.update",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct SkillsCreate {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(flatten)]
    pub skill: CreateSkill,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillsDelete {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The id of the skill.
    pub skill_id: SkillId,
}

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillsGet {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The id of the skill.
    pub skill_id: SkillId,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct SkillsList {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(flatten)]
    pub query: SkillQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct SkillsUpdate {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The id of the skill.
    pub skill_id: SkillId,
    #[serde(flatten)]
    pub update: UpdateSkill,
}
