//! Translates the turns of a conversation and their blocks.

use cynode_llm_wire::anthropic::{
    ContentBlock, ImageSource, MessageContent, MessageParam, MessageRole,
};
use cynode_llm_wire::openai::{ChatMessage, Content, Other, Part, ToolCall};
use serde_json::{Value, json};

use super::{invalid, quote};
use crate::anthropic_error::AnthropicError;

/// Media types that every provider with vision reads.
const IMAGE_TYPES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];
/// Precedes the result of a failed tool; the chat format has no field for it.
const TOOL_FAILED: &str = "Error: ";

/// Translates the system prompt and the turns. A turn without content, for example with thinking only, is left out.
pub(super) fn translate_messages(
    system: Option<MessageContent>,
    turns: Vec<MessageParam>,
) -> Result<Vec<ChatMessage>, AnthropicError> {
    let mut messages = Vec::new();
    if let Some(system) = system {
        let text = join_texts(text_parts(system, "system")?);
        messages.extend((!text.is_empty()).then(|| ChatMessage::text("system", text)));
    }
    let before = messages.len();
    for (at, turn) in turns.into_iter().enumerate() {
        let path = format!("messages[{at}].content");
        match turn.role {
            MessageRole::User => push_user_turn(&mut messages, turn.content, &path)?,
            MessageRole::Assistant => {
                messages.extend(assistant_message(turn.content, &path)?);
            }
        }
    }
    if messages.len() == before {
        return Err(invalid("messages", "at least one message with content is required"));
    }
    Ok(messages)
}

/// Appends the results of tools, then a message with the text and images of the user. Images in results follow there too,
/// because many providers accept only text from tools.
fn push_user_turn(
    messages: &mut Vec<ChatMessage>,
    content: MessageContent,
    path: &str,
) -> Result<(), AnthropicError> {
    let mut parts = Vec::new();
    for (block, path) in into_blocks(content, path) {
        match block.kind.as_str() {
            "text" => parts.push(text_part(require(block.text, &path, "text")?)),
            "image" => parts.push(image_part(block.source, &path)?),
            "tool_result" => {
                let call = require(block.tool_use_id, &path, "tool_use_id")?;
                let is_error = block.is_error.unwrap_or_default();
                let (text, images) = tool_result(block.content, is_error, &path)?;
                messages.push(ChatMessage::tool_result(&call, text));
                if !images.is_empty() {
                    parts.push(text_part(format!("Images of the tool result {call}:")));
                    parts.extend(images);
                }
            }
            "thinking" | "redacted_thinking" => {}
            kind => return Err(unsupported_block(kind, "a user message", &path)),
        }
    }
    messages.extend(
        into_content(parts)
            .map(|content| ChatMessage { content: Some(content), ..ChatMessage::text("user", "") }),
    );
    Ok(())
}

/// The text of a tool result, and its images.
fn tool_result(
    content: Option<MessageContent>,
    is_error: bool,
    path: &str,
) -> Result<(String, Vec<Part>), AnthropicError> {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    let blocks = content.map(|content| into_blocks(content, &format!("{path}.content")));
    for (block, path) in blocks.into_iter().flatten() {
        match block.kind.as_str() {
            "text" => texts.push(text_part(require(block.text, &path, "text")?)),
            "image" => images.push(image_part(block.source, &path)?),
            kind => return Err(unsupported_block(kind, "a tool result", &path)),
        }
    }
    let text = join_texts(texts);
    Ok((if is_error { format!("{TOOL_FAILED}{text}") } else { text }, images))
}

fn assistant_message(
    content: MessageContent,
    path: &str,
) -> Result<Option<ChatMessage>, AnthropicError> {
    let (mut texts, mut tool_calls) = (Vec::new(), Vec::new());
    for (block, path) in into_blocks(content, path) {
        match block.kind.as_str() {
            "text" => texts.push(text_part(require(block.text, &path, "text")?)),
            "tool_use" => tool_calls.push(tool_call(block, &path)?),
            "thinking" | "redacted_thinking" => {}
            kind => return Err(unsupported_block(kind, "an assistant message", &path)),
        }
    }
    let content = into_content(texts);
    if content.is_none() && tool_calls.is_empty() {
        return Ok(None);
    }
    let role = "assistant".to_owned();
    Ok(Some(ChatMessage { role, content, tool_calls, ..ChatMessage::default() }))
}

