//! The responses API of OpenAI: the newer way of asking, in front of the same conversations.
//!
//! Start at [`ResponseRequest`] and [`ResponseView`]; a stream is a sequence of [`ResponseEvent`].
//! Every request here is answered through a [`ChatRequest`](super::ChatRequest), so these types hold
//! what the two have in common and what must be refused by name.

mod answer;
mod event;

pub use answer::{
    IncompleteDetails, OutputItem, OutputPart, ResponseFault, ResponseSettings, ResponseStatus,
    ResponseUsage, ResponseView, TokenDetails,
};
pub use event::{NumberedEvent, Place, ResponseEvent};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Content, Other, is_false, or_default};

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseRequest {
    /// Which model; the project manager when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is said: words, or a list of items.
    pub input: ResponseInput,
    /// What the model is told before everything else, in this request alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The answer that this one goes on from; its conversation is told again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// Whether the answer comes as events.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub stream: bool,
    /// Whether the answer can be named later; it can when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// What the caller notes about the request; given back with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// The functions that the model may ask for.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ResponseTool>,
    /// `auto`, `none`, `required`, or the one function that must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub tool_choice: Option<Value>,
    /// The most tokens of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// How freely the model chooses, 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The share of probability that the model chooses from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The form of the answer: `{"format": …, "verbosity": …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub text: Option<Value>,
    /// How hard the model thinks: `{"effort": …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub reasoning: Option<Value>,
    /// Everything else the client said; refused unless it is known to change nothing.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// What is said.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum ResponseInput {
    /// The words of the user.
    Text(String),
    /// Messages, calls of functions and their results, oldest first.
    Items(Vec<InputItem>),
}

impl Default for ResponseInput {
    fn default() -> Self {
        Self::Items(Vec::new())
    }
}

/// One item of what is said.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InputItem {
    /// `message` when absent; also `function_call`, `function_call_output` and `reasoning`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Who speaks, in a message: `user`, `assistant`, `system` or `developer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What is said, in a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Which call this is, or answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Which function is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// JSON text with the arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// What the function answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Content>,
    /// Everything else the client said, such as the item's own id.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// A tool that the model may ask for: a function of the caller's.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseTool {
    /// Must be `function`: tools that a provider would run itself are refused.
    #[serde(rename = "type")]
    pub kind: String,
    /// The function's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Value>,
    /// Everything else the client said, such as `strict`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_of_words_and_one_of_items_are_read_and_written_again() {
        for body in [
            json!({"model": "gpt-5", "input": "Tell me a story.", "stream": true}),
            json!({"input": [
                {"role": "user", "content": "What is the weather like in Boston?"},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
                 "arguments": "{\"city\":\"Boston\"}", "status": "completed"},
                {"type": "function_call_output", "call_id": "call_1", "output": "22 degrees"},
                {"type": "message", "role": "user",
                 "content": [{"type": "input_text", "text": "and in Rome?"}]}
            ], "tools": [{"type": "function", "name": "weather", "strict": true,
                          "parameters": {"type": "object"}}],
               "previous_response_id": "resp_1", "store": false, "truncation": "auto"}),
        ] {
            let read: ResponseRequest = serde_json::from_value(body.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), body);
        }
    }

    #[test]
    fn null_means_absent_in_a_request_for_a_response() {
        let read: ResponseRequest = serde_json::from_value(json!({
            "input": "hi", "model": null, "stream": null, "tools": null, "store": null
        }))
        .unwrap();

        assert_eq!(serde_json::to_value(&read).unwrap(), json!({"input": "hi"}));
    }
}
