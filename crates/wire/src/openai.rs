//! The chat-completions API of OpenAI: what clients send us, and what we send to models.
//!
//! Start at [`ChatRequest`] and [`ChatCompletion`]; a stream is a sequence of [`ChatChunk`].
//!
//! Invariant: a field that is not named here is kept and written out as it was read, so that a
//! client's `response_format` or `logprobs` reaches a provider that knows it. These are the only
//! requests of this crate that do not refuse unknown fields.

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

/// Fields that this version does not name, passed through untouched.
pub type Other = Map<String, Value>;

/// What is asked of a model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatRequest {
    /// Which model; absent for the default of whoever answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conversation, oldest first.
    pub messages: Vec<ChatMessage>,
    /// Whether the answer comes in pieces.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub stream: bool,
    /// How the pieces come, such as `{"include_usage": true}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_options: Option<StreamOptions>,
    /// The tools that the model may ask for.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolDefinition>,
    /// `auto`, `none`, `required`, or the one function that must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub tool_choice: Option<Value>,
    /// The most tokens of the answer, as older clients say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most tokens of the answer, as newer clients say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_completion_tokens: Option<u64>,
    /// How freely the model chooses, 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The share of probability that the model chooses from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Text that ends the answer: a string or a list of strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub stop: Option<Value>,
    /// What the caller notes about the request, such as its purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// Everything else the client said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatRequest {
    /// The most tokens of the answer, whichever way it was said.
    pub fn token_limit(&self) -> Option<u64> {
        self.max_completion_tokens.or(self.max_tokens)
    }
}

/// How the pieces of an answer come.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StreamOptions {
    /// Whether a last piece says what the answer cost.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_false")]
    pub include_usage: bool,
    /// Everything else the client said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// One message of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatMessage {
    /// Who speaks: `system`, `developer`, `user`, `assistant` or `tool`.
    pub role: String,
    /// What is said; absent or null where the assistant only calls tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The calls that the assistant asked for.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Which call a message of a tool answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// Which of several speakers of the same role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Everything else the client said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatMessage {
    /// A plain text of somebody.
    pub fn text(role: &str, text: impl Into<String>) -> Self {
        Self { role: role.to_owned(), content: Some(Content::Text(text.into())), ..Self::default() }
    }

    /// What a tool answered to a call.
    pub fn tool_result(call: &str, text: impl Into<String>) -> Self {
        Self { tool_call_id: Some(call.to_owned()), ..Self::text("tool", text) }
    }

    /// All that the message says in words; images and the like are left out.
    pub fn plain_text(&self) -> String {
        self.content.as_ref().map(Content::plain_text).unwrap_or_default()
    }
}

/// What a message says: words, or words mixed with other things.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Content {
    /// Only words.
    Text(String),
    /// Words, images and files, in order.
    Parts(Vec<Part>),
}

impl Content {
    /// All that it says in words, parts separated by a line break.
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
    /// The words of a `text` part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the other kinds carry.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// A tool that a model may ask for.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolDefinition {
    /// `function`; newer kinds are passed through.
    #[serde(rename = "type")]
    pub kind: String,
    /// The function, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionDefinition>,
    /// Everything else the client said.
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

/// What a function is for and what it takes.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct FunctionDefinition {
    /// Its name.
    pub name: String,
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

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolCall {
    /// What the result is to be sent back under.
    pub id: String,
    /// `function`; newer kinds are passed through.
    #[serde(rename = "type", default = "function_kind")]
    pub kind: String,
    /// The function and its arguments, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionCall>,
    /// Everything else that was said.
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

/// Which function, and with what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct FunctionCall {
    /// Its name.
    pub name: String,
    /// JSON text as the model wrote it: it may be invalid.
    #[serde(default)]
    pub arguments: String,
}

fn function_kind() -> String {
    "function".to_owned()
}

/// Clients write `null` for what they leave out.
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
