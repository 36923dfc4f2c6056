//! Schemas of the results of built-in tools. Those of arguments are derived from [`cynode_wire::tool_calls`].

use serde_json::{Map, Value, json};

/// A result with at least these members.
pub(super) fn result_schema(required: &[&str]) -> Value {
    let members: Map<String, Value> =
        required.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    json!({ "type": "object", "properties": members, "required": required })
}
