//! Settings of the installation.

use chrono::{DateTime, Utc};
use cynode_domain::ids::UserId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest key.
pub const MAX_KEY_BYTES: usize = 200;
/// The longest reason of a change.
pub const MAX_REASON_CHARS: usize = 1000;

/// `PUT /v1/settings/{key}`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetSetting {
    /// The value.
    pub value: Value,
    /// Expected current version, 0 for a new entry; unconditional when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// Reason, for the change history.
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
    /// Version, incremented by every change.
    pub version: i64,
    /// User who set it.
    pub updated_by: Option<UserId>,
    /// Timestamp.
    pub updated_at: DateTime<Utc>,
}
