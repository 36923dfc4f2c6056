//! Answers that come whole.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ResponseRequest, ResponseTool};
use crate::openai::Usage;

/// An answer.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseView {
    /// The answer's own name, `resp_…`.
    pub id: String,
    /// Always `response`.
    pub object: String,
    /// When it began, in seconds since 1970.
    pub created_at: i64,
    /// How far it is.
    pub status: ResponseStatus,
    /// Why it failed.
    pub error: Option<ResponseFault>,
    /// Why it was cut off.
    pub incomplete_details: Option<IncompleteDetails>,
    /// Which model answers.
    pub model: String,
    /// What was said and asked for, in order.
    pub output: Vec<OutputItem>,
    /// What it cost, where the provider says so.
    pub usage: Option<ResponseUsage>,
    /// What the request said, given back.
    #[serde(flatten)]
    pub settings: ResponseSettings,
}

impl ResponseView {
    /// An answer that has just begun.
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

/// How far an answer is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// It comes.
    #[default]
    InProgress,
    /// It is whole.
    Completed,
    /// It was cut off.
    Incomplete,
    /// It failed.
    Failed,
}

/// Why an answer failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseFault {
    /// What programs tell it by.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// Why an answer was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct IncompleteDetails {
    /// `max_output_tokens` or `content_filter`.
    pub reason: String,
}

/// What an answer gives back of its request.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseSettings {
    /// What the model was told before everything else.
    pub instructions: Option<String>,
    /// The answer before it.
    pub previous_response_id: Option<String>,
    /// What the caller noted.
    #[schema(value_type = Object)]
    pub metadata: Value,
    /// Whether the answer can be named later.
    pub store: bool,
    /// The functions on offer.
    pub tools: Vec<ResponseTool>,
    /// Which of them was to be called.
    #[schema(value_type = Object)]
    pub tool_choice: Value,
    /// Whether several may be called at once.
    pub parallel_tool_calls: bool,
    /// The most tokens of the answer.
    pub max_output_tokens: Option<u64>,
    /// How freely the model chooses.
    pub temperature: Option<f64>,
    /// The share of probability that the model chooses from.
    pub top_p: Option<f64>,
    /// The form of the answer.
    #[schema(value_type = Object)]
    pub text: Value,
    /// Always `disabled`: what does not fit is not cut.
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

/// Something that the model said or asks for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputItem {
    /// Words.
    Message {
        /// The item's own name.
        id: String,
        /// How far it is.
        status: ResponseStatus,
        /// Always `assistant`.
        role: String,
        /// The words.
        content: Vec<OutputPart>,
    },
    /// A call of one of the caller's functions.
    FunctionCall {
        /// The item's own name.
        id: String,
        /// What the result is to be sent back under.
        call_id: String,
        /// Which function.
        name: String,
        /// JSON text as the model wrote it: it may be invalid.
        arguments: String,
        /// How far it is.
        status: ResponseStatus,
    },
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutputPart {
    /// Words.
    OutputText {
        /// The words.
        text: String,
        /// Where they come from; nothing is said about it.
        #[schema(value_type = Vec<Object>)]
        annotations: Vec<Value>,
        /// How likely they were; nothing is said about it.
        #[schema(value_type = Vec<Object>)]
        logprobs: Vec<Value>,
    },
    /// Why the model does not do what was asked.
    Refusal {
        /// The words.
        refusal: String,
    },
}

impl OutputPart {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::OutputText { text: text.into(), annotations: Vec::new(), logprobs: Vec::new() }
    }
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ResponseUsage {
    /// Tokens of the question.
    pub input_tokens: u64,
    /// Which of them.
    pub input_tokens_details: TokenDetails,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Which of them.
    pub output_tokens_details: TokenDetails,
    /// Both.
    pub total_tokens: u64,
}

/// Tokens of a special sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TokenDetails {
    /// Tokens of the question that the provider remembered.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens of the answer that the model thought with.
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
