//! Compiled JSON Schemas, and the violations of a value.
//!
//! The one crate that depends on `jsonschema`, whose generic code is compiled again in each crate that calls it: it was
//! a third of the gateway's.
//!
//! Invariant: a schema refers to no other document, because nothing is fetched.

use serde_json::Value;

/// Why a schema cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// A schema that values are validated against.
#[derive(Debug)]
pub struct CompiledSchema(jsonschema::Validator);

/// A part of a value that the schema rejects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// JSON pointer to the part; empty for the whole value.
    pub path: String,
    pub reason: String,
}

/// Whether a violation quotes the rejected value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueQuoting {
    Quoted,
    /// The value may be a secret.
    Masked,
}

impl CompiledSchema {
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let compiled = jsonschema::options().build(schema);
        compiled.map(Self).map_err(|error| SchemaError(error.to_string()))
    }

    pub fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    /// The first `limit` violations; none if the value is valid.
    pub fn violations(
        &self,
        value: &Value,
        quoting: ValueQuoting,
        limit: usize,
    ) -> Vec<SchemaViolation> {
        let describe = |error: jsonschema::ValidationError<'_>| SchemaViolation {
            path: error.instance_path().to_string(),
            reason: match quoting {
                ValueQuoting::Quoted => error.to_string(),
                ValueQuoting::Masked => error.masked().to_string(),
            },
        };
        self.0.iter_errors(value).take(limit).map(describe).collect()
    }
}

impl SchemaViolation {
    /// `path: reason`, with `root` in place of an empty path.
    pub fn describe(&self, root: &str) -> String {
        let path = if self.path.is_empty() { root } else { &self.path };
        format!("{path}: {}", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(schema: &Value) -> CompiledSchema {
        CompiledSchema::compile(schema).unwrap()
    }

    #[test]
    fn a_violation_names_its_place_and_quotes_the_value_only_on_request() {
        let schema = compile(&json!({ "properties": { "key": { "type": "integer" } } }));
        let value = json!({ "key": "hunter2" });

        let quoted = schema.violations(&value, ValueQuoting::Quoted, 5);
        let masked = schema.violations(&value, ValueQuoting::Masked, 5);

        assert_eq!((&*quoted[0].path, &*masked[0].path), ("/key", "/key"));
        assert!(quoted[0].reason.contains("hunter2"), "{quoted:?}");
        assert!(!masked[0].describe("it").contains("hunter2"), "{masked:?}");
        assert!(!schema.is_valid(&value) && schema.is_valid(&json!({ "key": 1 })));
    }

    #[test]
    fn no_more_violations_are_listed_than_were_asked_for() {
        let schema = compile(&json!({ "items": { "type": "integer" } }));

        let violations = schema.violations(&json!(["a", "b", "c"]), ValueQuoting::Masked, 2);

        assert_eq!(violations.len(), 2);
        assert_eq!(schema.violations(&json!([1]), ValueQuoting::Masked, 2), []);
    }

    #[test]
    fn a_violation_of_the_whole_value_names_it_as_the_caller_does() {
        let schema = compile(&json!({ "type": "object" }));

        let violations = schema.violations(&json!([]), ValueQuoting::Masked, 1);

        assert!(violations[0].describe("arguments").starts_with("arguments: "), "{violations:?}");
    }

    #[test]
    fn a_schema_that_is_none_or_refers_to_another_document_does_not_compile() {
        let remote = json!({ "$ref": "http://127.0.0.1:9/schema.json" });

        for schema in [json!({ "type": 7 }), remote] {
            assert!(CompiledSchema::compile(&schema).is_err(), "{schema}");
        }
    }
}
