//! A part of a JSON document.

use cynode_wire::tool_calls::{JsonExtract, ToolCall as _};
use serde_json::{Value, json};

use crate::{HandlerError, NetworkUse, ToolHandler, pure_handler};

pub(super) const HANDLER: ToolHandler = ToolHandler {
    name: JsonExtract::NAME,
    title: "Extract from JSON",
    description: "The part of a JSON document, given as text, at a JSON pointer such as /items/0/name.",
    parameters: JsonExtract::input_schema,
    results: &["value", "type"],
    network: NetworkUse::None,
    run: pure_handler!(JsonExtract, run),
};

fn run(inputs: JsonExtract) -> Result<Value, HandlerError> {
    let JsonExtract { document, pointer } = inputs;
    let document: Value = serde_json::from_str(&document)
        .map_err(|error| HandlerError::Inputs(format!("document is not JSON: {error}")))?;
    extract(&document, &pointer)
}

/// The value at a pointer, with its type.
pub(super) fn extract(document: &Value, pointer: &str) -> Result<Value, HandlerError> {
    let missing = || HandlerError::Inputs(format!("the document has nothing at \"{pointer}\""));
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let text = "pointer must be empty or begin with /, such as /items/0".to_owned();
        return Err(HandlerError::Inputs(text));
    }
    let value = document.pointer(pointer).ok_or_else(missing)?;
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    Ok(json!({ "value": value, "type": kind }))
}

#[cfg(test)]
mod tests {
    use super::super::tests::call;
    use super::*;

    #[tokio::test]
    async fn a_pointer_finds_members_items_and_escaped_names() {
        let document = r#"{"items": [{"a/b": 7}, null]}"#;
        let at = |pointer: &str| {
            call("json.extract", json!({ "document": document, "pointer": pointer }))
        };

        assert_eq!(at("/items/0/a~1b").await.unwrap(), json!({ "value": 7, "type": "number" }));
        assert_eq!(at("/items/1").await.unwrap()["type"], "null");
        assert_eq!(at("").await.unwrap()["type"], "object");
        for odd in ["/items/9", "items", "/nothing", "/items/-1"] {
            assert!(at(odd).await.is_err(), "{odd}");
        }
    }
}
