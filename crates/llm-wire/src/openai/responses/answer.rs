//! Non-streamed responses.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ResponseRequest, ResponseTool};
use crate::openai::Usage;

/// A response.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseView {
    /// Response id, `resp_…`.
    pub id: String,
    /// Always `response`.
    pub object: String,
    /// Start time, in Unix seconds.
    pub created_at: i64,
    /// Status.
    pub status: ResponseStatus,
    /// Error of a failed response.
    pub error: Option<ResponseFault>,
    /// Why it is incomplete.
    pub incomplete_details: Option<IncompleteDetails>,
    /// Model that answers.
    pub model: String,
    /// Output items, in order.
    pub output: Vec<OutputItem>,
    /// Token usage, if the provider reports it.
    pub usage: Option<ResponseUsage>,
    /// Settings of the request.
    #[serde(flatten)]
    pub settings: ResponseSettings,
}

impl ResponseView {
    /// A response that has just started.
    pub fn begun(id: String, created_at: i64, model: String, settings: ResponseSettings) -> Self {
        Self {
            id,
            object: "response".to_owned(),
            created_at,
            status: ResponseStatus::InProgress,
            error: None,
            incomplete_details: None,
            model,
            output: Vec::new(),
            usage: None,
            settings,
        }
    }
}

/// Status of a response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// In progress.
    #[default]
    InProgress,
    /// Complete.
    Completed,
    /// Incomplete.
    Incomplete,
    /// Failed.
    Failed,
}

/// Error of a failed response.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseFault {
    /// Error code.
    pub code: String,
    /// Message for people.
    pub message: String,
}

/// Why a response is incomplete.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct IncompleteDetails {
    /// `max_output_tokens` or `content_filter`.
    pub reason: String,
}

/// Request settings that a response repeats.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseSettings {
    /// Instructions.
    pub instructions: Option<String>,
    /// Previous response.
    pub previous_response_id: Option<String>,
    /// Metadata of the caller.
    #[schema(value_type = Object)]
    pub metadata: Value,
    /// Whether the response is stored.
    pub store: bool,
    /// Functions.
    pub tools: Vec<ResponseTool>,
    /// Tool choice.
    #[schema(value_type = Object)]
    pub tool_choice: Value,
    /// Whether parallel calls are allowed.
    pub parallel_tool_calls: bool,
    /// Maximum output tokens.
    pub max_output_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling probability mass.
    pub top_p: Option<f64>,
    /// Text options.
    #[schema(value_type = Object)]
    pub text: Value,
    /// Always `disabled`: input that does not fit is not truncated.
    pub truncation: String,
}

impl From<&ResponseRequest> for ResponseSettings {
    fn from(request: &ResponseRequest) -> Self {
        let in_parallel = request.other.get("parallel_tool_calls").and_then(Value::as_bool);
        Self {
            instructions: request.instructions.clone(),
            previous_response_id: request.previous_response_id.clone(),
            metadata: request.metadata.clone().unwrap_or_else(|| Value::Object(Map::new())),
            store: request.store.unwrap_or(true),
            tools: request.tools.clone(),
            tool_choice: request.tool_choice.clone().unwrap_or_else(|| json!("auto")),
            parallel_tool_calls: in_parallel.unwrap_or(true),
            max_output_tokens: request.max_output_tokens,
            temperature: request.temperature,
            top_p: request.top_p,
            text: request.text.clone().unwrap_or_else(|| json!({"format": {"type": "text"}})),
            truncation: "disabled".to_owned(),
        }
    }
}

/// One output item.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputItem {
    /// Text.
    Message {
        /// Item id.
        id: String,
        /// Status.
        status: ResponseStatus,
        /// Always `assistant`.
        role: String,
        /// The text.
        content: Vec<OutputPart>,
    },
    /// A function call.
    FunctionCall {
        /// Item id.
        id: String,
        /// Id to return the result with.
        call_id: String,
        /// Function name.
        name: String,
        /// JSON text of the model; it may be invalid.
        arguments: String,
        /// Status.
        status: ResponseStatus,
    },
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputPart {
    /// Text.
    OutputText {
        /// The text.
        text: String,
        /// Always empty.
        #[schema(value_type = Vec<Object>)]
        annotations: Vec<Value>,
        /// Always empty.
        #[schema(value_type = Vec<Object>)]
        logprobs: Vec<Value>,
    },
    /// A refusal.
    Refusal {
        /// The text.
        refusal: String,
    },
}

impl OutputPart {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::OutputText { text: text.into(), annotations: Vec::new(), logprobs: Vec::new() }
    }
}

/// Token usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseUsage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Details.
    pub input_tokens_details: TokenDetails,
    /// Output tokens.
    pub output_tokens: u64,
    /// Details.
    pub output_tokens_details: TokenDetails,
    /// Total.
    pub total_tokens: u64,
}

/// Token details.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TokenDetails {
    /// Cached input tokens.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Reasoning tokens.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

impl From<&Usage> for ResponseUsage {
    fn from(usage: &Usage) -> Self {
        let detail = |of: &str, which: &str| {
            usage.other.get(of).and_then(|of| of.get(which)).and_then(Value::as_u64).unwrap_or(0)
        };
        Self {
            input_tokens: usage.prompt_tokens,
            input_tokens_details: TokenDetails {
                cached_tokens: detail("prompt_tokens_details", "cached_tokens"),
                reasoning_tokens: 0,
            },
            output_tokens: usage.completion_tokens,
            output_tokens_details: TokenDetails {
                cached_tokens: 0,
                reasoning_tokens: detail("completion_tokens_details", "reasoning_tokens"),
            },
            total_tokens: usage.total_tokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_fields_that_clients_read() {
        let request = ResponseRequest { temperature: Some(0.5), ..ResponseRequest::default() };
        let mut view = ResponseView::begun("resp_1".into(), 7, "m".into(), (&request).into());
        view.output = vec![
            OutputItem::Message {
                id: "msg_1".into(),
                status: ResponseStatus::Completed,
                role: "assistant".into(),
                content: vec![OutputPart::text("Hello!")],
            },
            OutputItem::FunctionCall {
                id: "fc_1".into(),
                call_id: "call_1".into(),
                name: "f".into(),
                arguments: "{}".into(),
                status: ResponseStatus::InProgress,
            },
        ];

        let body = serde_json::to_value(&view).unwrap();

        assert_eq!(body["object"], "response");
        assert_eq!(body["status"], "in_progress");
        assert_eq!(body["output"][0]["content"][0]["type"], "output_text");
        assert_eq!(body["output"][1]["type"], "function_call");
        assert_eq!(body["temperature"], 0.5);
        assert_eq!(body["error"], Value::Null);
        assert_eq!(serde_json::from_value::<ResponseView>(body).unwrap(), view);
    }

    #[test]
    fn tokens_of_special_sorts_are_told() {
        let usage: Usage = serde_json::from_value(json!({
            "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 4}
        }))
        .unwrap();

        let told = ResponseUsage::from(&usage);

        assert_eq!((told.input_tokens, told.output_tokens, told.total_tokens), (19, 10, 29));
        assert_eq!(told.input_tokens_details.cached_tokens, 8);
        assert_eq!(told.output_tokens_details.reasoning_tokens, 4);
    }
}
