//! The actions as the model sees them: tool definitions, one JSON Schema, or a list in the prompt.

use cynode_llm_wire::openai::ToolDefinition;
use serde_json::{Map, Value, json};

/// One action for the model.
struct ActionSchema {
    name: &'static str,
    description: &'static str,
    /// In the order of the description; `?` marks those that may be left out.
    arguments: &'static [&'static str],
}

/// Whether tools of an MCP server are granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolGrant {
    None,
    Granted,
}

const ACTIONS: [ActionSchema; 8] = [
    ActionSchema {
        name: "read_file",
        description: "Shows lines of a file (100 unless end_line is given).",
        arguments: &["path", "start_line?", "end_line?"],
    },
    ActionSchema {
        name: "search",
        description: "Finds lines that match a regular expression.",
        arguments: &["pattern", "path?"],
    },
    ActionSchema {
        name: "list_files",
        description: "Lists files and directories.",
        arguments: &["path?"],
    },
    ActionSchema {
        name: "edit_file",
        description: "Replaces text in a file. old: lines copied from the file, unique in it.",
        arguments: &["path", "edits"],
    },
    ActionSchema {
        name: "write_file",
        description: "Creates or replaces a whole file.",
        arguments: &["path", "content"],
    },
    ActionSchema {
        name: "run_command",
        description: "Runs a command line with /bin/sh in the workspace.",
        arguments: &["command", "timeout_s?"],
    },
    ActionSchema {
        name: "finish",
        description: "Ends the job when every criterion is met, with evidence for each.",
        arguments: &["summary", "evidence"],
    },
    ActionSchema {
        name: "give_up",
        description: "Ends the job if it cannot be done.",
        arguments: &["reason"],
    },
];

const CALL_TOOL: ActionSchema = ActionSchema {
    name: "call_tool",
    description: "Calls a tool of the tool server.",
    arguments: &["name", "arguments"],
};

fn list_schemas(grant: ToolGrant) -> impl Iterator<Item = &'static ActionSchema> {
    let granted = (grant == ToolGrant::Granted).then_some(&CALL_TOOL);
    ACTIONS.iter().chain(granted)
}

/// The schema of an argument; equal names mean the same in every action.
fn argument_schema(name: &str) -> Value {
    let text = json!({ "type": "string" });
    match name {
        "start_line" | "end_line" | "timeout_s" => json!({ "type": "integer", "minimum": 1 }),
        "edits" => json!({ "type": "array", "minItems": 1, "items": { "type": "object",
            "properties": { "old": text, "new": text },
            "required": ["old", "new"], "additionalProperties": false } }),
        "evidence" => json!({ "type": "array", "items": { "type": "object",
            "properties": { "criterion": { "type": "integer", "minimum": 0 }, "evidence": text },
            "required": ["criterion", "evidence"], "additionalProperties": false } }),
        "arguments" => json!({ "type": "object" }),
        _ => text,
    }
}

impl ActionSchema {
    fn properties(&self) -> Map<String, Value> {
        let names = self.arguments.iter().map(|name| name.trim_end_matches('?'));
        names.map(|name| (name.to_owned(), argument_schema(name))).collect()
    }

    fn required(&self) -> Vec<&'static str> {
        self.arguments.iter().copied().filter(|name| !name.ends_with('?')).collect()
    }
}

/// The actions as definitions of tools.
pub(crate) fn tool_definitions(grant: ToolGrant) -> Vec<ToolDefinition> {
    let define = |schema: &ActionSchema| {
        let parameters = json!({ "type": "object", "properties": schema.properties(),
            "required": schema.required(), "additionalProperties": false });
        ToolDefinition::function(schema.name, schema.description, parameters)
    };
    list_schemas(grant).map(define).collect()
}

/// The `response_format` that constrains an answer to one action: `{"action": name, …arguments}`.
pub(crate) fn response_format(grant: ToolGrant) -> Value {
    let constrain = |schema: &ActionSchema| {
        let mut properties = schema.properties();
        properties.insert("action".to_owned(), json!({ "const": schema.name }));
        let required: Vec<&str> = ["action"].into_iter().chain(schema.required()).collect();
        json!({ "type": "object", "properties": properties, "required": required,
            "additionalProperties": false })
    };
    let actions: Vec<Value> = list_schemas(grant).map(constrain).collect();
    json!({ "type": "json_schema",
        "json_schema": { "name": "action", "schema": { "anyOf": actions } } })
}

/// The actions as lines of a prompt.
pub(crate) fn describe_actions(grant: ToolGrant) -> String {
    let describe = |schema: &ActionSchema| {
        let arguments: Vec<&str> = schema
            .arguments
            .iter()
            .map(|name| match *name {
                "edits" => "edits: [{old, new}]",
                "evidence" => "evidence: [{criterion, evidence}]",
                name => name,
            })
            .collect();
        format!("- {} {{{}}}: {}", schema.name, arguments.join(", "), schema.description)
    };
    list_schemas(grant).map(describe).collect::<Vec<_>>().join("\n")
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
        for schema in list_schemas(ToolGrant::Granted) {
            let arguments: Map<String, Value> = schema
                .required()
                .into_iter()
                .map(|name| (name.to_owned(), example(&argument_schema(name))))
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
