//! Streamed responses.

use serde::{Deserialize, Serialize};

use super::{Other, Usage, or_default};

/// One chunk of a streamed answer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatChunk {
    /// Id of the answer, equal in all chunks.
    #[serde(default)]
    pub id: String,
    /// Always `chat.completion.chunk`.
    #[serde(default = "object")]
    pub object: String,
    /// Start time, in Unix seconds.
    #[serde(default)]
    pub created: i64,
    /// Model that answers.
    #[serde(default)]
    pub model: String,
    /// New content; empty in the chunk with the usage.
    #[serde(default)]
    pub choices: Vec<ChunkChoice>,
    /// Token usage, in the last chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatChunk {
    /// A chunk of the first alternative.
    pub fn new(delta: Delta, finish_reason: Option<String>) -> Self {
        let choice = ChunkChoice { index: 0, delta, finish_reason, other: Other::new() };
        Self { object: object(), choices: vec![choice], ..Self::default() }
    }

    /// Text that this chunk adds to the first alternative, or empty.
    pub fn text(&self) -> &str {
        self.choices
            .iter()
            .find(|choice| choice.index == 0)
            .and_then(|choice| choice.delta.content.as_deref())
            .unwrap_or_default()
    }

    /// Finish reason of the first alternative, in its last chunk.
    pub fn finish_reason(&self) -> Option<&str> {
        self.choices.iter().find(|choice| choice.index == 0)?.finish_reason.as_deref()
    }
}

fn object() -> String {
    "chat.completion.chunk".to_owned()
}

/// Content that a chunk adds to one alternative.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChunkChoice {
    /// Index of the alternative.
    #[serde(default)]
    pub index: u32,
    /// Added content.
    #[serde(default, deserialize_with = "or_default")]
    pub delta: Delta,
    /// Finish reason in the last chunk; null before.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// Content added to a message.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Delta {
    /// Role, in the first chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Text to append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Refusal text to append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Tool calls, started or continued.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallDelta>,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl Delta {
    /// Text to append.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Some(text.into()), ..Self::default() }
    }
}

/// Part of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolCallDelta {
    /// Index of the call in the message.
    #[serde(default)]
    pub index: u32,
    /// Id to return the result with, in the first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `function`, in the first part.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Added function name and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionDelta>,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// Content added to a function call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct FunctionDelta {
    /// Function name, in the first part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// JSON text to append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}
