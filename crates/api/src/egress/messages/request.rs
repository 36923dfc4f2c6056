//! Translates a request of the Messages API to a chat request.
//!
//! Invariant: a field or block that would change the answer and cannot be translated is rejected by name, except those
//! that the module `messages` lists as ignored.

mod content;

use cynode_domain::text::truncate_chars;
use cynode_llm_wire::anthropic::{CountTokens, MessagesRequest, MessagesTool, MessagesToolChoice};
use cynode_llm_wire::openai::{ChatRequest, StreamOptions, ToolDefinition};
use serde_json::{Value, json};

use crate::anthropic_error::AnthropicError;
use content::translate_messages;

/// Quoted names are truncated.
const MAX_QUOTED_CHARS: usize = 60;

/// Translates a request for a message.
pub(super) fn translate(request: MessagesRequest) -> Result<ChatRequest, AnthropicError> {
    if request.max_tokens == 0 {
        return Err(invalid("max_tokens", "must be at least 1"));
    }
    for (field, value) in [("temperature", request.temperature), ("top_p", request.top_p)] {
        if value.is_some_and(|value| !(0.0..=1.0).contains(&value)) {
            return Err(invalid(field, "must be between 0 and 1"));
        }
    }
    let is_streamed = request.stream.unwrap_or_default();
    let stop = request.stop_sequences.filter(|texts| !texts.is_empty());
    let input = CountTokens {
        model: request.model,
        messages: request.messages,
        system: request.system,
        tools: request.tools,
    };
    let mut chat = translate_input(input)?;
    set_tool_choice(&mut chat, request.tool_choice.as_ref())?;
    chat.stream = is_streamed;
    chat.stream_options =
        is_streamed.then(|| StreamOptions { include_usage: true, ..StreamOptions::default() });
    chat.max_completion_tokens = Some(request.max_tokens);
    chat.temperature = request.temperature;
    chat.top_p = request.top_p;
    chat.stop = stop.map(Value::from);
    Ok(chat)
}

/// Translates the part of a request that the model reads.
pub(super) fn translate_input(input: CountTokens) -> Result<ChatRequest, AnthropicError> {
    if input.model.is_empty() {
        return Err(invalid("model", "is empty"));
    }
    let messages = translate_messages(input.system, input.messages)?;
    let tools = input.tools.unwrap_or_default().into_iter().enumerate();
    let tools: Result<Vec<_>, _> = tools.map(|(at, tool)| translate_tool(at, tool)).collect();
    let model = Some(input.model);
    Ok(ChatRequest { model, messages, tools: tools?, ..ChatRequest::default() })
}

fn translate_tool(at: usize, tool: MessagesTool) -> Result<ToolDefinition, AnthropicError> {
    let path = format!("tools[{at}]");
    if let Some(kind) = tool.kind.filter(|kind| kind != "custom") {
        let kind = quote(&kind);
        let message = format!(
            "tools of type {kind} are not supported; describe the tool with name, description and input_schema"
        );
        return Err(invalid(&path, &message));
    }
    if tool.name.is_empty() {
        return Err(invalid(&format!("{path}.name"), "is empty"));
    }
    let Some(schema @ Value::Object(_)) = tool.input_schema else {
        return Err(invalid(&format!("{path}.input_schema"), "must be an object"));
    };
    let description = tool.description;
    let mut definition =
        ToolDefinition::function(&tool.name, description.as_deref().unwrap_or_default(), schema);
    if let Some(function) = definition.function.as_mut().filter(|_| description.is_none()) {
        function.description = None;
    }
    Ok(definition)
}

/// Sets which tool must be called. Without tools the choices `auto` and `none` have no effect.
fn set_tool_choice(
    chat: &mut ChatRequest,
    choice: Option<&MessagesToolChoice>,
) -> Result<(), AnthropicError> {
    use MessagesToolChoice as C;
    let (value, is_single) = match choice {
        None => return Ok(()),
        Some(C::None) => (json!("none"), None),
        Some(C::Auto { disable_parallel_tool_use: single }) => (json!("auto"), *single),
        Some(C::Any { disable_parallel_tool_use: single }) => (json!("required"), *single),
        Some(C::Tool { name, disable_parallel_tool_use: single }) => {
            (forced_choice(chat, name)?, *single)
        }
    };
    if chat.tools.is_empty() {
        if matches!(choice, Some(C::Any { .. })) {
            return Err(invalid("tool_choice", "requires tools"));
        }
        return Ok(());
    }
    chat.tool_choice = Some(value);
    if is_single == Some(true) {
        chat.other.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    Ok(())
}

fn forced_choice(chat: &ChatRequest, name: &str) -> Result<Value, AnthropicError> {
    let is_it = |tool: &&ToolDefinition| tool.function.as_ref().is_some_and(|f| f.name == name);
    let tool = chat.tools.iter().find(is_it).and_then(ToolDefinition::forced);
    tool.ok_or_else(|| invalid("tool_choice.name", &format!("{} is not in tools", quote(name))))
}

/// An error that names the field.
fn invalid(path: &str, message: &str) -> AnthropicError {
    AnthropicError::invalid(format!("{path}: {message}"))
}

/// Quotes a name of the client, redacted and truncated.
fn quote(name: &str) -> String {
    let name = cynode_runtime::redact::redact(name);
    format!("\"{}\"", truncate_chars(&name, MAX_QUOTED_CHARS))
}

#[cfg(test)]
mod tests;
