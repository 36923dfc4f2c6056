//! Settings of the installation.

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// `PUT /v1/settings/{key}`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSetting {
    /// The value.
    pub value: Value,
    /// The version it replaces: 0 for a new one. Absent to replace whatever is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Why, for the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct SettingView {
    /// The setting's name.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// `boolean`, `number`, `string`, `array`, `object` or `null`.
    pub value_type: String,
    /// Grows with every change.
    pub version: i64,
    /// Who set it.
    pub updated_by: Option<UserId>,
    /// When.
    pub updated_at: DateTime<Utc>,
}
