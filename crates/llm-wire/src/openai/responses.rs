//! The responses API of OpenAI, on top of the same conversations.
//!
//! Start at [`ResponseRequest`] and [`ResponseView`]; a stream is a sequence of [`ResponseEvent`].
//! Every request is translated to a [`ChatRequest`](super::ChatRequest), so these types hold
//! the common fields and those that must be rejected by name.

mod answer;
mod event;

pub use answer::{
    IncompleteDetails, OutputItem, OutputPart, ResponseFault, ResponseSettings, ResponseStatus,
    ResponseUsage, ResponseView, TokenDetails,
};
pub use event::{ContentPosition, NumberedEvent, ResponseEvent};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Content, Other, is_false, or_default};

/// A response request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseRequest {
    /// Model; the project manager when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Input: text, or a list of items.
    pub input: ResponseInput,
    /// Instructions for this request only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Previous response; its conversation is included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    /// Whether the answer is streamed as events.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub stream: bool,
    /// Whether the answer is stored for `previous_response_id`; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// Metadata of the caller; returned with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// Functions that the model may call.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ResponseTool>,
    /// `auto`, `none`, `required`, or the one function that must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub tool_choice: Option<Value>,
    /// Maximum output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Sampling temperature, 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling probability mass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Text options: `{"format": …, "verbosity": …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub text: Option<Value>,
    /// Reasoning options: `{"effort": …}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub reasoning: Option<Value>,
    /// Other fields of the client; rejected unless known to have no effect.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// Input of a request.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum ResponseInput {
    /// Text of the user.
    Text(String),
    /// Messages, calls of functions and their results, oldest first.
    Items(Vec<InputItem>),
}

impl Default for ResponseInput {
    fn default() -> Self {
        Self::Items(Vec::new())
    }
}

/// One input item.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct InputItem {
    /// `message` when absent; also `function_call`, `function_call_output` and `reasoning`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Role of a message: `user`, `assistant`, `system` or `developer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Content of a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Id of the function call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Name of the called function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// JSON text with the arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// Result of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Content>,
    /// Other fields of the client, such as the item id.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// A function of the caller that the model may call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseTool {
    /// Must be `function`; tools that a provider runs itself are rejected.
    #[serde(rename = "type")]
    pub kind: String,
    /// The function's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub parameters: Option<Value>,
    /// Other fields of the client, such as `strict`.
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
