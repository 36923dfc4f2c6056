//! Translates a chat completion to a message.

use cynode_domain::ids::TraceId;
use cynode_llm_wire::anthropic::{
    MessagesBlock, MessagesResponse, MessagesStopReason, MessagesUsage,
};
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest, Other, Usage};
use serde_json::{Value, json};

use super::token_estimate::{request_tokens, tokens_for_bytes};

/// Field of a choice in which some servers (vLLM) report the stop sequence.
const MATCHED_STOP: &str = "stop_reason";

/// What an answer repeats or needs of its request.
#[derive(Debug, Clone)]
pub(super) struct AnswerContext {
    trace: TraceId,
    model: String,
    stop_sequences: Vec<String>,
    /// Used if the provider reports no usage.
    estimated_input_tokens: u64,
}

impl AnswerContext {
    pub(super) fn new(request: &ChatRequest, trace: TraceId) -> Self {
        let texts = request.stop.as_ref().and_then(Value::as_array).into_iter().flatten();
        Self {
            trace,
            model: request.model.clone().unwrap_or_default(),
            stop_sequences: texts.filter_map(|text| text.as_str().map(str::to_owned)).collect(),
            estimated_input_tokens: request_tokens(request),
        }
    }

    /// A message without content. Its id is the provider's, with the prefix that clients expect.
    pub(super) fn empty_message(&self, id: &str, model: &str) -> MessagesResponse {
        let id = match id {
            "" => format!("msg_{}", self.trace),
            id if id.starts_with("msg_") => id.to_owned(),
            id => format!("msg_{id}"),
        };
        let model = if model.is_empty() { &self.model } else { model };
        MessagesResponse::empty(id, model.to_owned(), self.usage(None, 0))
    }

    /// The usage that the provider reports, or an estimate from the bytes of the answer.
    pub(super) fn usage(&self, reported: Option<&Usage>, answer_bytes: usize) -> MessagesUsage {
        let Some(usage) = reported else {
            return MessagesUsage {
                input_tokens: self.estimated_input_tokens,
                output_tokens: tokens_for_bytes(answer_bytes),
                cache_read_input_tokens: None,
            };
        };
        let details = usage.other.get("prompt_tokens_details");
        let cached = details.and_then(|details| details["cached_tokens"].as_u64());
        MessagesUsage {
            input_tokens: usage.prompt_tokens.saturating_sub(cached.unwrap_or_default()),
            output_tokens: usage.completion_tokens,
            cache_read_input_tokens: cached,
        }
    }

    /// The requested stop sequence that a choice reports.
    pub(super) fn matched_stop(&self, choice: &Other) -> Option<String> {
        let text = choice.get(MATCHED_STOP)?.as_str()?;
        self.stop_sequences.iter().find(|wanted| *wanted == text).cloned()
    }
}

/// Translates a whole answer.
pub(super) fn translate(completion: &ChatCompletion, context: &AnswerContext) -> MessagesResponse {
    let mut response = context.empty_message(&completion.id, &completion.model);
    let Some(choice) = completion.choices.first() else { return response };
    let message = &choice.message;
    let texts = [&message.content, &message.refusal].into_iter().flatten();
    let text: String = texts.map(String::as_str).collect();
    let mut answer_bytes = text.len();
    if !text.is_empty() {
        response.content.push(MessagesBlock::Text { text });
    }
    let functions =
        message.tool_calls.iter().filter_map(|call| Some((call, call.function.as_ref()?)));
    for (at, (call, function)) in functions.enumerate() {
        answer_bytes += function.name.len() + function.arguments.len();
        let id = tool_use_id(&call.id, &response.id, at);
        let (name, input) = (function.name.clone(), parse_arguments(&function.arguments));
        response.content.push(MessagesBlock::ToolUse { id, name, input });
    }
    response.stop_sequence = context.matched_stop(&choice.other);
    response.stop_reason = Some(stop_reason(
        choice.finish_reason.as_deref(),
        !message.tool_calls.is_empty(),
        response.stop_sequence.is_some(),
    ));
    response.usage = context.usage(completion.usage.as_ref(), answer_bytes);
    response
}

/// The id of a call; made from the message and the call's position if the server sends none.
pub(super) fn tool_use_id(id: &str, message_id: &str, at: usize) -> String {
    if !id.is_empty() {
        return id.to_owned();
    }
    format!("toolu_{}_{at}", message_id.trim_start_matches("msg_"))
}

/// The arguments of a call as an object. Text that is not a JSON object, as models write and as a token limit leaves behind,
/// becomes `{"invalid_json": text}`: an empty object could be a valid call that the model did not make, while tools
/// reject an unknown field and the model sees what it wrote.
pub(super) fn parse_arguments(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(arguments) {
        Ok(input @ Value::Object(_)) => input,
        Ok(_) | Err(_) => json!({ "invalid_json": arguments }),
    }
}

/// Translates a finish reason. Some servers report `stop` with tool calls, so the calls decide.
pub(super) fn stop_reason(
    finish_reason: Option<&str>,
    has_calls: bool,
    has_matched_stop: bool,
) -> MessagesStopReason {
    match finish_reason {
        Some("length") => MessagesStopReason::MaxTokens,
        Some("content_filter") => MessagesStopReason::Refusal,
        _ if has_calls => MessagesStopReason::ToolUse,
        _ if has_matched_stop => MessagesStopReason::StopSequence,
        _ => MessagesStopReason::EndTurn,
    }
}

#[cfg(test)]
mod tests;
