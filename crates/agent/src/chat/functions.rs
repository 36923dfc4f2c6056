//! The gateway's tools as functions that a model can call.

use std::collections::BTreeMap;

use cynode_client::McpTool;
use cynode_wire::openai::ToolDefinition;

use crate::offered::offered;

/// The longest name of a function that providers take.
const MAX_NAME: usize = 64;
/// More tools than this confuse models and cost much; installed servers come last.
const MAX_TOOLS: usize = 128;

/// What a model may call: fixed for a turn, whatever anybody says meanwhile.
pub(super) struct Functions {
    /// The tool behind each function.
    tools: BTreeMap<String, Behind>,
    /// As models read them.
    pub(super) definitions: Vec<ToolDefinition>,
}

/// The tool behind a function.
pub(super) struct Behind {
    /// The name to call it by.
    pub(super) tool: String,
    /// Whether it only looks; one that does not say so counts as one that changes something.
    pub(super) only_looks: bool,
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
            definitions.push(ToolDefinition::function(&name, about, offered(tool.input_schema)));
            let behind = Behind { tool: tool.name, only_looks: tool.is_read_only };
            tools.insert(name, behind);
        }
        Self { tools, definitions }
    }

    /// The tool behind a function.
    pub(super) fn behind(&self, function: &str) -> Option<&Behind> {
        self.tools.get(function)
    }
}

/// A name in the letters that providers take.
fn function_name(tool: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    tool.chars().map(plain).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> McpTool {
        let (name, description) = (name.to_owned(), "d".to_owned());
        let input_schema = json!({ "type": "object" });
        McpTool { name, description, input_schema, is_read_only: false }
    }

    #[test]
    fn functions_have_names_that_providers_take_and_lead_back_to_their_tools() {
        let functions = Functions::new(vec![tool("db.task.get"), tool("db_task_get"), tool("ü/x")]);

        let tool = |name| functions.behind(name).map(|behind| behind.tool.as_str());
        assert_eq!(tool("db_task_get"), Some("db.task.get"));
        assert_eq!(tool("__x"), Some("ü/x"));
        assert_eq!(functions.definitions.len(), 2);
        assert_eq!(tool("db.task.get"), None);
        assert_eq!(tool("delete_everything"), None);
    }

    #[test]
    fn a_tool_looks_because_it_says_so_whatever_its_name() {
        let says = McpTool { is_read_only: true, ..tool("sandbox.get_file") };
        let functions = Functions::new(vec![says, tool("queue.get")]);

        let only_looks = |name| functions.behind(name).map(|behind| behind.only_looks);
        assert_eq!(only_looks("sandbox_get_file"), Some(true));
        assert_eq!(only_looks("queue_get"), Some(false));
    }
}
