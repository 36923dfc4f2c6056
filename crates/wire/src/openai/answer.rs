//! Answers that come whole: a completion, the list of models, an error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Other, ToolCall, or_default};

/// The answer of a model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ChatCompletion {
    /// The answer's own name.
    #[serde(default)]
    pub id: String,
    /// Always `chat.completion`.
    #[serde(default = "object")]
    pub object: String,
    /// When, in seconds since 1970.
    #[serde(default)]
    pub created: i64,
    /// Which model answered.
    #[serde(default)]
    pub model: String,
    /// The alternatives; one unless more were asked for.
    pub choices: Vec<Choice>,
    /// What it cost, where the provider says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Everything else the provider said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

impl ChatCompletion {
    /// The message of the first alternative.
    pub fn message(&self) -> Option<&AssistantMessage> {
        self.choices.first().map(|choice| &choice.message)
    }

    /// The words of the first alternative; empty where there are none.
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
    /// Its place among the alternatives.
    #[serde(default)]
    pub index: u32,
    /// What the model says.
    pub message: AssistantMessage,
    /// Why it stopped: `stop`, `length`, `tool_calls` or `content_filter`.
    pub finish_reason: Option<String>,
    /// Everything else the provider said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

/// What a model says.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct AssistantMessage {
    /// Always `assistant`.
    #[serde(default = "assistant")]
    pub role: String,
    /// Its words; null where it only calls tools.
    pub content: Option<String>,
    /// Why it does not do what was asked, where it refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// The calls that it asks for.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Everything else the provider said.
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

/// What an answer cost, in tokens.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Usage {
    /// Tokens of the question.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    #[serde(default)]
    pub completion_tokens: u64,
    /// Both.
    #[serde(default)]
    pub total_tokens: u64,
    /// Everything else the provider said, such as cached tokens.
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

/// The models on offer.
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

/// One model on offer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ModelEntry {
    /// What requests name it by.
    pub id: String,
    /// Always `model`.
    #[serde(default = "model")]
    pub object: String,
    /// Since when, in seconds since 1970.
    #[serde(default)]
    pub created: i64,
    /// Who offers it.
    #[serde(default)]
    pub owned_by: String,
    /// Everything else the provider said.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub other: Other,
}

fn model() -> String {
    "model".to_owned()
}

impl ModelEntry {
    /// A model and who offers it.
    pub fn new(id: impl Into<String>, owned_by: impl Into<String>) -> Self {
        Self { id: id.into(), object: model(), owned_by: owned_by.into(), ..Self::default() }
    }
}

/// The code of a refusal for want of any provider of models.
pub const NO_PROVIDER_CODE: &str = "no_provider";

/// The code of the refusal that says that a provider's credential is missing or cannot be used.
pub const CREDENTIAL_CODE: &str = "credential_unusable";

/// Why a request failed, in the shape that OpenAI's clients read.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ErrorDetail {
    /// A sentence for people.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
    /// The class, such as `invalid_request_error`.
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    pub kind: String,
    /// Which field is at fault.
    #[serde(default)]
    pub param: Option<String>,
    /// What programs tell it by, such as `model_not_found`; some servers write a number.
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

    /// The same, naming the field at fault.
    #[must_use]
    pub fn at(mut self, param: &str) -> Self {
        self.error.param = Some(param.to_owned());
        self
    }
}
