//! Non-streamed responses: a completion, the list of models, an error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Other, ToolCall, or_default};

/// A chat completion.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatCompletion {
    /// Id of the answer.
    #[serde(default)]
    pub id: String,
    /// Always `chat.completion`.
    #[serde(default = "object")]
    pub object: String,
    /// Creation time, in Unix seconds.
    #[serde(default)]
    pub created: i64,
    /// Model that answered.
    #[serde(default)]
    pub model: String,
    /// Alternatives; one unless more were requested.
    pub choices: Vec<Choice>,
    /// Token usage, if the provider reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatCompletion {
    /// The message of the first alternative.
    pub fn message(&self) -> Option<&AssistantMessage> {
        self.choices.first().map(|choice| &choice.message)
    }

    /// Text of the first alternative, or empty.
    pub fn text(&self) -> &str {
        self.message().and_then(|message| message.content.as_deref()).unwrap_or_default()
    }
}

fn object() -> String {
    "chat.completion".to_owned()
}

/// One alternative of an answer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Choice {
    /// Index of the alternative.
    #[serde(default)]
    pub index: u32,
    /// The message.
    pub message: AssistantMessage,
    /// Finish reason: `stop`, `length`, `tool_calls` or `content_filter`.
    pub finish_reason: Option<String>,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// A message of the model.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct AssistantMessage {
    /// Always `assistant`.
    #[serde(default = "assistant")]
    pub role: String,
    /// Text; null if it only calls tools.
    pub content: Option<String>,
    /// Refusal, if the model refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Tool calls.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl Default for AssistantMessage {
    fn default() -> Self {
        Self {
            role: assistant(),
            content: None,
            refusal: None,
            tool_calls: Vec::new(),
            other: Other::new(),
        }
    }
}

fn assistant() -> String {
    "assistant".to_owned()
}

/// Token usage.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Usage {
    /// Input tokens.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Output tokens.
    #[serde(default)]
    pub completion_tokens: u64,
    /// Total.
    #[serde(default)]
    pub total_tokens: u64,
    /// Other fields of the provider, such as cached tokens.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl Usage {
    /// The usage of a question and its answer.
    pub fn new(prompt_tokens: u64, completion_tokens: u64) -> Self {
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        Self { prompt_tokens, completion_tokens, total_tokens, other: Other::new() }
    }
}

/// List of models.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ModelList {
    /// Always `list`.
    #[serde(default = "list")]
    pub object: String,
    /// One entry for each model.
    pub data: Vec<ModelEntry>,
}

fn list() -> String {
    "list".to_owned()
}

impl From<Vec<ModelEntry>> for ModelList {
    fn from(data: Vec<ModelEntry>) -> Self {
        Self { object: list(), data }
    }
}

/// One model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ModelEntry {
    /// Id for requests.
    pub id: String,
    /// Always `model`.
    #[serde(default = "model")]
    pub object: String,
    /// Creation time, in Unix seconds.
    #[serde(default)]
    pub created: i64,
    /// Owner.
    #[serde(default)]
    pub owned_by: String,
    /// Other fields of the provider.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

fn model() -> String {
    "model".to_owned()
}

impl ModelEntry {
    /// A model of an owner.
    pub fn new(id: impl Into<String>, owned_by: impl Into<String>) -> Self {
        Self { id: id.into(), object: model(), owned_by: owned_by.into(), ..Self::default() }
    }
}

/// Error code if no provider is configured.
pub const NO_PROVIDER_CODE: &str = "no_provider";

/// Error code if a provider's credential is missing or unusable.
pub const CREDENTIAL_CODE: &str = "credential_unusable";

/// An error in OpenAI's format.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// Details of an error.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ErrorDetail {
    /// Message for people.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
    /// The class, such as `invalid_request_error`.
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    pub kind: String,
    /// Invalid field.
    #[serde(default)]
    pub param: Option<String>,
    /// Error code, such as `model_not_found`; some servers send a number.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub code: Option<Value>,
}

impl ErrorBody {
    /// An error with its class and code.
    pub fn new(message: impl Into<String>, kind: &str, code: &str) -> Self {
        let (message, code) = (message.into(), Some(Value::from(code)));
        Self { error: ErrorDetail { message, kind: kind.to_owned(), param: None, code } }
    }

    /// Sets the invalid field.
    #[must_use]
    pub fn with_param(mut self, param: &str) -> Self {
        self.error.param = Some(param.to_owned());
        self
    }
}
