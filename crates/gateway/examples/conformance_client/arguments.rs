//! The requests to send: everything that a server offers, once.

use cynode_upstream::ListedTool;
use cynode_upstream::ServerListing;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

pub(crate) struct ConformanceRequest {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// The calls that a scenario requests, or else one of each tool; then every resource and prompt.
pub(crate) fn planned_requests(
    context: &Value,
    tools: &[ListedTool],
    listing: &ServerListing,
) -> Vec<ConformanceRequest> {
    let call = |params: Value| ConformanceRequest { method: "tools/call", params };
    let mut errands: Vec<ConformanceRequest> = match context["toolCalls"].as_array() {
        Some(wished) => wished.iter().cloned().map(call).collect(),
        None => tools
            .iter()
            .map(|tool| call(json!({ "name": tool.name, "arguments": arguments(tool, tools) })))
            .collect(),
    };
    let named = |items: &[Box<RawValue>],
                 member: &str,
                 method: &'static str|
     -> Vec<ConformanceRequest> {
        let value = |item: &RawValue| serde_json::from_str::<Value>(item.get()).ok();
        let items = items.iter().filter_map(|item| Some(value(item)?[member].clone()));
        items.map(|name| ConformanceRequest { method, params: json!({ member: name }) }).collect()
    };
    errands.extend(named(&listing.resources, "uri", "resources/read"));
    errands.extend(named(&listing.prompts, "name", "prompts/get"));
    errands
}

/// A value for each required argument of the tool.
fn arguments(tool: &ListedTool, tools: &[ListedTool]) -> Map<String, Value> {
    let schema = &tool.definition["inputSchema"];
    let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    needed
        .map(|name| {
            let value = match schema["properties"][name]["type"].as_str() {
                Some("integer" | "number") => json!(1),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                // A scenario expects the schema of its other tool back, to check that it was
                // forwarded completely.
                Some("object") if name == "schema" => other_schema(tool, tools),
                Some("object") => json!({}),
                _ => json!("text"),
            };
            (name.to_owned(), value)
        })
        .collect()
}

fn other_schema(tool: &ListedTool, tools: &[ListedTool]) -> Value {
    let other = tools.iter().find(|other| other.name != tool.name);
    other.map_or_else(|| json!({}), |other| other.definition["inputSchema"].clone())
}
