//! Preferences: wishes about how work is done.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::preference::{ScopeKind, ValueType};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// Which preference is meant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreferenceKey {
    /// `system`, `group`, `user`, `project` or `task`.
    pub scope_type: ScopeKind,
    /// The id of the group, user, project or task; absent for `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope_id: Option<Uuid>,
    /// What it is about; case matters.
    pub key: String,
}

/// A preference to be written.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WritePreference {
    /// The value. Null hides what weaker scopes say.
    pub value: Value,
    /// What the value is meant to be.
    pub value_type: ValueType,
    /// The version it replaces. Absent to replace whatever is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Why, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A preference to be removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemovePreference {
    /// The version that is removed. Absent to remove whatever is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Why, for the record.
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
    /// What it is about.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// What the value is meant to be.
    pub value_type: String,
    /// Grows with every change.
    pub version: i64,
    /// Who wrote it.
    pub updated_by: Option<UserId>,
    /// When.
    pub updated_at: DateTime<Utc>,
}

/// Which changes of a preference are wanted.
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
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Where an effective preference comes from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PreferenceSource {
    /// The kind of scope that won.
    pub scope_type: ScopeKind,
    /// Which one of that kind.
    pub scope_id: Option<Uuid>,
    /// The version of the entry.
    pub version: i64,
}

/// A preference that was passed over.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SkippedPreference {
    /// The kind of its scope.
    pub scope_type: ScopeKind,
    /// Which one of that kind.
    pub scope_id: Option<Uuid>,
    /// What it is about.
    pub key: String,
    /// Why.
    pub reason: String,
}

/// What holds for a task, a project or a user.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct EffectiveView {
    /// The value of each key; null where a scope hides weaker ones.
    pub effective: BTreeMap<String, Value>,
    /// Where each value comes from, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<BTreeMap<String, PreferenceSource>>,
    /// Entries that were passed over, because they are not what they say they are.
    pub skipped: Vec<SkippedPreference>,
}

/// Whose preference is meant.
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

/// Which preferences a list shows.
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
    /// Only keys that begin with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// For what preferences are resolved; for the caller when both are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EffectiveQuery {
    /// A task: its own, its project's and its creator's preferences count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// A project: its own and the caller's.
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
    /// The value. Null hides what weaker scopes say.
    pub value: Value,
    /// What the value is meant to be; what it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_type: Option<ValueType>,
    /// The version it replaces: 0 for a new one. Absent to replace whatever is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Why, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