fn tool_call(block: ContentBlock, path: &str) -> Result<ToolCall, AnthropicError> {
    let id = require(block.id, path, "id")?;
    let name = require(block.name, path, "name")?;
    let Some(input @ Value::Object(_)) = block.input else {
        return Err(invalid(&format!("{path}.input"), "must be an object"));
    };
    Ok(ToolCall::function(&id, &name, input.to_string()))
}

/// Blocks with their paths; text is one block.
fn into_blocks(
    content: MessageContent,
    path: &str,
) -> impl Iterator<Item = (ContentBlock, String)> + use<> {
    let blocks = match content {
        MessageContent::Text(text) => {
            let kind = "text".to_owned();
            vec![ContentBlock { kind, text: Some(text), ..ContentBlock::default() }]
        }
        MessageContent::Blocks(blocks) => blocks,
    };
    let path = path.to_owned();
    blocks.into_iter().enumerate().map(move |(at, block)| (block, format!("{path}[{at}]")))
}

fn text_parts(content: MessageContent, path: &str) -> Result<Vec<Part>, AnthropicError> {
    into_blocks(content, path)
        .map(|(block, path)| match block.kind.as_str() {
            "text" => Ok(text_part(require(block.text, &path, "text")?)),
            kind => Err(unsupported_block(kind, "the system prompt", &path)),
        })
        .collect()
}

fn text_part(text: String) -> Part {
    Part { kind: "text".to_owned(), text: Some(text), other: Other::new() }
}

fn image_part(source: Option<ImageSource>, path: &str) -> Result<Part, AnthropicError> {
    let source = require(source, path, "source")?;
    let path = format!("{path}.source");
    let url = match source.kind.as_str() {
        "base64" => {
            let media_type = require(source.media_type, &path, "media_type")?;
            if !IMAGE_TYPES.contains(&media_type.as_str()) {
                let message = format!("must be one of {}", IMAGE_TYPES.join(", "));
                return Err(invalid(&format!("{path}.media_type"), &message));
            }
            let data = require(source.data, &path, "data")?;
            // Image data is not scanned for secrets, so nothing else may pass as such.
            if data.is_empty() || !data.bytes().all(is_base64) {
                return Err(invalid(&format!("{path}.data"), "is not base64"));
            }
            format!("data:{media_type};base64,{data}")
        }
        "url" => {
            let url = require(source.url, &path, "url")?;
            if !url.starts_with("https://") && !url.starts_with("http://") {
                return Err(invalid(&format!("{path}.url"), "must start with https://"));
            }
            url
        }
        kind => {
            let message = format!("{} is not supported; use base64 or url", quote(kind));
            return Err(invalid(&format!("{path}.type"), &message));
        }
    };
    let other = Other::from_iter([("image_url".to_owned(), json!({ "url": url }))]);
    Ok(Part { kind: "image_url".to_owned(), text: None, other })
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Text if there are no images, because not every provider accepts parts; `None` if there is no content.
fn into_content(mut parts: Vec<Part>) -> Option<Content> {
    parts.retain(|part| part.text.as_deref() != Some(""));
    if parts.is_empty() {
        return None;
    }
    if parts.iter().any(|part| part.text.is_none()) {
        return Some(Content::Parts(parts));
    }
    Some(Content::Text(join_texts(parts)))
}

fn join_texts(parts: Vec<Part>) -> String {
    let texts: Vec<String> = parts.into_iter().filter_map(|part| part.text).collect();
    texts.join("\n")
}

fn require<T>(value: Option<T>, path: &str, field: &str) -> Result<T, AnthropicError> {
    value.ok_or_else(|| AnthropicError::invalid(format!("{path}.{field} is missing")))
}

fn unsupported_block(kind: &str, place: &str, path: &str) -> AnthropicError {
    let message = format!("blocks of type {} are not supported in {place}", quote(kind));
    invalid(path, &message)
}
