//! Cost estimates: the maximum before a call, and the actual cost if the provider reports no usage.
//!
//! Invariant: estimates err on the high side, so that a budget holds.

use cynode_llm_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, ChatMessage, ChatRequest, Content, Delta, Part,
    ToolCall, ToolDefinition, Usage,
};
use cynode_wire::providers::Price;
use serde_json::Value;

use super::prices::{cost_micro_usd, is_free};

/// English has four letters per token; source code and other languages have fewer.
const BYTES_PER_TOKEN: usize = 3;
/// Overhead that providers add to each message.
const TOKENS_PER_MESSAGE: u64 = 8;
/// For an image, audio or file, whose tokens cannot be derived from its size.
const TOKENS_PER_ATTACHMENT: u64 = 2000;
/// Assumed answer length if the request sets no limit.
const DEFAULT_ANSWER_TOKENS: u64 = 4096;

/// The price of a model and the size of a request to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CostEstimate {
    price: Option<Price>,
    input_tokens: u64,
    /// Upper bound for the answer.
    output_tokens: u64,
}

impl CostEstimate {
    /// Estimates the tokens of `request`. Skipped if the price is unknown or zero.
    pub(super) fn new(price: Option<Price>, request: &ChatRequest) -> Self {
        if price.is_none() || is_free(price) {
            return Self { price, input_tokens: 0, output_tokens: 0 };
        }
        let alternatives = request.other.get("n").and_then(Value::as_u64).unwrap_or(1).max(1);
        let answer = request.token_limit().unwrap_or(DEFAULT_ANSWER_TOKENS);
        let output_tokens = answer.saturating_mul(alternatives);
        Self { price, input_tokens: request_tokens(request), output_tokens }
    }

    /// Returns whether the call is known to be free.
    pub(super) fn is_free(&self) -> bool {
        is_free(self.price)
    }

    /// Returns the cost of the reported usage in millionths of a US dollar; `None` if the price is
    /// unknown.
    pub(super) fn cost_of_usage(&self, usage: &Usage) -> Option<i64> {
        self.price.map(|price| cost_micro_usd(price, usage))
    }

    /// Returns the maximum cost.
    pub(super) fn max_cost(&self) -> Option<i64> {
        self.cost_of_usage(&Usage::new(self.input_tokens, self.output_tokens))
    }

    /// Returns the cost after `bytes` of an answer.
    pub(super) fn cost_after_bytes(&self, bytes: usize) -> Option<i64> {
        self.cost_of_usage(&Usage::new(self.input_tokens, tokens_for_bytes(bytes)))
    }
}

fn tokens_for_bytes(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

/// Estimates the tokens of a request.
fn request_tokens(request: &ChatRequest) -> u64 {
    let bytes = request.messages.iter().map(message_bytes).sum::<usize>()
        + request.tools.iter().map(tool_definition_bytes).sum::<usize>()
        + request.other.values().map(value_text_bytes).sum::<usize>();
    let attachments = request.messages.iter().map(attachments).sum::<usize>() as u64;
    let messages = request.messages.len() as u64;
    tokens_for_bytes(bytes) + messages * TOKENS_PER_MESSAGE + attachments * TOKENS_PER_ATTACHMENT
}

fn message_bytes(message: &ChatMessage) -> usize {
    let said = match &message.content {
        Some(Content::Text(text)) => text.len(),
        Some(Content::Parts(parts)) => {
            parts.iter().filter_map(|p| p.text.as_ref()).map(String::len).sum()
        }
        None => 0,
    };
    let others = message.other.values().map(value_text_bytes).sum::<usize>();
    said + others + message.tool_calls.iter().map(tool_call_bytes).sum::<usize>()
}

fn attachments(message: &ChatMessage) -> usize {
    let Some(Content::Parts(parts)) = &message.content else { return 0 };
    parts.iter().filter(|part: &&Part| part.text.is_none()).count()
}

fn tool_call_bytes(call: &ToolCall) -> usize {
    call.function.as_ref().map_or(0, |function| function.name.len() + function.arguments.len())
}

fn tool_definition_bytes(tool: &ToolDefinition) -> usize {
    let others = tool.other.values().map(value_text_bytes).sum::<usize>();
    others
        + tool.function.as_ref().map_or(0, |function| {
            let description = function.description.as_ref().map_or(0, String::len);
            let parameters = function.parameters.as_ref().map_or(0, value_text_bytes);
            function.name.len() + description + parameters
        })
}

/// Counts the bytes of all strings in a value, field names included; embedded images and audio do
/// not count.
fn value_text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) if text.starts_with("data:") => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_text_bytes).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + value_text_bytes(field)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

