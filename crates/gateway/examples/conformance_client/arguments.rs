//! What to ask of a server: everything it offers, once.

use cynode_gateway::upstream::{Listing, SeenTool};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// One request.
pub(crate) struct Errand {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// The calls that a scenario wishes, or else one of each tool; then every resource and prompt.
pub(crate) fn errands(context: &Value, tools: &[SeenTool], listing: &Listing) -> Vec<Errand> {
    let call = |params: Value| Errand { method: "tools/call", params };
    let mut errands: Vec<Errand> = match context["toolCalls"].as_array() {
        Some(wished) => wished.iter().cloned().map(call).collect(),
        None => tools
            .iter()
            .map(|tool| call(json!({ "name": tool.name, "arguments": arguments(tool, tools) })))
            .collect(),
    };
    let named = |items: &[Box<RawValue>], member: &str, method: &'static str| -> Vec<Errand> {
        let value = |item: &RawValue| serde_json::from_str::<Value>(item.get()).ok();
        let items = items.iter().filter_map(|item| Some(value(item)?[member].clone()));
        items.map(|name| Errand { method, params: json!({ member: name }) }).collect()
    };
    errands.extend(named(&listing.resources, "uri", "resources/read"));
    errands.extend(named(&listing.prompts, "name", "prompts/get"));
    errands
}

/// Something for each argument that the tool needs.
fn arguments(tool: &SeenTool, tools: &[SeenTool]) -> Map<String, Value> {
    let schema = &tool.definition["inputSchema"];
    let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    needed
        .map(|name| {
            let value = match schema["properties"][name]["type"].as_str() {
                Some("integer" | "number") => json!(1),
                Some("boolean") => json!(true),
                Some("array") => json!([]),
                // A scenario wants the schema of its other tool back, to see that nothing of it was lost.
                Some("object") if name == "schema" => other_schema(tool, tools),
                Some("object") => json!({}),
                _ => json!("text"),
            };
            (name.to_owned(), value)
        })
        .collect()
}

fn other_schema(tool: &SeenTool, tools: &[SeenTool]) -> Value {
    let other = tools.iter().find(|other| other.name != tool.name);
    other.map_or_else(|| json!({}), |other| other.definition["inputSchema"].clone())
}
