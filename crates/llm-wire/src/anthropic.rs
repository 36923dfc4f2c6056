//! Anthropic's Messages API, as agents call it.
//!
//! Start at [`MessagesRequest`] and [`MessagesResponse`]; a stream is a sequence of [`MessagesEvent`].
//!
//! Invariant: unknown fields are ignored, because Anthropic's clients send fields of beta features; fields that are
//! named here have the type that Anthropic documents.

mod event;
mod response;

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use event::{MessageEnd, MessagesBlockDelta, MessagesEvent};
pub use response::{
    MessagesBlock, MessagesErrorBody, MessagesErrorDetail, MessagesResponse, MessagesStopReason,
    MessagesUsage, TokenCount,
};

/// `POST /v1/egress/messages`. Fields that are not listed are ignored, also `cache_control`, `thinking`, `top_k` and
/// `metadata`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessagesRequest {
    /// Model, as `provider/model` if several providers offer it.
    pub model: String,
    /// Turns of user and assistant, oldest first.
    pub messages: Vec<MessageParam>,
    /// Maximum output tokens, at least 1.
    pub max_tokens: u64,
    /// System prompt: text, or blocks of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<MessageContent>,
    /// Sampling temperature, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling probability mass, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Texts that end the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Whether the answer is streamed as events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// Tools that the model may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<MessagesTool>>,
    /// Whether and which tool must be called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<MessagesToolChoice>,
}

/// `POST /v1/egress/messages/count_tokens`. Fields that are not listed are ignored.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CountTokens {
    /// Model; the estimate is the same for all.
    pub model: String,
    /// Turns of user and assistant, oldest first.
    pub messages: Vec<MessageParam>,
    /// System prompt: text, or blocks of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<MessageContent>,
    /// Tools that the model may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<MessagesTool>>,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessageParam {
    /// Author of the turn.
    pub role: MessageRole,
    /// Text, or blocks.
    pub content: MessageContent,
}

/// Author of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The client, also with results of tools.
    User,
    /// The model.
    Assistant,
}

/// Content of a turn, of the system prompt or of a tool result: text, or blocks.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum MessageContent {
    /// Text.
    Text(String),
    /// Blocks, in order.
    Blocks(Vec<ContentBlock>),
}

impl<'de> Deserialize<'de> for MessageContent {
    /// Unlike a derived untagged enum, reports the field at fault.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = MessageContent;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or a list of blocks")
            }

            fn visit_str<E>(self, text: &str) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<MessageContent, E> {
                Ok(MessageContent::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, blocks: A) -> Result<MessageContent, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(blocks)).map(MessageContent::Blocks)
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

/// One block of content: `text`, `image`, `tool_use` or `tool_result`. `thinking` and `redacted_thinking` are ignored,
/// every other type is rejected.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ContentBlock {
    /// Type of the block.
    #[serde(rename = "type")]
    pub kind: String,
    /// Text of a `text` block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Image of an `image` block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ImageSource>,
    /// Id of a tool call, in a `tool_use` block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the called tool, in a `tool_use` block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Arguments of the call, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Value>,
    /// Tool call that a `tool_result` block responds to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// Result of the tool: text, or blocks of text and images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion)]
    pub content: Option<MessageContent>,
    /// Whether the tool failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
}

/// Image data, or the address of an image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ImageSource {
    /// `base64` or `url`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Media type of the data, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Data in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A tool of the client. Tools that a provider runs itself are rejected.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct MessagesTool {
    /// `custom` when absent.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name for calls.
    pub name: String,
    /// Description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input_schema: Option<Value>,
}

/// Whether and which tool must be called.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagesToolChoice {
    /// The model decides.
    Auto {
        /// Whether at most one tool may be called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// The model must call a tool.
    Any {
        /// Whether exactly one tool must be called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// The model must call this tool.
    Tool {
        /// Name of the tool.
        name: String,
        /// Whether it must be called exactly once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disable_parallel_tool_use: Option<bool>,
    },
    /// The model must not call a tool.
    None,
}

#[cfg(test)]
mod tests;
