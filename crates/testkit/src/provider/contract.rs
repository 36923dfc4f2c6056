//! What a server of models does with a request for a value of a schema.
//!
//! Servers differ: some ignore what they do not know, and only the answer shows it. A scripted provider
//! enforces one of these contracts on every answer of its script, and answers probes by itself.

use serde_json::{Map, Value, json};

use super::answer::{Answer, What};

/// The name of the function or schema in a probe.
const PROBE: &str = "cynode_probe";
/// What a model says to a probe that does not bind it.
const UNBOUND: &str = "Hello! How can I help you today?";

/// What a server honours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Contract {
    /// A forced function, named or `"required"`. `response_format` is ignored.
    #[default]
    ForcedTools,
    /// As llama.cpp with a template whose calls it cannot parse: `tool_choice` as an object is ignored and
    /// the call is written as text, `"required"` runs to the limit of tokens, and a `json_schema` holds.
    LlamaCpp,
    /// Nothing: the model does what the prompt says, in words.
    WordsOnly,
}

/// What binds the answer of a request.
enum Bound<'a> {
    Function,
    Required,
    Schema(&'a Value),
    Nothing,
}

fn bound(body: &Value) -> Bound<'_> {
    let format = &body["response_format"];
    if format["type"] == "json_schema" {
        return Bound::Schema(&format["json_schema"]["schema"]);
    }
    let choice = &body["tool_choice"];
    if choice.is_object() {
        Bound::Function
    } else if choice == "required" {
        Bound::Required
    } else {
        Bound::Nothing
    }
}

/// Whether a request tries out what binds the model.
pub(super) fn is_probe(body: &Value) -> bool {
    body["tools"][0]["function"]["name"] == PROBE
        || body["response_format"]["json_schema"]["name"] == PROBE
}

impl Contract {
    /// The answer to a probe.
    pub(super) fn probed(self, body: &Value) -> Answer {
        let value = |schema: &Value| sample(schema);
        let parameters = &body["tools"][0]["function"]["parameters"];
        match (self, bound(body)) {
            (Self::ForcedTools, Bound::Function | Bound::Required) => {
                Answer::call(PROBE, value(parameters))
            }
            (Self::LlamaCpp, Bound::Schema(schema)) => Answer::text(&value(schema).to_string()),
            (Self::LlamaCpp, Bound::Function) => {
                Answer::text(&written(PROBE, &value(parameters).to_string()))
            }
            (Self::LlamaCpp, Bound::Required) => {
                Answer::cut_short(&written(PROBE, &value(parameters).to_string()))
            }
            _ => Answer::text(UNBOUND),
        }
    }

    /// An answer of the script as this server would give it.
    pub(super) fn enforced(self, body: &Value, mut answer: Answer) -> Answer {
        let What::Say(said) = &mut answer.what else { return answer };
        let call = said.calls.first().cloned();
        match (self, bound(body), call) {
            (Self::LlamaCpp, Bound::Schema(schema), call) => {
                let text = call.map_or_else(|| said.text(), |(_, arguments)| arguments);
                let value: Value = serde_json::from_str(&text).unwrap_or_default();
                if !jsonschema::is_valid(schema, &value) {
                    let why = format!("a grammar would not let the model say {text}");
                    return Answer::status(400, &why);
                }
                said.calls.clear();
                said.pieces = text.split_inclusive(' ').map(str::to_owned).collect();
                answer
            }
            (Self::LlamaCpp | Self::WordsOnly, bound, Some((name, arguments))) => {
                said.is_cut_short = matches!(bound, Bound::Required) && self == Self::LlamaCpp;
                said.calls.clear();
                said.pieces = vec![written(&name, &arguments)];
                answer
            }
            (Self::ForcedTools, _, _) | (Self::LlamaCpp | Self::WordsOnly, _, None) => answer,
        }
    }
}

/// A call as a small model writes it, with the braces of its template doubled.
fn written(name: &str, arguments: &str) -> String {
    format!("{{{{\"name\": \"{name}\", \"arguments\": {arguments}}}}}")
}

/// A value that fits a schema of a probe.
fn sample(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(
                fields.map(|(name, field)| (name.clone(), sample(field))).collect::<Map<_, _>>(),
            )
        }
        Some("integer") => schema["minimum"].clone(),
        Some("boolean") => json!(true),
        _ => json!("text"),
    }
}
