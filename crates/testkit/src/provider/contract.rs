//! How a model server handles structured-output requests.
//!
//! Servers differ: some ignore parameters they do not support, and only the response shows it. A scripted
//! provider enforces one of these contracts on every scripted response, and answers probes itself.

use cynode_schema::CompiledSchema;
use serde_json::{Map, Value, json};

use super::scripted_response::{Answer, ResponseKind};

/// Name of the function or schema in a probe.
const PROBE: &str = "cynode_probe";
/// The response to a probe whose constraint is ignored.
const UNBOUND: &str = "Hello! How can I help you today?";

/// Constraints that a server enforces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StructuredOutputContract {
    /// A forced function, named or `"required"`. `response_format` is ignored.
    #[default]
    ForcedTools,
    /// Like llama.cpp with a template whose calls it cannot parse: `tool_choice` as an object is ignored and
    /// the call is written as text, `"required"` runs to the token limit, and `json_schema` is enforced.
    LlamaCpp,
    /// None: the model answers in prose.
    ProseOnly,
}

/// The constraint in a request.
enum OutputConstraint<'a> {
    Function,
    Required,
    Schema(&'a Value),
    Nothing,
}

fn output_constraint(body: &Value) -> OutputConstraint<'_> {
    let format = &body["response_format"];
    if format["type"] == "json_schema" {
        return OutputConstraint::Schema(&format["json_schema"]["schema"]);
    }
    let choice = &body["tool_choice"];
    if choice.is_object() {
        OutputConstraint::Function
    } else if choice == "required" {
        OutputConstraint::Required
    } else {
        OutputConstraint::Nothing
    }
}

/// Whether a request is a capability probe.
pub(super) fn is_probe(body: &Value) -> bool {
    body["tools"][0]["function"]["name"] == PROBE
        || body["response_format"]["json_schema"]["name"] == PROBE
}

impl StructuredOutputContract {
    /// The response to a probe.
    pub(super) fn probe_response(self, body: &Value) -> Answer {
        let value = |schema: &Value| sample_value(schema);
        let parameters = &body["tools"][0]["function"]["parameters"];
        match (self, output_constraint(body)) {
            (Self::ForcedTools, OutputConstraint::Function | OutputConstraint::Required) => {
                Answer::tool_call(PROBE, value(parameters))
            }
            (Self::LlamaCpp, OutputConstraint::Schema(schema)) => {
                Answer::text(&value(schema).to_string())
            }
            (Self::LlamaCpp, OutputConstraint::Function) => {
                Answer::text(&written_tool_call(PROBE, &value(parameters).to_string()))
            }
            (Self::LlamaCpp, OutputConstraint::Required) => {
                Answer::truncated(&written_tool_call(PROBE, &value(parameters).to_string()))
            }
            _ => Answer::text(UNBOUND),
        }
    }

    /// The scripted response as this server would return it.
    pub(super) fn enforce(self, body: &Value, mut answer: Answer) -> Answer {
        let ResponseKind::Message(message) = &mut answer.kind else { return answer };
        let call = message.calls.first().cloned();
        match (self, output_constraint(body), call) {
            (Self::LlamaCpp, OutputConstraint::Schema(schema), call) => {
                let text = call.map_or_else(|| message.text(), |(_, arguments)| arguments);
                let value: Value = serde_json::from_str(&text).unwrap_or_default();
                if !CompiledSchema::compile(schema).is_ok_and(|schema| schema.is_valid(&value)) {
                    let why = format!("the grammar does not allow {text}");
                    return Answer::status(400, &why);
                }
                message.calls.clear();
                message.chunks = text.split_inclusive(' ').map(str::to_owned).collect();
                answer
            }
            (Self::LlamaCpp | Self::ProseOnly, bound, Some((name, arguments))) => {
                message.is_cut_short =
                    matches!(bound, OutputConstraint::Required) && self == Self::LlamaCpp;
                message.calls.clear();
                message.chunks = vec![written_tool_call(&name, &arguments)];
                answer
            }
            (Self::ForcedTools, _, _) | (Self::LlamaCpp | Self::ProseOnly, _, None) => answer,
        }
    }
}

/// A tool call as a small model writes it in text, with the braces of its template doubled.
fn written_tool_call(name: &str, arguments: &str) -> String {
    format!("{{{{\"name\": \"{name}\", \"arguments\": {arguments}}}}}")
}

/// A value that is valid for a probe's schema.
fn sample_value(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(
                fields
                    .map(|(name, field)| (name.clone(), sample_value(field)))
                    .collect::<Map<_, _>>(),
            )
        }
        Some("integer") => schema["minimum"].clone(),
        Some("boolean") => json!(true),
        _ => json!("text"),
    }
}
