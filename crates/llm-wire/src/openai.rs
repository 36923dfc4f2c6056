//! The chat-completions API of OpenAI, used for clients and for providers.
//!
//! Start at [`ChatRequest`] and [`ChatCompletion`]; a stream is a sequence of [`ChatChunk`].
//!
//! Invariant: unknown fields are preserved, so that a client's `response_format` or `logprobs` reaches a provider
//! that supports it. Only these requests and those of `anthropic` accept unknown fields.

mod answer;
mod chunk;
pub mod responses;

pub use answer::{
    AssistantMessage, CREDENTIAL_CODE, ChatCompletion, Choice, ErrorBody, ErrorDetail, ModelEntry,
    ModelList, NO_PROVIDER_CODE, Usage,
};
pub use chunk::{ChatChunk, ChunkChoice, Delta, FunctionDelta, ToolCallDelta};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Unknown fields, passed through unchanged.
pub type Other = Map<String, Value>;

/// A chat completion request.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatRequest {
    /// Model; the server's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Messages, oldest first.
    pub messages: Vec<ChatMessage>,
    /// Whether the answer is streamed.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub stream: bool,
    /// Stream options, such as `{"include_usage": true}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    /// Tools that the model may call.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// `auto`, `none`, `required`, or the one function that must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub tool_choice: Option<Value>,
    /// Maximum output tokens, in the older field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Maximum output tokens, in the newer field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    /// Sampling temperature, 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling probability mass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Stop sequences: a string or a list of strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub stop: Option<Value>,
    /// Metadata of the caller, such as the purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// Other fields of the client.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatRequest {
    /// Maximum output tokens, from either field.
    pub fn token_limit(&self) -> Option<u64> {
        self.max_completion_tokens.or(self.max_tokens)
    }
}

/// Stream options.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StreamOptions {
    /// Whether a last chunk carries the usage.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub include_usage: bool,
    /// Other fields of the client.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// One message of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatMessage {
    /// Role: `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Content; absent or null if the assistant only calls tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Tool calls of the assistant.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Tool call that a `tool` message responds to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Name of the author, to distinguish authors of the same role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Other fields of the client.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatMessage {
    /// A text message.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        Self { role: role.to_owned(), content: Some(Content::Text(text.into())), ..Self::default() }
    }

    /// A tool result.
    pub fn tool_result(call: &str, text: impl Into<String>) -> Self {
        Self { tool_call_id: Some(call.to_owned()), ..Self::text("tool", text) }
    }

    /// Text of the message, without images and other parts.
    pub fn plain_text(&self) -> String {
        self.content.as_ref().map(Content::plain_text).unwrap_or_default()
    }
}

/// Content of a message: text, or parts.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Content {
    /// Text.
    Text(String),
    /// Parts: text, images and files, in order.
    Parts(Vec<Part>),
}

impl Content {
    /// Text, with parts separated by line breaks.
    pub fn plain_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(|p| p.text.as_deref()).collect();
                texts.join("\n")
            }
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// One part of a message.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Part {
    /// `text`, `image_url`, `input_audio`, `file` or `refusal`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Text of a `text` part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Fields of other kinds.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolDefinition {
    /// `function`; newer kinds are passed through.
    #[serde(rename = "type")]
    pub kind: String,
    /// The function, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionDefinition>,
    /// Other fields of the client.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ToolDefinition {
    /// A function with the JSON Schema of its arguments.
    pub fn function(name: &str, description: &str, parameters: Value) -> Self {
        let function = FunctionDefinition {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            parameters: Some(parameters),
            other: Other::new(),
        };
        Self { kind: "function".to_owned(), function: Some(function), other: Other::new() }
    }

    /// The `tool_choice` that forces this function; `None` where it is not one.
    pub fn forced(&self) -> Option<Value> {
        let name = &self.function.as_ref()?.name;
        Some(serde_json::json!({ "type": "function", "function": { "name": name } }))
    }
}

/// Definition of a function.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct FunctionDefinition {
    /// Its name.
    pub name: String,
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

/// A tool call of the model.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolCall {
    /// Id to return the result with.
    pub id: String,
    /// `function`; newer kinds are passed through.
    #[serde(rename = "type", default = "function_kind")]
    pub kind: String,
    /// The function and its arguments, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionCall>,
    /// Other fields.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ToolCall {
    /// A call of a function.
    pub fn function(id: &str, name: &str, arguments: impl Into<String>) -> Self {
        let function = FunctionCall { name: name.to_owned(), arguments: arguments.into() };
        let kind = function_kind();
        Self { id: id.to_owned(), kind, function: Some(function), other: Other::new() }
    }
}

/// A function call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct FunctionCall {
    /// Its name.
    pub name: String,
    /// JSON text of the model; it may be invalid.
    #[serde(default)]
    pub arguments: String,
}

fn function_kind() -> String {
    "function".to_owned()
}

/// Accepts `null` as absent, because clients send it.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
