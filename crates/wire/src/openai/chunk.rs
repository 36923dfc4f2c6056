//! Answers that come in pieces.

use serde::{Deserialize, Serialize};

use super::{Other, Usage, or_default};

/// One piece of an answer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatChunk {
    /// The answer's own name, the same in all its pieces.
    #[serde(default)]
    pub id: String,
    /// Always `chat.completion.chunk`.
    #[serde(default = "object")]
    pub object: String,
    /// When the answer began, in seconds since 1970.
    #[serde(default)]
    pub created: i64,
    /// Which model answers.
    #[serde(default)]
    pub model: String,
    /// What is new; empty in the piece that carries the usage.
    #[serde(default)]
    pub choices: Vec<ChunkChoice>,
    /// What the answer cost, in its last piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Everything else the provider said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatChunk {
    /// A piece of the first alternative.
    pub fn of(delta: Delta, finish_reason: Option<String>) -> Self {
        let choice = ChunkChoice { index: 0, delta, finish_reason, other: Other::new() };
        Self { object: object(), choices: vec![choice], ..Self::default() }
    }

    /// The words that this piece adds to the first alternative; empty where there are none.
    pub fn text(&self) -> &str {
        self.choices
            .iter()
            .find(|choice| choice.index == 0)
            .and_then(|choice| choice.delta.content.as_deref())
            .unwrap_or_default()
    }

    /// Why the first alternative ended, in the piece that ends it.
    pub fn finish_reason(&self) -> Option<&str> {
        self.choices.iter().find(|choice| choice.index == 0)?.finish_reason.as_deref()
    }
}

fn object() -> String {
    "chat.completion.chunk".to_owned()
}

/// What a piece adds to one alternative.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChunkChoice {
    /// Which alternative.
    #[serde(default)]
    pub index: u32,
    /// What is added.
    #[serde(default, deserialize_with = "or_default")]
    pub delta: Delta,
    /// Why it stopped, in the piece that ends it; null before.
    #[serde(default)]
    pub finish_reason: Option<String>,
    /// Everything else the provider said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// What is added to a message.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Delta {
    /// Who speaks, in the first piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Words to append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Words to append to the refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Calls of tools, begun or continued.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallDelta>,
    /// Everything else the provider said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl Delta {
    /// Words to append.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Some(text.into()), ..Self::default() }
    }
}

/// The beginning or a further part of a call.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ToolCallDelta {
    /// Which call of the message.
    #[serde(default)]
    pub index: u32,
    /// What the result is sent back under, where the call begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `function`, where the call begins.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What is added to the function and its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<FunctionDelta>,
    /// Everything else the provider said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// What is added to a call of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct FunctionDelta {
    /// Its name, where the call begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// JSON text to append.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
}
