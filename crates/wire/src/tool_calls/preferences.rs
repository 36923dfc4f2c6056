//! `db.preference.*`

use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::preference::{ScopeKind, ValueType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::tool_calls;
use crate::page::PageQuery;
use crate::preferences::{
    MAX_KEY_BYTES, MAX_REASON_CHARS, PreferenceKey, RemovePreference, WritePreference, uuid_schema,
};

tool_calls! {
    DbPreferenceCreate => "db.preference.create",
    DbPreferenceDelete => "db.preference.delete",
    DbPreferenceEffective => "db.preference.effective",
    DbPreferenceGet => "db.preference.get",
    DbPreferenceList => "db.preference.list",
    DbPreferenceUpdate => "db.preference.update",
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbPreferenceCreate {
    #[serde(flatten)]
    pub preference: PreferenceKey,
    /// The value, of type `value_type`, or null to hide the values of weaker scopes.
    pub value: Value,
    /// The type of the value.
    pub value_type: ValueType,
    /// The reason, for the change history.
    #[schemars(length(min = 1, max = MAX_REASON_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbPreferenceDelete {
    #[serde(flatten)]
    pub preference: PreferenceKey,
    #[serde(flatten)]
    pub removal: RemovePreference,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbPreferenceEffective {
    /// The id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The id of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// Whether to include the source of each value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_sources: bool,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbPreferenceGet {
    #[serde(flatten)]
    pub preference: PreferenceKey,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbPreferenceList {
    /// The scope; later ones override earlier ones.
    pub scope_type: ScopeKind,
    /// The id of the group, user, project or task; absent for `system`, and for the own user.
    #[schemars(schema_with = "uuid_schema")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<Uuid>,
    /// A prefix of keys.
    #[schemars(length(min = 1, max = MAX_KEY_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_prefix: Option<String>,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
pub struct DbPreferenceUpdate {
    #[serde(flatten)]
    pub preference: PreferenceKey,
    #[serde(flatten)]
    pub write: WritePreference,
}
