//! Offers the gateway's tools to a model: those that match the request, and a search for more.
//!
//! Offering every tool costs thousands of tokens per request and confuses small models. A turn starts with the
//! tools for tasks and those that a plan for the conversation selects; `find_tools_definition` adds others.

use std::collections::{BTreeMap, BTreeSet};

use cynode_client::McpTool;
use cynode_llm_wire::openai::ToolDefinition;
use cynode_roles::{PlanMetadata, StepLimit, ToolPlanner, run_planner};
use cynode_wire::tool_calls::{DbTaskCreate, DbTaskGet, DbTaskList, ToolCall as _};
use serde_json::{Value, json};

use crate::model_schema::schema_for_model;

/// The function that searches for tools.
pub(super) const FIND: &str = "find_tools";
/// The longest function name that providers accept.
const MAX_NAME: usize = 64;
/// Up to this number, all tools are offered without ranking.
const UNRANKED_LIMIT: usize = 8;
/// The number of tools offered by rank.
pub(super) const RANKED_LIMIT: StepLimit = StepLimit::clamped(5);
/// The number of tools that one search adds.
const SEARCH_LIMIT: StepLimit = StepLimit::clamped(5);
/// Offered in every turn because most requests need them.
const ALWAYS_OFFERED: [&str; 3] = [DbTaskCreate::NAME, DbTaskGet::NAME, DbTaskList::NAME];
/// The most characters of a tool's description.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// The functions that a model may call; fixed for a turn.
#[derive(Clone)]
pub(super) struct ToolFunctions {
    /// The tool of each function, offered or not.
    tools: BTreeMap<String, FunctionTool>,
    /// In the order of the gateway's list.
    definitions: Vec<ToolDefinition>,
    /// Indices of the offered definitions.
    offered: BTreeSet<usize>,
    /// Chooses among the definitions.
    planner: ToolPlanner,
}

/// The tool of a function.
#[derive(Clone)]
pub(super) struct FunctionTool {
    /// The name of the tool in the gateway.
    pub(super) tool: String,
    /// Whether it is marked as read-only; other tools count as changes.
    pub(super) is_read_only: bool,
}

impl ToolFunctions {
    /// Maps the gateway's tools to functions and offers those that a plan for `goal` selects.
    pub(super) async fn plan(listed: Vec<McpTool>, goal: &str, metadata: &PlanMetadata) -> Self {
        let mut all = Self::index(listed);
        all.offer_planned(goal, metadata).await;
        all
    }

    /// Offers the tools that a plan for `goal` selects, or all if they are few.
    async fn offer_planned(&mut self, goal: &str, metadata: &PlanMetadata) {
        if self.definitions.len() <= UNRANKED_LIMIT {
            self.offered = (0..self.definitions.len()).collect();
        }
        let mut planner = self.planner.clone().without(self.offered.iter().copied());
        let Ok(plan) = run_planner(&mut planner, goal, metadata).await;
        self.offer(plan.steps.into_iter().map(|tool| tool.index));
    }

    /// Maps the gateway's tools to functions and offers those that most requests need.
    fn index(listed: Vec<McpTool>) -> Self {
        let (mut tools, mut definitions) = (BTreeMap::new(), vec![]);
        let mut texts = vec![];
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
            texts.push((tool.name.clone(), about));
            let behind = FunctionTool { tool: tool.name, is_read_only: tool.is_read_only };
            tools.insert(name, behind);
        }
        let texts = texts.iter().map(|(name, about)| (name.as_str(), about.as_str()));
        Self { tools, definitions, offered: always, planner: ToolPlanner::new(texts) }
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
        let planner = self.planner.clone().without(self.offered.iter().copied());
        planner.select(query, SEARCH_LIMIT).into_iter().map(|tool| tool.index).collect()
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
    use cynode_domain::ids::TraceId;
    use cynode_domain::policy::{Principal, allowlist};
    use cynode_domain::trace::{TraceActor, TraceEventKind, TraceStop};
    use cynode_runtime::trace_recorder::TraceRecorder;
    use serde_json::json;

    use super::*;
    use crate::context::estimate_tokens;

    fn metadata() -> PlanMetadata {
        let trace = TraceRecorder::new(TraceId::generate(), TraceActor::ProjectManager);
        PlanMetadata { trace, max_steps: RANKED_LIMIT }
    }

    async fn plan(listed: Vec<McpTool>, goal: &str) -> ToolFunctions {
        ToolFunctions::plan(listed, goal, &metadata()).await
    }

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

