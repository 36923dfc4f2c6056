//! The actions as the model sees them: tool definitions, one JSON Schema, or a list in the prompt.

use cynode_wire::openai::ToolDefinition;
use serde_json::{Map, Value, json};

/// One action for the model.
struct ActionSchema {
    name: &'static str,
    description: &'static str,
    /// Names and schemas of the arguments; those of `optional` may be left out.
    properties: Value,
    optional: &'static [&'static str],
}

/// Whether tools of an MCP server are granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolGrant {
    None,
    Granted,
}

fn list_schemas(grant: ToolGrant) -> Vec<ActionSchema> {
    let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer", "minimum": 1 }));
    let edit = json!({ "type": "object", "properties": { "old": text, "new": text },
        "required": ["old", "new"], "additionalProperties": false });
    let evidence = json!({ "type": "object",
        "properties": { "criterion": { "type": "integer", "minimum": 0 }, "evidence": text },
        "required": ["criterion", "evidence"], "additionalProperties": false });
    let schema = |name, description, properties, optional| ActionSchema {
        name,
        description,
        properties,
        optional,
    };
    let mut schemas = vec![
        schema(
            "read_file",
            "Shows lines of a file (100 unless end_line is given).",
            json!({ "path": text, "start_line": number, "end_line": number }),
            &["start_line", "end_line"] as &[_],
        ),
        schema(
            "search",
            "Finds lines that match a regular expression.",
            json!({ "pattern": text, "path": text }),
            &["path"],
        ),
        schema("list_files", "Lists files and directories.", json!({ "path": text }), &["path"]),
        schema(
            "edit_file",
            "Replaces text in a file. old: lines copied from the file, unique in it.",
            json!({ "path": text, "edits": { "type": "array", "items": edit, "minItems": 1 } }),
            &[],
        ),
        schema(
            "write_file",
            "Creates or replaces a whole file.",
            json!({ "path": text, "content": text }),
            &[],
        ),
        schema(
            "run_command",
            "Runs a command line with /bin/sh in the workspace.",
            json!({ "command": text, "timeout_s": number }),
            &["timeout_s"],
        ),
        schema(
            "finish",
            "Ends the job when every criterion is met, with evidence for each.",
            json!({ "summary": text, "evidence": { "type": "array", "items": evidence } }),
            &[],
        ),
        schema("give_up", "Ends the job if it cannot be done.", json!({ "reason": text }), &[]),
    ];
    if grant == ToolGrant::Granted {
        schemas.push(schema(
            "call_tool",
            "Calls a tool of the tool server.",
            json!({ "name": text, "arguments": { "type": "object" } }),
            &[],
        ));
    }
    schemas
}

impl ActionSchema {
    fn argument_names(&self) -> impl Iterator<Item = &String> {
        self.properties.as_object().into_iter().flat_map(Map::keys)
    }

    fn required(&self) -> Vec<&String> {
        self.argument_names().filter(|name| !self.optional.contains(&name.as_str())).collect()
    }
}

/// The actions as definitions of tools.
pub(crate) fn tool_definitions(grant: ToolGrant) -> Vec<ToolDefinition> {
    let define = |schema: &ActionSchema| {
        let parameters = json!({ "type": "object", "properties": schema.properties,
            "required": schema.required(), "additionalProperties": false });
        ToolDefinition::function(schema.name, schema.description, parameters)
    };
    list_schemas(grant).iter().map(define).collect()
}

/// The `response_format` that constrains an answer to one action: `{"action": name, …arguments}`.
pub(crate) fn response_format(grant: ToolGrant) -> Value {
    let constrain = |schema: &ActionSchema| {
        let mut properties = Map::new();
        properties.insert("action".to_owned(), json!({ "const": schema.name }));
        properties.extend(schema.properties.as_object().cloned().unwrap_or_default());
        let required: Vec<&str> = std::iter::once("action")
            .chain(schema.required().into_iter().map(String::as_str))
            .collect();
        json!({ "type": "object", "properties": properties, "required": required,
            "additionalProperties": false })
    };
    let actions: Vec<Value> = list_schemas(grant).iter().map(constrain).collect();
    json!({ "type": "json_schema",
        "json_schema": { "name": "action", "schema": { "anyOf": actions } } })
}

/// The actions as lines of a prompt, one example each.
pub(crate) fn describe_actions(grant: ToolGrant) -> String {
    let describe = |schema: &ActionSchema| {
        let arguments: Vec<String> = schema
            .argument_names()
            .map(|name| {
                let mark = if schema.optional.contains(&name.as_str()) { "?" } else { "" };
                match name.as_str() {
                    "edits" => "edits: [{old, new}]".to_owned(),
                    "evidence" => "evidence: [{criterion, evidence}]".to_owned(),
                    name => format!("{name}{mark}"),
                }
            })
            .collect();
        format!("- {} {{{}}}: {}", schema.name, arguments.join(", "), schema.description)
    };
    list_schemas(grant).iter().map(describe).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;

    /// A value that fits a schema of an argument.
    fn example(schema: &Value) -> Value {
        match schema["type"].as_str() {
            Some("string") => json!("x"),
            Some("integer") => json!(1),
            Some("array") => json!([example(&schema["items"])]),
            _ => {
                let empty = Map::new();
                let properties = schema["properties"].as_object().unwrap_or(&empty);
                properties.iter().map(|(name, it)| (name.clone(), example(it))).collect()
            }
        }
    }

    #[test]
    fn every_described_action_can_be_parsed() {
        let schemas = list_schemas(ToolGrant::Granted);
        assert_eq!(schemas.len(), 9);
        for schema in schemas {
            let arguments: Map<String, Value> = schema
                .required()
                .into_iter()
                .map(|name| (name.clone(), example(&schema.properties[name])))
                .collect();
            Action::parse(schema.name, arguments).unwrap();
        }
    }

    #[test]
    fn tools_are_offered_only_where_they_are_granted() {
        assert!(!describe_actions(ToolGrant::None).contains("call_tool"));
        assert_eq!(tool_definitions(ToolGrant::None).len(), 8);
        assert!(response_format(ToolGrant::Granted).to_string().contains("call_tool"));
    }
}
