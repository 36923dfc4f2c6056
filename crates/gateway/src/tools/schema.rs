//! Pieces of the schemas of built-in tools.

use serde_json::{Map, Value, json};

/// An object with these members and no others.
#[expect(clippy::needless_pass_by_value, reason = "callers write the members in place")]
pub(super) fn object(required: &[&str], members: Value) -> Value {
    json!({ "type": "object", "properties": members, "required": required, "additionalProperties": false })
}

/// A result with at least these members.
pub(super) fn result(required: &[&str]) -> Value {
    let members: Map<String, Value> =
        required.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    json!({ "type": "object", "properties": members, "required": required })
}

/// An id.
pub(super) fn id(of: &str) -> Value {
    json!({ "type": "string", "format": "uuid", "minLength": 36, "maxLength": 36, "description": format!("The id of the {of}.") })
}

/// Text of a bounded length.
pub(super) fn text(description: &str, max_length: u32) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max_length, "description": description })
}

/// How many items a page holds.
pub(super) fn limit() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": 200, "description": "How many items; 50 when absent." })
}

/// Where a page begins.
pub(super) fn cursor() -> Value {
    text("The next_cursor of the page before; absent for the first page.", 200)
}

/// One of these words.
pub(super) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "type": "string", "enum": words.into_iter().collect::<Vec<_>>() })
}

/// Short texts.
pub(super) fn lines(description: &str) -> Value {
    json!({ "type": "array", "maxItems": 200, "items": { "type": "string", "maxLength": 1024 }, "description": description })
}

/// The name of an agent on a task.
pub(super) fn role() -> Value {
    text("The role of an agent on the task, such as developer or reviewer-2.", 64)
}

/// What makes a repeated message the same.
pub(super) fn key() -> Value {
    text("The same key again is the same message.", 200)
}

/// The id of a work unit.
pub(super) fn unit() -> Value {
    text("The id of a work unit, such as impl:auth.", 100)
}
