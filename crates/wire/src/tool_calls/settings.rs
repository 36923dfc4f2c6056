//! `db.system_setting.*`

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tool_calls;
use crate::page::PageQuery;
use crate::settings::{MAX_KEY_BYTES, MAX_REASON_CHARS};

tool_calls! {
    DbSystemSettingCreate => "db.system_setting.create",
    DbSystemSettingDelete => "db.system_setting.delete",
    DbSystemSettingGet => "db.system_setting.get",
    DbSystemSettingList => "db.system_setting.list",
    DbSystemSettingUpdate => "db.system_setting.update",
}

/// A setting to write.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingWrite {
    /// The name of the setting.
    #[schemars(length(min = 1, max = MAX_KEY_BYTES))]
    pub key: String,
    /// Any JSON value.
    pub value: Value,
    /// The type of the value.
    pub value_type: SettingValueType,
    /// The expected current version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// The reason, for the change history.
    #[schemars(length(min = 1, max = MAX_REASON_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The JSON type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingValueType {
    Boolean,
    Number,
    String,
    Array,
    Object,
    Null,
}

impl fmt::Display for SettingValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
            Self::Null => "null",
        })
    }
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct DbSystemSettingCreate(pub SettingWrite);

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbSystemSettingDelete {
    /// The name of the setting.
    #[schemars(length(min = 1, max = MAX_KEY_BYTES))]
    pub key: String,
    /// The expected current version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DbSystemSettingGet {
    /// The name of the setting.
    #[schemars(length(min = 1, max = MAX_KEY_BYTES))]
    pub key: String,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
pub struct DbSystemSettingList {
    /// A prefix of names.
    #[schemars(length(min = 1, max = MAX_KEY_BYTES))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_prefix: Option<String>,
    #[serde(flatten)]
    pub page: PageQuery,
}

#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct DbSystemSettingUpdate(pub SettingWrite);
