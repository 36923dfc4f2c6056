//! The schema of a function, as models are offered it.

use serde_json::{Map, Value};

/// Fields of a schema that hold one schema.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
];
/// Fields of a schema that hold a list of schemas.
const MANY: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
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
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(most) = schema.get("maxLength").and_then(Value::as_u64) {
        schema.remove("maxLength");
        describe(schema, &format!("At most {most} characters."));
    }
    for (field, inner) in schema.iter_mut() {
        let field = field.as_str();
        if ONE.contains(&field) {
            in_words(inner);
        } else if MANY.contains(&field) {
            inner.as_array_mut().into_iter().flatten().for_each(in_words);
        } else if NAMED.contains(&field) {
            inner.as_object_mut().into_iter().flatten().for_each(|(_, inner)| in_words(inner));
        }
    }
}

/// Adds a sentence to what is said of a schema.
fn describe(schema: &mut Map<String, Value>, sentence: &str) {
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let words = format!("{said} {sentence}").trim_start().to_owned();
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
