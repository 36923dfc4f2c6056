//! Stage `arguments`: size and schema.

use cynode_domain::policy::{ErrorKind, Stage};
use cynode_schema::{CompiledSchema, SchemaViolation, ValueQuoting};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Denial;
use crate::snapshot::PolicyTool;
use cynode_upstream::rpc::parse_strict;

/// How many violations a denial lists.
const NAMED_FAULTS: usize = 5;
/// Characters of one violation that are shown.
const FAULT_CHARS: usize = 200;

/// Parses and validates the arguments. Absent arguments count as an empty object.
pub fn check(tool: &PolicyTool, given: Option<&RawValue>, max_bytes: u64) -> Result<Value, Denial> {
    let refuse = |kind, text: String| Err(Denial::new(Stage::Arguments, kind, text));
    let size = given.map_or(0, |raw| raw.get().len());
    if u64::try_from(size).unwrap_or(u64::MAX) > max_bytes {
        return refuse(
            ErrorKind::RequestTooLarge,
            format!("the arguments are longer than {max_bytes} bytes"),
        );
    }
    let value = match given.map(parse_strict) {
        None => Value::Object(Map::new()),
        Some(Ok(value)) if value.is_object() => value,
        Some(Ok(_)) => {
            return refuse(ErrorKind::InvalidArguments, "arguments must be an object".to_owned());
        }
        Some(Err(error)) => return refuse(ErrorKind::InvalidArguments, error.to_string()),
    };
    let schema = match &tool.input {
        Ok(schema) => schema,
        Err(fault) => {
            let text = format!("the schema of \"{}\" is invalid: {fault}", tool.name);
            return refuse(ErrorKind::InvalidSchema, text);
        }
    };
    if schema.is_valid(&value) {
        Ok(value)
    } else {
        refuse(ErrorKind::InvalidArguments, describe_violations(schema, &value))
    }
}

/// The violations, without the values: these may be secrets.
fn describe_violations(schema: &CompiledSchema, value: &Value) -> String {
    let violations = schema.violations(value, ValueQuoting::Masked, NAMED_FAULTS);
    let describe = |violation: &SchemaViolation| {
        violation.describe("arguments").chars().take(FAULT_CHARS).collect::<String>()
    };
    violations.iter().map(describe).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use cynode_domain::policy::ToolScope;
    use serde_json::json;

    use super::*;
    use crate::snapshot::PolicySnapshot;
    use crate::snapshot::RegistryData;
    use crate::snapshot::ToolRow;
    use cynode_upstream::rpc::raw;

    fn judge(schema: &Value, given: &str) -> Result<Value, (Stage, ErrorKind, String)> {
        let row = ToolRow {
            name: "a.b".to_owned(),
            server: None,
            scope: ToolScope::Both,
            is_enabled: true,
            needs_review: false,
            definition: json!({ "inputSchema": schema }),
        };
        let snapshot =
            PolicySnapshot::build(RegistryData { tools: vec![row], ..RegistryData::default() });
        let given = raw(given.to_owned());
        check(snapshot.builtin("a.b").unwrap(), Some(&given), 100)
            .map_err(|denial| (denial.stage, denial.kind, denial.message))
    }

    #[test]
    fn arguments_that_break_the_schema_are_refused_without_repeating_them() {
        let schema = json!({ "properties": { "key": { "type": "integer" } } });

        let (stage, kind, message) = judge(&schema, r#"{"key":"hunter2"}"#).unwrap_err();

        assert_eq!((stage, kind), (Stage::Arguments, ErrorKind::InvalidArguments));
        assert!(message.contains("/key") && !message.contains("hunter2"), "{message}");
    }

    #[test]
    fn arguments_that_are_too_long_or_no_object_are_refused() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(100));

        assert_eq!(judge(&json!({}), &long).unwrap_err().1, ErrorKind::RequestTooLarge);
        assert_eq!(judge(&json!({}), "[]").unwrap_err().1, ErrorKind::InvalidArguments);
        assert_eq!(
            judge(&json!({}), r#"{"a":1,"a":2}"#).unwrap_err().1,
            ErrorKind::InvalidArguments
        );
        assert_eq!(judge(&json!({}), r#"{"a":1}"#), Ok(json!({"a": 1})));
    }

    #[test]
    fn a_tool_whose_schema_is_none_takes_nothing() {
        assert_eq!(judge(&json!({ "type": 7 }), "{}").unwrap_err().1, ErrorKind::InvalidSchema);
    }
}
