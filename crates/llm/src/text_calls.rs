//! JSON objects and tool calls in plain model output.
//!
//! Small models often write a tool call as text: in a code block, between `<tool_call>` tags, or with the
//! braces of their template doubled. Start at [`first_json_object`] for one value and at [`parse_tool_calls`] for calls.

use cynode_llm_wire::openai::FunctionCall;
use serde_json::{Map, Value};

/// The most opening braces that are tried without finding an object in one text.
const MAX_TRIES: usize = 256;
/// Markup that may surround a tool call in text.
const MARKUP: [&str; 9] = [
    "<tool_call>",
    "</tool_call>",
    "<tools>",
    "</tools>",
    "<function_call>",
    "</function_call>",
    "```json",
    "```xml",
    "```",
];
/// Prefixes of a text that is a tool call.
const OPENINGS: [&str; 5] = ["{", "```", "<tool_call>", "<tools>", "<function_call>"];

/// Returns the first JSON object in a text, ignoring the surrounding text.
pub fn first_json_object(text: &str) -> Option<Value> {
    scan_objects(text).objects.into_iter().next().map(Value::Object)
}

/// Returns the tool calls a text consists of; none if it holds other text or names an unknown function.
///
/// A call inside prose is not accepted because it may be a quotation.
pub fn parse_tool_calls(text: &str, is_known: impl Fn(&str) -> bool) -> Vec<FunctionCall> {
    let JsonObjectScan { objects, surrounding_text: around } = scan_objects(text);
    let rest = MARKUP.iter().fold(around, |rest, markup| rest.replace(markup, ""));
    if !rest.chars().all(|c| c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | ',')) {
        return vec![];
    }
    let calls: Option<Vec<FunctionCall>> = objects
        .into_iter()
        .map(|object| parse_call(object).filter(|it| is_known(&it.name)))
        .collect();
    calls.unwrap_or_default()
}

/// Whether a text with this prefix may still become a tool call. An empty text may.
pub fn may_be_tool_call(begun: &str) -> bool {
    let begun = begun.trim_start();
    OPENINGS.iter().any(|opening| begun.starts_with(opening) || opening.starts_with(begun))
}

struct JsonObjectScan {
    objects: Vec<Map<String, Value>>,
    /// The text without the objects.
    surrounding_text: String,
}

fn scan_objects(text: &str) -> JsonObjectScan {
    let mut found = JsonObjectScan { objects: vec![], surrounding_text: String::new() };
    let (mut rest, mut tries) = (text, 0);
    while let Some(at) = rest.find('{').filter(|_| tries < MAX_TRIES) {
        let (before, from) = rest.split_at(at);
        found.surrounding_text.push_str(before);
        let mut values = serde_json::Deserializer::from_str(from).into_iter::<Map<String, Value>>();
        let end = if let Some(Ok(object)) = values.next() {
            found.objects.push(object);
            values.byte_offset()
        } else {
            tries += 1;
            found.surrounding_text.push('{');
            1
        };
        rest = from.get(end..).unwrap_or_default();
    }
    found.surrounding_text.push_str(rest);
    found
}

/// Parses a tool call from an object in any of the common shapes.
fn parse_call(mut object: Map<String, Value>) -> Option<FunctionCall> {
    if let Some(Value::Object(inner)) = object.get_mut("function") {
        object = std::mem::take(inner);
    }
    let name = ["name", "function", "tool"].iter().find_map(|key| object.get(*key)?.as_str());
    let name = name?.to_owned();
    let arguments = ["arguments", "parameters"].iter().find_map(|key| object.remove(*key));
    let arguments = match arguments {
        Some(Value::String(text)) => text,
        Some(arguments @ Value::Object(_)) => arguments.to_string(),
        Some(Value::Null) | None => "{}".to_owned(),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => return None,
    };
    Some(FunctionCall { name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed_calls(text: &str) -> Vec<(String, String)> {
        let calls = parse_tool_calls(text, |name| name == "look" || name == "act");
        calls.into_iter().map(|call| (call.name, call.arguments)).collect()
    }

    #[test]
    fn a_call_is_read_however_a_small_model_writes_it() {
        let look = [("look".to_owned(), r#"{"at":"x"}"#.to_owned())];
        for text in [
            r#"{"name": "look", "arguments": {"at": "x"}}"#,
            r#"{{"name": "look", "arguments": {"at": "x"}}}"#,
            "```json\n{\"name\": \"look\", \"arguments\": {\"at\": \"x\"}}\n```",
            "<tool_call>\n{\"name\": \"look\", \"parameters\": {\"at\": \"x\"}}\n</tool_call>",
            r#"{"type": "function", "function": {"name": "look", "arguments": "{\"at\":\"x\"}"}}"#,
            r#" {"tool": "look", "arguments": {"at": "x"}} "#,
        ] {
            assert_eq!(parsed_calls(text), look, "{text}");
        }
        let two = r#"[{"name": "look"}, {"name": "act", "arguments": null}]"#;
        assert_eq!(parsed_calls(two).len(), 2);
    }

    #[test]
    fn what_is_quoted_unknown_or_no_call_is_text() {
        for text in [
            r#"You could call {"name": "look", "arguments": {}} now."#,
            r#"{"name": "delete_everything", "arguments": {}}"#,
            r#"{"name": "look", "arguments": {}} {"name": "delete_everything"}"#,
            r#"{"name": "look", "arguments": [1]}"#,
            r#"{"answer": 42}"#,
            "{ not json",
            "",
        ] {
            assert_eq!(parsed_calls(text), [], "{text}");
        }
    }

    #[test]
    fn the_first_object_is_found_in_prose_and_code_blocks() {
        let value = serde_json::json!({ "a": { "b": "}" } });
        for text in [
            r#"{"a":{"b":"}"}}"#,
            "Here it is:\n```json\n{\"a\": {\"b\": \"}\"}}\n```\nDone {really}.",
            r#"{hm} {{"a": {"b": "}"}}}"#,
        ] {
            assert_eq!(first_json_object(text), Some(value.clone()), "{text}");
        }
        assert_eq!(first_json_object(&"{".repeat(100_000)), None);
        assert_eq!(first_json_object("no braces"), None);
    }

    #[test]
    fn a_text_may_be_a_call_until_it_cannot() {
        for begun in ["", "  ", "{", "``", "```json\n{", "<tool", "\n<tools>{"] {
            assert!(may_be_tool_call(begun), "{begun}");
        }
        for begun in ["Hello", "`code`", "<b>", "The {"] {
            assert!(!may_be_tool_call(begun), "{begun}");
        }
    }
}
