//! The fingerprint of what a tool says about itself.

use cynode_store::Definition;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The SHA-256 of a definition, in hexadecimal: the same for the same meaning, whatever the order
/// of keys.
pub(crate) fn fingerprint(definition: &Definition) -> String {
    let mut text = String::new();
    write(&json!(definition), &mut text);
    hex::encode(Sha256::digest(text.as_bytes()))
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in keys {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write(item, text);
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

    fn of(schema: &str) -> String {
        fingerprint(&Definition {
            title: None,
            description: "reads".to_owned(),
            input_schema: serde_json::from_str(schema).unwrap(),
            output_schema: None,
            other: serde_json::Map::new(),
        })
    }

    #[test]
    fn a_fingerprint_sees_meaning_and_not_the_order_of_keys() {
        assert_eq!(of(r#"{"a":1,"b":[2,3]}"#), of(r#"{ "b": [2, 3], "a": 1 }"#));
        assert_ne!(of(r#"{"a":1,"b":[2,3]}"#), of(r#"{"a":1,"b":[3,2]}"#));
        assert_ne!(of(r#"{"a":"1"}"#), of(r#"{"a":1}"#));
    }
}
