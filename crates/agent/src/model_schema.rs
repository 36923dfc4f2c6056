//! Adapts function schemas for model servers.

use serde_json::{Map, Value};

/// Schema keywords whose value is a schema or a list of schemas.
const SCHEMA_KEYWORDS: [&str; 15] = [
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];
/// Schema keywords whose value maps names to schemas.
const SCHEMA_MAP_KEYWORDS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Moves `maxLength` of each text into its description.
///
/// Servers that enforce a schema compile it to a grammar, which `maxLength` expands for every character; some
/// servers crash if it is too large. Answers are validated against the original schema.
pub(crate) fn schema_for_model(mut schema: Value) -> Value {
    describe_lengths(&mut schema);
    schema
}

fn describe_lengths(schema: &mut Value) {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Array(schemas) => return schemas.iter_mut().for_each(describe_lengths),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    if let Some(most) = schema.get("maxLength").and_then(Value::as_u64) {
        schema.remove("maxLength");
        append_description(schema, &format!("At most {most} characters."));
    }
    for (field, inner) in schema.iter_mut() {
        if SCHEMA_KEYWORDS.contains(&field.as_str()) {
            describe_lengths(inner);
        } else if SCHEMA_MAP_KEYWORDS.contains(&field.as_str()) {
            inner
                .as_object_mut()
                .into_iter()
                .flatten()
                .for_each(|(_, inner)| describe_lengths(inner));
        }
    }
}

/// Appends a sentence to the description of a schema.
fn append_description(schema: &mut Map<String, Value>, sentence: &str) {
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let said = said.trim_end();
    let words = match said.chars().last() {
        None => sentence.to_owned(),
        Some('.' | '!' | '?') => format!("{said} {sentence}"),
        Some(_) => format!("{said}. {sentence}"),
    };
    schema.insert("description".to_owned(), words.into());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_longest_length_of_a_text_becomes_words_wherever_it_stands() {
        let text =
            json!({ "type": "string", "minLength": 1, "maxLength": 9, "description": "A name." });
        let schema = json!({
            "type": "object",
            "properties": {
                "name": text,
                "names": { "type": "array", "maxItems": 3, "items": { "type": "string", "maxLength": 2 } },
                "either": { "anyOf": [{ "type": "string", "maxLength": 5 }, { "type": "null" }] },
                "pair": { "items": [{ "description": "First", "maxLength": 3 }, { "type": "null" }] },
            },
        });

        assert_eq!(
            schema_for_model(schema),
            json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "minLength": 1, "description": "A name. At most 9 characters." },
                    "names": {
                        "type": "array", "maxItems": 3,
                        "items": { "type": "string", "description": "At most 2 characters." },
                    },
                    "either": {
                        "anyOf": [
                            { "type": "string", "description": "At most 5 characters." },
                            { "type": "null" },
                        ],
                    },
                    "pair": {
                        "items": [
                            { "description": "First. At most 3 characters." },
                            { "type": "null" },
                        ],
                    },
                },
            })
        );
    }

    #[test]
    fn what_is_no_bound_of_a_text_stays_as_it_is() {
        let schema = json!({
            "type": "object",
            "properties": { "maxLength": { "type": "integer", "maximum": 10, "default": 3 } },
            "examples": [{ "maxLength": 4 }],
            "additionalProperties": false,
        });

        assert_eq!(schema_for_model(schema.clone()), schema);
        assert_eq!(schema_for_model(json!(true)), json!(true));
    }
}
