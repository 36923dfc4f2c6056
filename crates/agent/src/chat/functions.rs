//! The gateway's tools as functions that a model can call: those that fit the request, and one that finds more.
//!
//! Offering every tool costs thousands of tokens in each round and confuses small models. A turn begins with
//! the tools for tasks and the best few by similarity to the conversation; `find_tools` adds others.

use std::collections::{BTreeMap, BTreeSet};

use cynode_client::McpTool;
use cynode_wire::openai::ToolDefinition;
use serde_json::{Value, json};

use super::similarity::ranked;
use crate::offered::offered;

/// The function that finds further tools.
pub(super) const FIND: &str = "find_tools";
/// The longest name of a function that providers take.
const MAX_NAME: usize = 64;
/// As many tools are offered without looking which of them fit.
const FEW: usize = 8;
/// How many tools are offered because they fit.
const BEST: usize = 5;
/// How many tools one search adds.
const FOUND: usize = 5;
/// Offered in every turn: what most requests need.
const ALWAYS: [&str; 3] = ["db.task.create", "db.task.get", "db.task.list"];
/// How much of a tool's description is offered.
const MAX_ABOUT: usize = 300;

/// What a model may call: fixed for a turn, whatever anybody says meanwhile.
pub(super) struct Functions {
    /// The tool behind each function, offered or not.
    tools: BTreeMap<String, Behind>,
    /// As models read them, in the order of the gateway's list.
    definitions: Vec<ToolDefinition>,
    /// The places of those that are offered.
    offered: BTreeSet<usize>,
}

/// The tool behind a function.
pub(super) struct Behind {
    /// The name to call it by.
    pub(super) tool: String,
    /// Whether it only looks; one that does not say so counts as one that changes something.
    pub(super) only_looks: bool,
}

impl Functions {
    /// The tools that the gateway lists for this work, of which those are offered that fit `request`.
    pub(super) fn new(listed: Vec<McpTool>, request: &str) -> Self {
        let (mut tools, mut definitions) = (BTreeMap::new(), vec![]);
        let mut always = BTreeSet::new();
        for tool in listed {
            let name = function_name(&tool.name);
            // Two tools whose names differ only in signs cannot be told apart: the first one is meant.
            if name == FIND || tools.contains_key(&name) {
                continue;
            }
            if ALWAYS.contains(&tool.name.as_str()) {
                always.insert(definitions.len());
            }
            let about: String = tool.description.chars().take(MAX_ABOUT).collect();
            definitions.push(ToolDefinition::function(&name, &about, offered(tool.input_schema)));
            let behind = Behind { tool: tool.name, only_looks: tool.is_read_only };
            tools.insert(name, behind);
        }
        let mut all = Self { tools, definitions, offered: always };
        if all.definitions.len() <= FEW {
            all.offered = (0..all.definitions.len()).collect();
        } else {
            let best = all.unoffered(request, BEST);
            all.offer(best);
        }
        all
    }

    /// The tool behind a function.
    pub(super) fn behind(&self, function: &str) -> Option<&Behind> {
        self.tools.get(function)
    }

    /// Whether a model may call a function of that name.
    pub(super) fn is_known(&self, function: &str) -> bool {
        function == FIND || self.tools.contains_key(function)
    }

    /// What is offered now.
    pub(super) fn offered(&self) -> Vec<ToolDefinition> {
        let offered = self.offered.iter().filter_map(|place| self.definitions.get(*place)).cloned();
        let find = (self.offered.len() < self.definitions.len()).then(find_tools);
        offered.chain(find).collect()
    }

    /// The tools that fit a query and are not offered yet, best first.
    pub(super) fn search(&self, query: &str) -> Vec<usize> {
        self.unoffered(query, FOUND)
    }

    /// Offers these too.
    pub(super) fn offer(&mut self, places: impl IntoIterator<Item = usize>) {
        self.offered.extend(places);
    }

    /// What a search found, for the model.
    pub(super) fn describe(&self, places: &[usize]) -> Value {
        let found: Vec<Value> = places
            .iter()
            .filter_map(|place| self.definitions.get(*place)?.function.as_ref())
            .map(|function| json!({ "name": function.name, "description": function.description }))
            .collect();
        json!({ "tools": found })
    }

    fn unoffered(&self, query: &str, most: usize) -> Vec<usize> {
        let text = |definition: &'_ ToolDefinition| {
            let function = definition.function.as_ref();
            let about = function.and_then(|it| it.description.clone()).unwrap_or_default();
            (function.map(|it| it.name.clone()).unwrap_or_default(), about)
        };
        let texts: Vec<(String, String)> = self.definitions.iter().map(text).collect();
        let all = ranked(query, texts.iter().map(|(name, about)| (name.as_str(), about.as_str())));
        all.into_iter().filter(|place| !self.offered.contains(place)).take(most).collect()
    }
}

fn find_tools() -> ToolDefinition {
    let about = "Finds further tools by what they do. Those found can be called afterwards.";
    let query = json!({ "type": "string", "description": "A few words." });
    let schema = json!({
        "type": "object", "properties": { "query": query }, "required": ["query"],
        "additionalProperties": false,
    });
    ToolDefinition::function(FIND, about, schema)
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

    fn names(functions: &Functions) -> Vec<String> {
        functions.offered().into_iter().filter_map(|it| Some(it.function?.name)).collect()
    }

    #[test]
    fn functions_have_names_that_providers_take_and_lead_back_to_their_tools() {
        let listed = vec![tool("db.task.get"), tool("db_task_get"), tool("ü/x"), tool(FIND)];
        let functions = Functions::new(listed, "");

        let tool = |name| functions.behind(name).map(|behind| behind.tool.as_str());
        assert_eq!(tool("db_task_get"), Some("db.task.get"));
        assert_eq!(tool("__x"), Some("ü/x"));
        assert_eq!(functions.offered().len(), 2);
        assert_eq!(tool("db.task.get"), None);
        assert_eq!(tool("delete_everything"), None);
    }

    #[test]
    fn a_tool_looks_because_it_says_so_whatever_its_name() {
        let says = McpTool { is_read_only: true, ..tool("sandbox.get_file") };
        let functions = Functions::new(vec![says, tool("queue.get")], "");

        let only_looks = |name| functions.behind(name).map(|behind| behind.only_looks);
        assert_eq!(only_looks("sandbox_get_file"), Some(true));
        assert_eq!(only_looks("queue_get"), Some(false));
    }

    #[test]
    fn of_many_tools_those_that_fit_are_offered_and_others_can_be_found() {
        let mut listed: Vec<McpTool> = (0..40).map(|n| tool(&format!("filler.n{n}"))).collect();
        listed.extend(["db.task.list", "weather.look_up", "db.task.create", "mail.send"].map(tool));

        let mut functions = Functions::new(listed, "How is the weather?");

        let offered = ["db_task_list", "weather_look_up", "db_task_create", FIND];
        assert_eq!(names(&functions), offered);
        assert!(functions.is_known("mail_send"), "the gateway lists it");
        let found = functions.search("send a mail, and look up the weather");
        assert_eq!(functions.describe(&found)["tools"][0]["name"], "mail_send");
        functions.offer(found);
        assert!(names(&functions).contains(&"mail_send".to_owned()));
    }

    #[test]
    fn a_turn_offers_few_tools_however_many_fit() {
        let listed = (0..100).map(|n| tool(&format!("task.n{n}"))).collect();

        let functions = Functions::new(listed, "tasks");

        assert_eq!(functions.offered().len(), BEST + 1);
    }
}
