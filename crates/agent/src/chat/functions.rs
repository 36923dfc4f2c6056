//! Offers the gateway's tools to a model: those that match the request, and a search for more.
//!
//! Offering every tool costs thousands of tokens per request and confuses small models. A turn starts with the
//! tools for tasks and the best matches of the conversation; `find_tools_definition` adds others.

use std::collections::{BTreeMap, BTreeSet};

use cynode_client::McpTool;
use cynode_wire::openai::ToolDefinition;
use cynode_wire::tool_calls::{DbTaskCreate, DbTaskGet, DbTaskList, ToolCall as _};
use serde_json::{Value, json};

use super::similarity::rank_tools;
use crate::model_schema::schema_for_model;

/// The function that searches for tools.
pub(super) const FIND: &str = "find_tools";
/// The longest function name that providers accept.
const MAX_NAME: usize = 64;
/// Up to this number, all tools are offered without ranking.
const UNRANKED_LIMIT: usize = 8;
/// The number of tools offered by rank.
const RANKED_COUNT: usize = 5;
/// The number of tools that one search adds.
const SEARCH_COUNT: usize = 5;
/// Offered in every turn because most requests need them.
const ALWAYS_OFFERED: [&str; 3] = [DbTaskCreate::NAME, DbTaskGet::NAME, DbTaskList::NAME];
/// The most characters of a tool's description.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// The functions that a model may call; fixed for a turn.
pub(super) struct ToolFunctions {
    /// The tool of each function, offered or not.
    tools: BTreeMap<String, FunctionTool>,
    /// In the order of the gateway's list.
    definitions: Vec<ToolDefinition>,
    /// Indices of the offered definitions.
    offered: BTreeSet<usize>,
}

/// The tool of a function.
pub(super) struct FunctionTool {
    /// The name of the tool in the gateway.
    pub(super) tool: String,
    /// Whether it is marked as read-only; other tools count as changes.
    pub(super) is_read_only: bool,
}

impl ToolFunctions {
    /// Maps the gateway's tools to functions and offers those that match `request`.
    pub(super) fn new(listed: Vec<McpTool>, request: &str) -> Self {
        let (mut tools, mut definitions) = (BTreeMap::new(), vec![]);
        let mut always = BTreeSet::new();
        for tool in listed {
            let name = function_name(&tool.name);
            // The first of several tools with the same function name wins.
            if name == FIND || tools.contains_key(&name) {
                continue;
            }
            if ALWAYS_OFFERED.contains(&tool.name.as_str()) {
                always.insert(definitions.len());
            }
            let about: String = tool.description.chars().take(MAX_DESCRIPTION_CHARS).collect();
            definitions.push(ToolDefinition::function(
                &name,
                &about,
                schema_for_model(tool.input_schema),
            ));
            let behind = FunctionTool { tool: tool.name, is_read_only: tool.is_read_only };
            tools.insert(name, behind);
        }
        let mut all = Self { tools, definitions, offered: always };
        if all.definitions.len() <= UNRANKED_LIMIT {
            all.offered = (0..all.definitions.len()).collect();
        } else {
            let best = all.rank_unoffered(request, RANKED_COUNT);
            all.offer(best);
        }
        all
    }

    /// Returns the tool of a function.
    pub(super) fn tool_of(&self, function: &str) -> Option<&FunctionTool> {
        self.tools.get(function)
    }

    /// Whether a model may call the function.
    pub(super) fn is_known(&self, function: &str) -> bool {
        function == FIND || self.tools.contains_key(function)
    }

    /// The definitions that are offered now.
    pub(super) fn offered_definitions(&self) -> Vec<ToolDefinition> {
        let offered = self.offered.iter().filter_map(|index| self.definitions.get(*index)).cloned();
        let find = (self.offered.len() < self.definitions.len()).then(find_tools_definition);
        offered.chain(find).collect()
    }

    /// Finds tools that match a query and are not offered yet, best first.
    pub(super) fn search(&self, query: &str) -> Vec<usize> {
        self.rank_unoffered(query, SEARCH_COUNT)
    }

