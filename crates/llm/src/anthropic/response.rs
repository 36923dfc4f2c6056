//! A whole response of the messages API.

use cynode_llm_wire::openai::{self, AssistantMessage, ChatCompletion, Choice, Other, ToolCall};
use serde::Deserialize;
use serde_json::Value;

/// The response.
#[derive(Debug, Deserialize)]
pub(super) struct AnthropicMessage {
    pub(super) id: String,
    pub(super) model: String,
    #[serde(default)]
    content: Vec<AnthropicBlock>,
    #[serde(default)]
    stop_reason: Option<String>,
    pub(super) usage: AnthropicUsage,
}

/// A content block.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum AnthropicBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    /// Thinking and unknown types.
    #[serde(other)]
    Else,
}

/// Token counts.
#[derive(Debug, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the API names them so")]
pub(super) struct AnthropicUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    pub(super) output_tokens: u64,
}

impl AnthropicUsage {
    /// All input tokens, cached or not.
    pub(super) fn prompt_tokens(&self) -> u64 {
        let created = self.cache_creation_input_tokens.unwrap_or_default();
        let read = self.cache_read_input_tokens.unwrap_or_default();
        self.input_tokens.saturating_add(created).saturating_add(read)
    }
}

/// Maps a stop reason to OpenAI's finish reason.
pub(super) fn finish_reason(stop_reason: &str) -> &'static str {
    match stop_reason {
        "max_tokens" | "model_context_window_exceeded" => "length",
        "tool_use" => "tool_calls",
        "refusal" => "content_filter",
        _ => "stop",
    }
}

impl From<AnthropicMessage> for ChatCompletion {
    fn from(response: AnthropicMessage) -> Self {
        let usage =
            openai::Usage::new(response.usage.prompt_tokens(), response.usage.output_tokens);
        let mut message = AssistantMessage::default();
        for block in response.content {
            match block {
                AnthropicBlock::Text { text } => {
                    message.content.get_or_insert_default().push_str(&text);
                }
                AnthropicBlock::ToolUse { id, name, input } => {
                    message.tool_calls.push(ToolCall::function(&id, &name, input.to_string()));
                }
                AnthropicBlock::Else => {}
            }
        }
        let finish_reason = finish_reason(response.stop_reason.as_deref().unwrap_or_default());
        if finish_reason == "content_filter" {
            message.refusal = Some(message.content.take().unwrap_or_default());
        }
        let finish_reason = Some(finish_reason.to_owned());
        let choice = Choice { index: 0, message, finish_reason, other: Other::new() };
        Self {
            id: response.id,
            object: "chat.completion".to_owned(),
            model: response.model,
            choices: vec![choice],
            usage: Some(usage),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: Value) -> ChatCompletion {
        serde_json::from_value::<AnthropicMessage>(body).unwrap().into()
    }

    #[test]
    fn words_calls_and_cost_are_read() {
        let answer = read(json!({
            "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "toolu_01", "name": "weather", "input": {"city": "Rome"}}
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 90,
                      "cache_creation_input_tokens": null, "output_tokens": 5}
        }));

        assert_eq!(answer.text(), "I will look.");
        let call = ToolCall::function("toolu_01", "weather", "{\"city\":\"Rome\"}");
        assert_eq!(answer.message().unwrap().tool_calls, [call]);
        assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(answer.usage, Some(openai::Usage::new(100, 5)));
    }

    #[test]
    fn a_refusal_is_not_taken_for_an_answer() {
        let answer = read(json!({
            "id": "msg_01", "model": "claude", "content": [{"type": "text", "text": "No."}],
            "stop_reason": "refusal", "usage": {"input_tokens": 1, "output_tokens": 1}
        }));

        assert_eq!(crate::refusal(&answer), Some("No."));
        assert_eq!(answer.text(), "");
    }
}
