//! Shared by the tools that create and change a setting.

use cynode_wire::tool_calls::{SettingValueType, SettingWrite};
use serde_json::Value;

use crate::tools::ToolFault;

/// Rejects a value that is not of the declared type.
pub(super) fn check_value_type(written: &SettingWrite) -> Result<(), ToolFault> {
    let found = match written.value {
        Value::Null => SettingValueType::Null,
        Value::Bool(_) => SettingValueType::Boolean,
        Value::Number(_) => SettingValueType::Number,
        Value::String(_) => SettingValueType::String,
        Value::Array(_) => SettingValueType::Array,
        Value::Object(_) => SettingValueType::Object,
    };
    if found == written.value_type {
        return Ok(());
    }
    let declared = written.value_type;
    Err(ToolFault::invalid(format!("the value is a {found}, not a {declared}")))
}
