//! Estimates tokens: four bytes of text for one token, a fixed number for an image.
//!
//! The estimate is for agents that plan their context. Budgets use the provider's usage, or an estimate of their own that
//! errs on the high side.

use cynode_llm_wire::openai::{ChatMessage, ChatRequest, Content, ToolCall, ToolDefinition};

const BYTES_PER_TOKEN: usize = 4;
/// What Anthropic documents for an image that is not scaled down.
const TOKENS_PER_IMAGE: u64 = 1600;

/// The tokens of a text with so many bytes.
pub(super) fn tokens_for_bytes(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

/// The tokens of messages and tools.
pub(super) fn request_tokens(request: &ChatRequest) -> u64 {
    let bytes = request.messages.iter().map(message_bytes).sum::<usize>()
        + request.tools.iter().map(tool_bytes).sum::<usize>();
    let images = request.messages.iter().map(image_count).sum::<usize>() as u64;
    tokens_for_bytes(bytes).saturating_add(images.saturating_mul(TOKENS_PER_IMAGE))
}

fn message_bytes(message: &ChatMessage) -> usize {
    let text = match &message.content {
        Some(Content::Text(text)) => text.len(),
        Some(Content::Parts(parts)) => {
            parts.iter().filter_map(|part| part.text.as_ref()).map(String::len).sum()
        }
        None => 0,
    };
    text + message.tool_calls.iter().map(call_bytes).sum::<usize>()
}

fn image_count(message: &ChatMessage) -> usize {
    match &message.content {
        Some(Content::Parts(parts)) => parts.iter().filter(|part| part.text.is_none()).count(),
        Some(Content::Text(_)) | None => 0,
    }
}

fn call_bytes(call: &ToolCall) -> usize {
    call.function.as_ref().map_or(0, |function| function.name.len() + function.arguments.len())
}

/// The bytes of name and description, and of the schema as JSON.
fn tool_bytes(tool: &ToolDefinition) -> usize {
    let Some(function) = &tool.function else { return 0 };
    let description = function.description.as_ref().map_or(0, String::len);
    let schema = function.parameters.as_ref().map_or(0, |schema| schema.to_string().len());
    function.name.len() + description + schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_of_messages_are_estimated_from_the_bytes_of_text_calls_and_tools() {
        let mut request: ChatRequest = serde_json::from_value(json!({"messages": [
            {"role": "system", "content": "12345678"},
            {"role": "assistant", "tool_calls": [
                {"id": "a", "function": {"name": "look", "arguments": "{\"a\": 1}"}}
            ]}
        ]}))
        .unwrap();
        assert_eq!(request_tokens(&request), (8_u64 + 12).div_ceil(4));

        request.tools = vec![ToolDefinition::function("look", "1234", json!({ "a": 12345 }))];
        assert_eq!(request_tokens(&request), (8_u64 + 12 + 19).div_ceil(4));

        let image = json!({"role": "user", "content": [
            {"type": "text", "text": "1"}, {"type": "image_url", "image_url": {"url": "data:x"}}
        ]});
        request.messages.push(serde_json::from_value(image).unwrap());
        assert_eq!(request_tokens(&request), (8_u64 + 12 + 19 + 1).div_ceil(4) + 1600);
    }
}