/// Counts the text bytes of a chunk.
pub(super) fn chunk_bytes(chunk: &ChatChunk) -> usize {
    chunk.choices.iter().map(|choice| delta_bytes(&choice.delta)).sum()
}

fn delta_bytes(delta: &Delta) -> usize {
    let long = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let calls = delta.tool_calls.iter().filter_map(|call| call.function.as_ref());
    long(&delta.content)
        + long(&delta.refusal)
        + calls.map(|call| long(&call.name) + long(&call.arguments)).sum::<usize>()
        + delta.other.values().map(value_text_bytes).sum::<usize>()
}

/// Counts the text bytes of a complete answer.
pub(super) fn completion_bytes(answer: &ChatCompletion) -> usize {
    let message = |message: &AssistantMessage| {
        message.content.as_ref().map_or(0, String::len)
            + message.tool_calls.iter().map(tool_call_bytes).sum::<usize>()
            + message.other.values().map(value_text_bytes).sum::<usize>()
    };
    answer.choices.iter().map(|choice| message(&choice.message)).sum()
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::FunctionDelta;
    use cynode_llm_wire::openai::ToolCallDelta;
    use serde_json::json;

    use super::*;

    const PRICE: Option<Price> = Some(Price { input: 1.0, output: 10.0 });

    fn request(body: Value) -> ChatRequest {
        serde_json::from_value(body).unwrap()
    }

    fn most(body: Value) -> Option<i64> {
        CostEstimate::new(PRICE, &request(body)).max_cost()
    }

    #[test]
    fn the_most_that_a_call_may_cost_is_its_question_and_its_longest_answer() {
        let ask = |other: Value| {
            let mut body = json!({"messages": [{"role": "user", "content": "x".repeat(300)}]});
            body.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
            most(body)
        };

        assert_eq!(ask(json!({})), Some(108 + 40_960));
        assert_eq!(ask(json!({"max_tokens": 50})), Some(108 + 500));
        assert_eq!(ask(json!({"max_completion_tokens": 5, "max_tokens": 50})), Some(108 + 50));
        // The field `n` itself is part of the request.
        assert_eq!(ask(json!({"max_tokens": 50, "n": 3})), Some(109 + 1500));
        let endless = ask(json!({"max_tokens": u64::MAX, "n": 3}));
        assert_eq!(endless, Some(109 + 10 * i64::from(u32::MAX)));
    }

    #[test]
    fn tools_calls_and_attachments_are_part_of_a_question() {
        let image = json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", "A".repeat(9_000_000))}});
        let words = json!({"type": "text", "text": "what is this?"});
        let with_image = most(
            json!({"max_tokens": 0, "messages": [{"role": "user", "content": [image, words]}]}),
        );
        let with_tool = most(json!({"max_tokens": 0, "messages": [
            {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "find", "arguments": "x".repeat(596)}}]},
        ], "tools": [{"type": "function", "function": {"name": "find", "description": "d".repeat(296)}}]}));

        assert_eq!(with_image, Some(2000 + 8 + 5));
        assert_eq!(with_tool, Some(8 + 300));
    }

    #[test]
    fn what_was_said_costs_also_if_nobody_counted_it() {
        let tariff = CostEstimate::new(
            PRICE,
            &request(json!({"messages": [{"role": "user", "content": "hi!"}]})),
        );
        let function =
            FunctionDelta { name: Some("f".to_owned()), arguments: Some("{}".to_owned()) };
        let call = ToolCallDelta { function: Some(function), ..ToolCallDelta::default() };
        let chunk = ChatChunk::new(Delta { tool_calls: vec![call], ..Delta::text("abc") }, None);

        assert_eq!(chunk_bytes(&chunk), 6);
        assert_eq!(tariff.cost_after_bytes(6), Some(9 + 20));
        assert_eq!(tariff.cost_after_bytes(0), Some(9));
    }

    #[test]
    fn a_call_without_a_price_has_no_cost_and_a_free_one_costs_nothing() {
        let hello = request(json!({"messages": [{"role": "user", "content": "hello"}]}));
        let free = CostEstimate::new(Some(Price { input: 0.0, output: 0.0 }), &hello);

        assert_eq!(CostEstimate::new(None, &hello).max_cost(), None);
        assert!(
            free.is_free() && free.max_cost() == Some(0) && free.cost_after_bytes(99) == Some(0)
        );
    }
}
