//! What creating and changing a setting have in common.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::ToolFault;
use crate::tools::schema::{object, text};

/// A setting to be written.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) key: String,
    pub(super) value: Value,
    value_type: String,
    pub(super) expected_version: Option<i64>,
    pub(super) reason: Option<String>,
}

impl Written {
    /// Refuses a value that is not of the type the caller thinks it is.
    pub(super) fn check(&self) -> Result<(), ToolFault> {
        let is = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if is == self.value_type {
            return Ok(());
        }
        Err(ToolFault::invalid(format!("the value is a {is}, not a {}", self.value_type)))
    }
}

/// The arguments of both.
pub(super) fn write_schema() -> Value {
    object(
        &["key", "value", "value_type"],
        json!({
            "key": text("The name of the setting.", 200),
            "value": { "description": "Any JSON value." },
            "value_type": { "enum": ["boolean", "number", "string", "array", "object", "null"] },
            "expected_version": { "type": "integer", "description": "The version it replaces." },
            "reason": text("Why, for the record.", 1000),
        }),
    )
}