    /// Adds definitions to the offer.
    pub(super) fn offer(&mut self, places: impl IntoIterator<Item = usize>) {
        self.offered.extend(places);
    }

    /// Renders the result of a search for the model.
    pub(super) fn describe_tools(&self, places: &[usize]) -> Value {
        let found: Vec<Value> = places
            .iter()
            .filter_map(|index| self.definitions.get(*index)?.function.as_ref())
            .map(|function| json!({ "name": function.name, "description": function.description }))
            .collect();
        json!({ "tools": found })
    }

    fn rank_unoffered(&self, query: &str, most: usize) -> Vec<usize> {
        let text = |definition: &'_ ToolDefinition| {
            let function = definition.function.as_ref();
            let about = function.and_then(|it| it.description.clone()).unwrap_or_default();
            (function.map(|it| it.name.clone()).unwrap_or_default(), about)
        };
        let texts: Vec<(String, String)> = self.definitions.iter().map(text).collect();
        let all =
            rank_tools(query, texts.iter().map(|(name, about)| (name.as_str(), about.as_str())));
        all.into_iter().filter(|index| !self.offered.contains(index)).take(most).collect()
    }
}

fn find_tools_definition() -> ToolDefinition {
    let about = "Finds further tools by what they do. Those found can be called afterwards.";
    let query = json!({ "type": "string", "description": "A few words." });
    let schema = json!({
        "type": "object", "properties": { "query": query }, "required": ["query"],
        "additionalProperties": false,
    });
    ToolDefinition::function(FIND, about, schema)
}

/// Replaces the characters that providers do not accept in function names.
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

    fn names(functions: &ToolFunctions) -> Vec<String> {
        functions
            .offered_definitions()
            .into_iter()
            .filter_map(|it| Some(it.function?.name))
            .collect()
    }

    #[test]
    fn functions_have_names_that_providers_take_and_lead_back_to_their_tools() {
        let listed = vec![tool("db.task.get"), tool("db_task_get"), tool("ü/x"), tool(FIND)];
        let functions = ToolFunctions::new(listed, "");

        let tool = |name| functions.tool_of(name).map(|behind| behind.tool.as_str());
        assert_eq!(tool("db_task_get"), Some("db.task.get"));
        assert_eq!(tool("__x"), Some("ü/x"));
        assert_eq!(functions.offered_definitions().len(), 2);
        assert_eq!(tool("db.task.get"), None);
        assert_eq!(tool("delete_everything"), None);
    }

    #[test]
    fn a_tool_looks_because_it_says_so_whatever_its_name() {
        let says = McpTool { is_read_only: true, ..tool("sandbox.get_file") };
        let functions = ToolFunctions::new(vec![says, tool("queue.get")], "");

        let only_looks = |name| functions.tool_of(name).map(|behind| behind.is_read_only);
        assert_eq!(only_looks("sandbox_get_file"), Some(true));
        assert_eq!(only_looks("queue_get"), Some(false));
    }

    #[test]
    fn of_many_tools_those_that_fit_are_offered_and_others_can_be_found() {
        let mut listed: Vec<McpTool> = (0..40).map(|n| tool(&format!("filler.n{n}"))).collect();
        listed.extend(["db.task.list", "weather.look_up", "db.task.create", "mail.send"].map(tool));

        let mut functions = ToolFunctions::new(listed, "How is the weather?");

        let offered = ["db_task_list", "weather_look_up", "db_task_create", FIND];
        assert_eq!(names(&functions), offered);
        assert!(functions.is_known("mail_send"), "the gateway lists it");
        let found = functions.search("send a mail, and look up the weather");
        assert_eq!(functions.describe_tools(&found)["tools"][0]["name"], "mail_send");
        functions.offer(found);
        assert!(names(&functions).contains(&"mail_send".to_owned()));
    }

    #[test]
    fn a_turn_offers_few_tools_however_many_fit() {
        let listed = (0..100).map(|n| tool(&format!("task.n{n}"))).collect();

        let functions = ToolFunctions::new(listed, "tasks");

        assert_eq!(functions.offered_definitions().len(), RANKED_COUNT + 1);
    }
}
