//! The schema of a function, as models are offered it.

use serde_json::{Map, Value};

/// Fields of a schema that hold a schema, or a list of them.
const INNER: [&str; 15] = [
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
/// Fields of a schema that hold schemas by name.
const NAMED: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// The schema with the longest length of each text said in words.
///
/// Servers that hold a model to a schema make a grammar of it. `maxLength` makes that grammar grow
/// with every character, and some servers end when it is too long. Whoever reads the answer holds
/// it against the schema as it was.
pub(crate) fn offered(mut schema: Value) -> Value {
    in_words(&mut schema);
    schema
}

fn in_words(schema: &mut Value) {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Array(schemas) => return schemas.iter_mut().for_each(in_words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    if let Some(most) = schema.get("maxLength").and_then(Value::as_u64) {
        schema.remove("maxLength");
        describe(schema, &format!("At most {most} characters."));
    }
    for (field, inner) in schema.iter_mut() {
        if INNER.contains(&field.as_str()) {
            in_words(inner);
        } else if NAMED.contains(&field.as_str()) {
            inner.as_object_mut().into_iter().flatten().for_each(|(_, inner)| in_words(inner));
        }
    }
}

/// Adds a sentence to what is said of a schema.
fn describe(schema: &mut Map<String, Value>, sentence: &str) {
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
            offered(schema),
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

        assert_eq!(offered(schema.clone()), schema);
        assert_eq!(offered(json!(true)), json!(true));
    }
}
