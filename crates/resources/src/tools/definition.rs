//! Fingerprint of a tool definition.

use cynode_store::McpToolDefinition;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The SHA-256 of a definition in hex, independent of the order of keys.
pub(crate) fn fingerprint(definition: &McpToolDefinition) -> String {
    let mut text = String::new();
    write_canonical(&json!(definition), &mut text);
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema_fingerprint(schema: &str) -> String {
        fingerprint(&McpToolDefinition {
            title: None,
            description: "reads".to_owned(),
            input_schema: serde_json::from_str(schema).unwrap(),
            output_schema: None,
            other: serde_json::Map::new(),
        })
    }

    #[test]
    fn a_fingerprint_sees_meaning_and_not_the_order_of_keys() {
        assert_eq!(
            schema_fingerprint(r#"{"a":1,"b":[2,3]}"#),
            schema_fingerprint(r#"{ "b": [2, 3], "a": 1 }"#)
        );
        assert_ne!(
            schema_fingerprint(r#"{"a":1,"b":[2,3]}"#),
            schema_fingerprint(r#"{"a":1,"b":[3,2]}"#)
        );
        assert_ne!(schema_fingerprint(r#"{"a":"1"}"#), schema_fingerprint(r#"{"a":1}"#));
    }
}