    #[tokio::test]
    async fn functions_have_names_that_providers_take_and_lead_back_to_their_tools() {
        let listed = vec![tool("db.task.get"), tool("db_task_get"), tool("ü/x"), tool(FIND)];
        let functions = plan(listed, "").await;

        let tool = |name| functions.tool_of(name).map(|behind| behind.tool.as_str());
        assert_eq!(tool("db_task_get"), Some("db.task.get"));
        assert_eq!(tool("__x"), Some("ü/x"));
        assert_eq!(functions.offered_definitions().len(), 2);
        assert_eq!(tool("db.task.get"), None);
        assert_eq!(tool("delete_everything"), None);
    }

    #[tokio::test]
    async fn a_tool_looks_because_it_says_so_whatever_its_name() {
        let says = McpTool { is_read_only: true, ..tool("sandbox.get_file") };
        let functions = plan(vec![says, tool("queue.get")], "").await;

        let only_looks = |name| functions.tool_of(name).map(|behind| behind.is_read_only);
        assert_eq!(only_looks("sandbox_get_file"), Some(true));
        assert_eq!(only_looks("queue_get"), Some(false));
    }

    #[tokio::test]
    async fn of_many_tools_those_that_fit_are_offered_and_others_can_be_found() {
        let mut listed: Vec<McpTool> = (0..40).map(|n| tool(&format!("filler.n{n}"))).collect();
        listed.extend(["db.task.list", "weather.look_up", "db.task.create", "mail.send"].map(tool));

        let mut functions = plan(listed, "How is the weather?").await;

        let offered = ["db_task_list", "weather_look_up", "db_task_create", FIND];
        assert_eq!(names(&functions), offered);
        assert!(functions.is_known("mail_send"), "the gateway lists it");
        let found = functions.search("send a mail, and look up the weather");
        assert_eq!(functions.describe_tools(&found)["tools"][0]["name"], "mail_send");
        functions.offer(found);
        assert!(names(&functions).contains(&"mail_send".to_owned()));
    }

    #[tokio::test]
    async fn a_turn_offers_few_tools_however_many_fit() {
        let listed = (0..100).map(|n| tool(&format!("task.n{n}"))).collect();

        let functions = plan(listed, "tasks").await;

        assert_eq!(functions.offered_definitions().len(), RANKED_LIMIT.as_usize() + 1);
    }

    #[tokio::test]
    async fn a_goal_without_a_relevant_tool_selects_none_and_the_plan_says_so() {
        let mut listed: Vec<McpTool> = (0..40).map(|n| tool(&format!("filler.n{n}"))).collect();
        listed.push(tool("db.task.create"));
        let metadata = metadata();

        let functions = ToolFunctions::plan(listed, "sing a song", &metadata).await;

        assert_eq!(names(&functions), ["db_task_create", FIND]);
        let events = metadata.trace.take().into_events();
        let kinds: Vec<TraceEventKind> = events.iter().map(|event| event.entry.kind).collect();
        let recorded = [
            TraceEventKind::PlanStarted,
            TraceEventKind::ToolsSelected,
            TraceEventKind::PlanFinished,
        ];
        assert_eq!(kinds, recorded);
        assert_eq!(events[2].entry.stop, Some(TraceStop::NoRelevantTool));
    }

    /// The real catalogue, as the project manager may call it.
    fn catalogue() -> Vec<McpTool> {
        let tools: BTreeMap<String, Value> =
            serde_json::from_str(include_str!("../../../../docs/reference/tool-schemas.json"))
                .unwrap();
        let is_listed = |name: &str| allowlist::is_allowlisted(Principal::PM, name);
        let tool = |(name, tool): (String, Value)| McpTool {
            description: tool["description"].as_str().unwrap().to_owned(),
            input_schema: tool["inputSchema"].clone(),
            is_read_only: false,
            name,
        };
        tools.into_iter().filter(|(name, _)| is_listed(name)).map(tool).collect()
    }

    fn estimate_definition_tokens(definitions: &[ToolDefinition]) -> usize {
        estimate_tokens(&serde_json::to_string(definitions).unwrap())
    }

    #[tokio::test]
    async fn the_tools_of_a_turn_cost_at_most_a_quarter_of_all() {
        let goals = include_str!("../../../roles/tests/corpus/goals-measuring.tsv");
        let goals = goals.lines().filter_map(|line| Some(line.split_once('\t')?.0));
        let indexed = ToolFunctions::index(catalogue());
        let all = estimate_definition_tokens(&indexed.definitions);
        let (mut most, mut sum, mut turns) = (0, 0, 0);
        for goal in goals {
            let mut functions = indexed.clone();
            functions.offer_planned(goal, &metadata()).await;
            let cost = estimate_definition_tokens(&functions.offered_definitions());
            assert!(cost * 4 <= all, "{goal}: {cost} of {all} tokens");
            most = most.max(cost);
            sum += cost;
            turns += 1;
        }
        println!("all {all} tokens; a turn {} on average, {most} at most", sum / turns);
        assert!(turns >= 50);
    }
}
