//! Responses that are not streamed: a message, a count of tokens, an error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message of the model.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessagesResponse {
    /// Id of the answer; starts with `msg_`.
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Always `assistant`.
    pub role: String,
    /// Model that answered.
    pub model: String,
    /// Text, then calls of tools.
    pub content: Vec<MessagesBlock>,
    /// Why the answer ended; null in the event that starts a stream.
    pub stop_reason: Option<MessagesStopReason>,
    /// The text that ended the answer, if the provider reports it.
    pub stop_sequence: Option<String>,
    /// Token usage.
    pub usage: MessagesUsage,
}

impl MessagesResponse {
    /// A message without content.
    pub fn empty(id: String, model: String, usage: MessagesUsage) -> Self {
        Self {
            id,
            kind: "message".to_owned(),
            role: "assistant".to_owned(),
            model,
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage,
        }
    }
}

/// One block of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagesBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A call of a tool.
    ToolUse {
        /// Id to return the result with.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments, an object. If the model wrote arguments that are not a JSON object, the only field is `invalid_json`
        /// with the text of the model.
        #[schema(value_type = Object)]
        input: Value,
    },
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessagesStopReason {
    /// The answer is complete. Also if a stop sequence ended it and the provider does not report which.
    EndTurn,
    /// The answer has the maximum number of tokens.
    MaxTokens,
    /// A stop sequence ended it.
    StopSequence,
    /// The model calls tools.
    ToolUse,
    /// The model or its provider refuses to answer.
    Refusal,
}

/// Token usage, as the provider reports it; estimated with four bytes per token if it does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessagesUsage {
    /// Input tokens that were not read from a cache.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens that were read from a cache, if the provider reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<u64>,
}

/// Estimated size of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TokenCount {
    /// One token for four bytes of text and tool definitions, 1600 for an image.
    pub input_tokens: u64,
}

/// An error in Anthropic's format.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessagesErrorBody {
    /// Always `error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The error.
    pub error: MessagesErrorDetail,
}

impl MessagesErrorBody {
    /// An error of a class.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        let error = MessagesErrorDetail { kind: kind.to_owned(), message: message.into() };
        Self { kind: "error".to_owned(), error }
    }
}

/// Details of an error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessagesErrorDetail {
    /// The class, such as `invalid_request_error`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Message for people.
    pub message: String,
}
