//! Preferences, by scope.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{self, ProjectId, TaskId, UserId};
use cynode_domain::preference::{ScopeKind, ValueType};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The longest key.
pub const MAX_KEY_BYTES: usize = 200;
/// The longest reason of a change.
pub const MAX_REASON_CHARS: usize = 1000;

pub(crate) fn uuid_schema(_: &mut SchemaGenerator) -> Schema {
    ids::uuid_schema()
}

/// Scope and key of a preference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreferenceKey {
    /// `system`, `group`, `user`, `project` or `task`.
    pub scope_type: ScopeKind,
    /// The id of the group, user, project or task; absent for `system`, and for the own user.
    #[schemars(schema_with = "uuid_schema")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<Uuid>,
    /// Key, such as `output.summary_style`; case-sensitive.
    #[schemars(length(min = 1, max = MAX_KEY_BYTES))]
    pub key: String,
}

/// A preference to write.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WritePreference {
    /// The value. Null hides the value of weaker scopes.
    pub value: Value,
    /// Value type.
    pub value_type: ValueType,
    /// Expected current version; unconditional when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Reason, for the change history.
    #[schemars(length(min = 1, max = MAX_REASON_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A preference to remove.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema,
)]
#[serde(deny_unknown_fields)]
pub struct RemovePreference {
    /// Expected current version; unconditional when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Reason, for the change history.
    #[schemars(length(min = 1, max = MAX_REASON_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A preference.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PreferenceView {
    /// `system`, `group`, `user`, `project` or `task`.
    pub scope_type: ScopeKind,
    /// The id of the group, user, project or task.
    pub scope_id: Option<Uuid>,
    /// Key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Value type.
    pub value_type: String,
    /// Version, incremented by every change.
    pub version: i64,
    /// User who wrote it.
    pub updated_by: Option<UserId>,
    /// Timestamp.
    pub updated_at: DateTime<Utc>,
}

/// Filters on changes of a preference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PreferenceChangesQuery {
    /// `system`, `group`, `user`, `project` or `task`; `user` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_type: Option<ScopeKind>,
    /// The id of the group, user, project or task; the caller when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<Uuid>,
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Source of an effective preference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PreferenceSource {
    /// Scope type.
    pub scope_type: ScopeKind,
    /// Scope id.
    pub scope_id: Option<Uuid>,
    /// The version of the entry.
    pub version: i64,
}

/// A skipped preference.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkippedPreference {
    /// Scope type.
    pub scope_type: ScopeKind,
    /// Scope id.
    pub scope_id: Option<Uuid>,
    /// Key.
    pub key: String,
    /// Reason.
    pub reason: String,
}

/// Effective preferences of a task, a project or a user.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct EffectiveView {
    /// The value of each key; null where a scope hides weaker ones.
    pub effective: BTreeMap<String, Value>,
    /// Source of each value, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeMap<String, PreferenceSource>>,
    /// Entries that were skipped because of an invalid value.
    pub skipped: Vec<SkippedPreference>,
}

/// Scope of a preference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PreferenceScope {
    /// `system`, `user`, `project` or `task`; the caller's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_type: Option<ScopeKind>,
    /// The id of the user, project or task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<Uuid>,
}

/// Filters on preferences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PreferenceQuery {
    /// `system`, `user`, `project` or `task`; the caller's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_type: Option<ScopeKind>,
    /// The id of the user, project or task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<Uuid>,
    /// Only keys with this prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Target of the resolution; the caller when both are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EffectiveQuery {
    /// A task: its own preferences, and those of its project and its creator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// A project: its own preferences and the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
}

/// `PUT /v1/preferences/{key}`
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PutPreference {
    /// `system`, `user`, `project` or `task`; the caller's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_type: Option<ScopeKind>,
    /// The id of the user, project or task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<Uuid>,
    /// The value. Null hides the value of weaker scopes.
    pub value: Value,
    /// Value type; inferred from the value when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_type: Option<ValueType>,
    /// Expected current version, 0 for a new entry; unconditional when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Reason, for the change history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
