//! The gateway's tools as functions that a model can call.

use std::collections::BTreeMap;

use cynode_client::McpTool;
use cynode_wire::openai::ToolDefinition;

/// The longest name of a function that providers take.
const MAX_NAME: usize = 64;
/// More tools than this confuse models and cost much; installed servers come last.
const MAX_TOOLS: usize = 128;
/// What the name of a tool ends with that only looks.
const LOOKS: &[&str] = &[
    "get",
    "list",
    "logs",
    "result",
    "history",
    "runs",
    "effective",
    "retrieve",
    "fetch",
    "search",
    "apmas_get_context",
    "apmas_get_work_status",
    "read",
    "describe",
];

/// What a model may call: fixed for a turn, whatever anybody says meanwhile.
pub(super) struct Functions {
    /// The tool behind each function.
    tools: BTreeMap<String, String>,
    /// As models read them.
    pub(super) definitions: Vec<ToolDefinition>,
}

impl Functions {
    /// The tools that the gateway lists for this work.
    pub(super) fn new(listed: Vec<McpTool>) -> Self {
        let (mut tools, mut definitions) = (BTreeMap::new(), vec![]);
        for tool in listed.into_iter().take(MAX_TOOLS) {
            let name = function_name(&tool.name);
            // Two tools whose names differ only in signs cannot be told apart: the first one is meant.
            if tools.contains_key(&name) {
                continue;
            }
            let about = &tool.description;
            definitions.push(ToolDefinition::function(&name, about, tool.input_schema));
            tools.insert(name, tool.name);
        }
        Self { tools, definitions }
    }

    /// The tool behind a function.
    pub(super) fn tool(&self, function: &str) -> Option<&str> {
        self.tools.get(function).map(String::as_str)
    }
}

/// A name in the letters that providers take.
fn function_name(tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    tool.chars().map(plain).take(MAX_NAME).collect()
}

/// Whether a tool only looks, by its name.
pub(super) fn only_looks(tool: &str) -> bool {
    let last = tool.rsplit('.').next().unwrap_or(tool);
    LOOKS.contains(&last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> McpTool {
        let (name, description) = (name.to_owned(), "d".to_owned());
        McpTool { name, description, input_schema: json!({ "type": "object" }) }
    }

    #[test]
    fn functions_have_names_that_providers_take_and_lead_back_to_their_tools() {
        let functions = Functions::new(vec![tool("db.task.get"), tool("db_task_get"), tool("ü/x")]);

        assert_eq!(functions.tool("db_task_get"), Some("db.task.get"));
        assert_eq!(functions.tool("__x"), Some("ü/x"));
        assert_eq!(functions.definitions.len(), 2);
        assert_eq!(functions.tool("db.task.get"), None);
        assert_eq!(functions.tool("delete_everything"), None);
    }

    #[test]
    fn looking_and_changing_are_told_apart_by_name() {
        assert!(only_looks("db.task.get") && only_looks("apmas_get_context"));
        assert!(!only_looks("db.task.create") && !only_looks("server.target"));
    }
}
