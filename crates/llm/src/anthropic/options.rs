//! Translates OpenAI's request options to the messages API.
//!
//! Invariant: an option that would change the answer and that this API does not support is rejected by
//! name; it is never dropped silently.

use cynode_domain::text::truncate_chars;
use cynode_llm_wire::openai::ChatRequest;
use serde_json::{Map, Value, json};

use crate::ProviderError;

/// Options of the messages API, passed through.
const PASS_THROUGH: &[&str] = &["top_k", "thinking"];
/// Options that are handled elsewhere, or that do not change the content of the answer.
const IGNORED: &[&str] = &[
    "n",
    "parallel_tool_calls",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "user",
];
/// Supported values of `reasoning_effort`.
const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// Adds the options beyond the fields that all providers share.
pub(super) fn add_options(
    request: &ChatRequest,
    body: &mut Map<String, Value>,
) -> Result<(), ProviderError> {
    let mut output = Map::new();
    for (name, value) in &request.other {
        match name.as_str() {
            "response_format" => {
                if let Some(format) = translate_format(value)? {
                    output.insert("format".to_owned(), format);
                }
            }
            "reasoning_effort" if !value.is_null() => {
                output.insert("effort".to_owned(), translate_effort(value)?);
            }
            own if PASS_THROUGH.contains(&own) => {
                body.insert(name.clone(), value.clone());
            }
            harmless if IGNORED.contains(&harmless) => {}
            _ if is_default_value(name, value) => {}
            _ => return Err(unsupported_option(name)),
        }
    }
    if request.other.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        return Err(ProviderError::unsupported("n: this provider returns one choice only"));
    }
    if !output.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(output));
    }
    Ok(())
}

/// Translates `response_format`; none for plain text.
fn translate_format(wanted: &Value) -> Result<Option<Value>, ProviderError> {
    if wanted.is_null() {
        return Ok(None);
    }
    let schema = &wanted["json_schema"]["schema"];
    match wanted["type"].as_str() {
        Some("text") => Ok(None),
        Some("json_schema") if schema.is_object() => {
            Ok(Some(json!({ "type": "json_schema", "schema": schema })))
        }
        Some("json_schema") => {
            Err(ProviderError::unsupported("response_format: json_schema has no schema"))
        }
        // The API has no mode for JSON without a schema.
        _ => Err(ProviderError::unsupported(
            "response_format: this provider supports text and json_schema only",
        )),
    }
}

fn translate_effort(wanted: &Value) -> Result<Value, ProviderError> {
    match wanted.as_str() {
        Some(effort) if EFFORTS.contains(&effort) => Ok(json!(effort)),
        _ => {
            let known = EFFORTS.join(", ");
            Err(ProviderError::unsupported(format!(
                "reasoning_effort: this provider supports {known}"
            )))
        }
    }
}

/// Whether a value equals the default of its option.
fn is_default_value(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => name != "seed" && number.as_f64() == Some(0.0),
        Value::String(word) => name == "verbosity" && word == "medium",
        Value::Array(list) => {
            list.is_empty() || (name == "modalities" && *value == json!(["text"]))
        }
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

fn unsupported_option(name: &str) -> ProviderError {
    let name = truncate_chars(name, 60);
    ProviderError::unsupported(format!("{name}: this provider does not support it; leave it out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added_options(options: &Value) -> Result<Value, ProviderError> {
        let mut request = json!({ "model": "m", "messages": [] });
        request.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let mut body = Map::new();
        add_options(&serde_json::from_value(request).unwrap(), &mut body)?;
        Ok(Value::Object(body))
    }

    #[test]
    fn a_schema_and_an_effort_are_said_in_the_words_of_the_messages_api() {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        let wanted = json!({"name": "n", "strict": true, "schema": schema});

        let body = added_options(&json!({
            "response_format": {"type": "json_schema", "json_schema": wanted},
            "reasoning_effort": "low",
        }));

        let format = json!({"type": "json_schema", "schema": schema});
        assert_eq!(body.unwrap(), json!({"output_config": {"format": format, "effort": "low"}}));
    }

    #[test]
    fn options_that_ask_for_nothing_are_left_out() {
        let body = added_options(&json!({
            "response_format": {"type": "text"}, "logprobs": false, "presence_penalty": 0,
            "frequency_penalty": 0.0, "logit_bias": {}, "verbosity": "medium", "n": 1,
            "modalities": ["text"], "seed": null, "user": "bob", "store": true, "top_k": 3,
        }));

        assert_eq!(body.unwrap(), json!({"top_k": 3}));
    }

    #[test]
    fn options_that_cannot_be_honoured_are_refused_by_name() {
        for (name, value) in [
            ("response_format", json!({"type": "json_object"})),
            ("response_format", json!({"type": "json_schema"})),
            ("response_format", json!("json")),
            ("reasoning_effort", json!("minimal")),
            ("n", json!(2)),
            ("seed", json!(0)),
            ("logprobs", json!(true)),
            ("presence_penalty", json!(0.5)),
            ("logit_bias", json!({"50256": -100})),
            ("verbosity", json!("low")),
            ("modalities", json!(["text", "audio"])),
            ("web_search_options", json!({"search_context_size": "low"})),
            ("something_new", json!("x")),
        ] {
            let refused = added_options(&json!({ name: value })).unwrap_err();

            let ProviderError::Rejected { status: 400, message, .. } = refused else {
                panic!("{name}: {refused:?}");
            };
            assert!(message.starts_with(name), "{message}");
        }
    }
}
