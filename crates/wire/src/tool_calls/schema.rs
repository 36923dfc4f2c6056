//! Derives the schema of a tool's arguments.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Keywords that repeat what the name or the description says.
const OMITTED: [&str; 3] = ["$schema", "title", "default"];
/// Keywords whose value is a list of schemas.
const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The schema of an object with the fields of `T` and no others.
pub(super) fn derive_input_schema<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Value::Object(members) = &mut schema {
        // The tool has a description of its own.
        members.remove("description");
        // A flattened type gets this keyword; with inlined properties the one below is equivalent.
        members.remove("unevaluatedProperties");
        members.insert("additionalProperties".to_owned(), false.into());
        // Some model servers reject an object without properties.
        members.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Removes what costs tokens and validates nothing, and rejects null: an absent argument is omitted.
fn simplify(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    members.retain(|keyword, value| !is_noise(keyword, value));
    if let Some(Value::String(text)) = members.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
    }
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = members.get_mut("items") {
        simplify(items);
    }
    for keyword in ALTERNATIVES {
        if let Some(Value::Array(schemas)) = members.get_mut(keyword) {
            schemas.iter_mut().for_each(simplify);
        }
    }
    reject_null(members);
    merge_constants(members);
}

fn is_noise(keyword: &str, value: &Value) -> bool {
    match keyword {
        // The width of an integer; other formats validate.
        "format" => value != "uuid",
        "items" | "additionalProperties" => *value == Value::Bool(true),
        keyword => OMITTED.contains(&keyword),
    }
}

/// Reverts what `Option` adds to the schema of its type.
fn reject_null(members: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [name] = &types[..] {
            let name = name.clone();
            members.insert("type".to_owned(), name);
        }
    }
    if let Some(Value::Array(words)) = members.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    let Some(Value::Array(schemas)) = members.get_mut("anyOf") else { return };
    schemas.retain(|schema| schema["type"] != "null");
    if let [Value::Object(inner)] = &mut schemas[..] {
        let inner = std::mem::take(inner);
        members.remove("anyOf");
        for (keyword, value) in inner {
            members.entry(keyword).or_insert(value);
        }
    }
}

/// Joins the variants of a string enum, which have a schema each if they are documented.
fn merge_constants(members: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = members.get("oneOf") else { return };
    let mut words = vec![];
    for variant in variants {
        match (&variant["const"], &variant["enum"]) {
            (word @ Value::String(_), _) => words.push(word.clone()),
            (_, Value::Array(several)) => words.extend(several.iter().cloned()),
            _ => return,
        }
    }
    members.remove("oneOf");
    members.insert("type".to_owned(), "string".into());
    members.insert("enum".to_owned(), words.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_calls::{
        ArtifactGet, DbProjectGet, DbTaskCreate, DbTaskList, NewTask, NodeList, ToolCall as _,
    };

    #[test]
    fn a_flattened_request_is_part_of_one_closed_object() {
        let id = json!({
            "type": "string", "format": "uuid", "minLength": 36, "maxLength": 36,
            "description": "Only tasks of this project, by id.",
        });
        let status = json!({
            "type": "string", "description": "Only tasks with this status.",
            "enum": ["queued", "running", "waiting", "completed", "failed", "canceled", "superseded"],
        });
        let limit = json!({
            "type": "integer", "minimum": 1, "maximum": 200,
            "description": "Page size, 1 to 200; 50 when absent.",
        });
        let cursor = json!({
            "type": "string", "minLength": 1, "maxLength": 200,
            "description": "The next_cursor of the previous page; absent for the first page.",
        });
        assert_eq!(
            DbTaskList::input_schema(),
            json!({
                "type": "object", "additionalProperties": false,
                "properties": { "project_id": id, "status": status, "limit": limit, "cursor": cursor },
            })
        );
    }

    #[test]
    fn a_documented_enum_is_one_list_of_words() {
        let format = &ArtifactGet::input_schema()["properties"]["format"];
        let mode = &DbTaskCreate::input_schema()["properties"]["input_mode"];

        assert_eq!(format["enum"], json!(["base64", "text", "diff"]));
        assert_eq!((&mode["type"], &mode["oneOf"]), (&json!("string"), &Value::Null));
        assert_eq!(mode["enum"], json!(["prompt", "script", "commands", "agent"]));
    }

    #[test]
    fn alternatives_and_missing_arguments_are_kept() {
        let either = &DbProjectGet::input_schema()["oneOf"];
        assert_eq!(*either, json!([{ "required": ["project_id"] }, { "required": ["slug"] }]));
        assert_eq!(
            NodeList::input_schema(),
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        );
    }

    #[test]
    fn absent_arguments_are_omitted_from_a_call() {
        let call = DbTaskCreate::from(NewTask::from_prompt("Build it".to_owned()));

        assert_eq!(json!(call), json!({ "input_mode": "prompt", "prompt": "Build it" }));
    }
}
