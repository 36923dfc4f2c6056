//! Translates a chat request to the messages API.

use cynode_llm_wire::openai::{ChatMessage, ChatRequest, Content, Part, ToolCall, ToolDefinition};
use serde_json::{Map, Value, json};

use super::options;
use crate::ProviderError;

/// The API requires a token limit; every model supports this one.
const DEFAULT_MAX_TOKENS: u64 = 4096;

/// Returns the body of the request.
pub(super) fn translate(request: &ChatRequest, stream: bool) -> Result<Value, ProviderError> {
    let Some(model) = &request.model else {
        return Err(ProviderError::unsupported("the request has no model"));
    };
    let (system, messages) = split_messages(&request.messages)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert(
        "max_tokens".to_owned(),
        json!(request.token_limit().unwrap_or(DEFAULT_MAX_TOKENS)),
    );
    body.insert("messages".to_owned(), messages);
    if !system.is_empty() {
        body.insert("system".to_owned(), json!(system));
    }
    if stream {
        body.insert("stream".to_owned(), json!(true));
    }
    // Anthropic's range ends at 1, OpenAI's at 2.
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature.clamp(0.0, 1.0)));
    }
    if let Some(top_p) = request.top_p {
        body.insert("top_p".to_owned(), json!(top_p));
    }
    if let Some(stop) = &request.stop {
        let list = if stop.is_string() { json!([stop]) } else { stop.clone() };
        body.insert("stop_sequences".to_owned(), list);
    }
    add_tools(request, &mut body)?;
    options::add_options(request, &mut body)?;
    Ok(Value::Object(body))
}

fn add_tools(request: &ChatRequest, body: &mut Map<String, Value>) -> Result<(), ProviderError> {
    if request.tools.is_empty() {
        return Ok(());
    }
    let tools: Result<Vec<Value>, _> = request.tools.iter().map(translate_tool).collect();
    body.insert("tools".to_owned(), Value::from(tools?));
    let is_single = request.other.get("parallel_tool_calls") == Some(&Value::Bool(false));
    let mut choice = match &request.tool_choice {
        Some(choice) => translate_tool_choice(choice)?,
        None if is_single => json!({ "type": "auto" }),
        None => return Ok(()),
    };
    if is_single && choice["type"] != "none" {
        choice["disable_parallel_tool_use"] = json!(true);
    }
    body.insert("tool_choice".to_owned(), choice);
    Ok(())
}

fn translate_tool(tool: &ToolDefinition) -> Result<Value, ProviderError> {
    let Some(function) = &tool.function else {
        let message = format!("this provider does not support tools of type {:?}", tool.kind);
        return Err(ProviderError::unsupported(message));
    };
    let schema = function.parameters.clone().unwrap_or_else(|| json!({ "type": "object" }));
    let mut tool = json!({ "name": function.name, "input_schema": schema });
    if let Some(description) = &function.description {
        tool["description"] = json!(description);
    }
    Ok(tool)
}

fn translate_tool_choice(choice: &Value) -> Result<Value, ProviderError> {
    match (choice.as_str(), choice["function"]["name"].as_str()) {
        (Some("auto"), _) => Ok(json!({ "type": "auto" })),
        (Some("none"), _) => Ok(json!({ "type": "none" })),
        (Some("required"), _) => Ok(json!({ "type": "any" })),
        (_, Some(name)) => Ok(json!({ "type": "tool", "name": name })),
        _ => Err(ProviderError::unsupported("this provider does not support the tool_choice")),
    }
}

/// Splits messages into the system prompt and the turns of user and assistant. Consecutive turns of one side
/// are merged, because the API requires the results of all tool calls in one turn.
fn split_messages(messages: &[ChatMessage]) -> Result<(String, Value), ProviderError> {
    let mut system = Vec::new();
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (side, blocks) = match message.role.as_str() {
            "system" | "developer" => {
                system.push(message.plain_text());
                continue;
            }
            "user" => ("user", content_blocks(message)?),
            "assistant" => ("assistant", assistant_blocks(message)?),
            "tool" => ("user", vec![tool_result_block(message)?]),
            other => {
                let message = format!("this provider does not support the role {other:?}");
                return Err(ProviderError::unsupported(message));
            }
        };
        match turns.last_mut() {
            Some((last, spoken)) if *last == side => spoken.extend(blocks),
            _ => turns.push((side, blocks)),
        }
    }
    turns.retain(|(_, blocks)| !blocks.is_empty());
    let turns: Vec<Value> = turns
        .into_iter()
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect();
    Ok((system.join("\n\n"), Value::from(turns)))
}

fn assistant_blocks(message: &ChatMessage) -> Result<Vec<Value>, ProviderError> {
    let mut blocks = content_blocks(message)?;
    blocks.extend(message.tool_calls.iter().filter_map(tool_use_block));
    Ok(blocks)
}

fn tool_use_block(call: &ToolCall) -> Option<Value> {
    let function = call.function.as_ref()?;
    let input = match serde_json::from_str(&function.arguments) {
        Ok(Value::Object(input)) => Value::Object(input),
        // The API accepts only objects, and a model may have written invalid JSON.
        Ok(_) | Err(_) if !function.arguments.is_empty() => {
            json!({ "invalid_json": function.arguments })
        }
        Ok(_) | Err(_) => json!({}),
    };
    Some(json!({ "type": "tool_use", "id": call.id, "name": function.name, "input": input }))
}

fn tool_result_block(message: &ChatMessage) -> Result<Value, ProviderError> {
    let Some(call) = &message.tool_call_id else {
        return Err(ProviderError::unsupported("a tool message has no tool_call_id"));
    };
    Ok(json!({ "type": "tool_result", "tool_use_id": call, "content": content_blocks(message)? }))
}

/// Translates the content of a message. Empty texts are dropped because the API rejects them.
fn content_blocks(message: &ChatMessage) -> Result<Vec<Value>, ProviderError> {
    match &message.content {
        Some(Content::Text(text)) if !text.is_empty() => {
            Ok(vec![json!({ "type": "text", "text": text })])
        }
        Some(Content::Parts(parts)) => {
            parts.iter().filter(|part| part.text.as_deref() != Some("")).map(part_block).collect()
        }
        Some(Content::Text(_)) | None => Ok(Vec::new()),
    }
}

fn part_block(part: &Part) -> Result<Value, ProviderError> {
    let url = part.other.get("image_url").and_then(|image| image["url"].as_str());
    match (part.kind.as_str(), &part.text, url) {
        ("text", Some(text), _) => Ok(json!({ "type": "text", "text": text })),
        ("image_url", _, Some(url)) => Ok(json!({ "type": "image", "source": image_source(url) })),
        (kind, _, _) => {
            let message = format!("this provider does not support parts of type {kind:?}");
            Err(ProviderError::unsupported(message))
        }
    }
}

fn image_source(url: &str) -> Value {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((kind, data)) => json!({ "type": "base64", "media_type": kind, "data": data }),
        None => json!({ "type": "url", "url": url }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated_body(request: Value) -> Result<Value, ProviderError> {
        translate(&serde_json::from_value(request).unwrap(), false)
    }

    #[test]
    fn a_conversation_with_tools_is_said_in_turns() {
        let body = translated_body(json!({
            "model": "claude",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Weather in Rome and Oslo?"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}},
                    {"id": "b", "type": "function", "function": {"name": "weather", "arguments": "{oops"}}
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "warm"},
                {"role": "tool", "tool_call_id": "b", "content": "cold"},
                {"role": "user", "content": "Thanks."}
            ],
            "tools": [{"type": "function", "function": {"name": "weather", "description": "d",
                       "parameters": {"type": "object"}}}],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
            "parallel_tool_calls": false,
            "max_completion_tokens": 10, "temperature": 1.5, "stop": "END",
            "top_k": 3
        }))
        .unwrap();

        assert_eq!(
            body,
            json!({
                "model": "claude", "max_tokens": 10, "temperature": 1.0, "stop_sequences": ["END"],
                "top_k": 3, "system": "Be brief.",
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "Weather in Rome and Oslo?"}]},
                    {"role": "assistant", "content": [
                        {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Rome"}},
                        {"type": "tool_use", "id": "b", "name": "weather", "input": {"invalid_json": "{oops"}}
                    ]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "warm"}]},
                        {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "cold"}]},
                        {"type": "text", "text": "Thanks."}
                    ]}
                ],
                "tools": [{"name": "weather", "description": "d", "input_schema": {"type": "object"}}],
                "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": true}
            })
        );
    }

    #[test]
    fn images_are_sent_as_they_are_or_by_address() {
        let body = translated_body(json!({"model": "m", "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
        ]}]}))
        .unwrap();

        let sources: Vec<&Value> = body["messages"][0]["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| &block["source"])
            .collect();
        let inline = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
        assert_eq!(sources, [&inline, &json!({"type": "url", "url": "https://example.com/a.png"})]);
    }

    #[test]
    fn what_cannot_be_said_is_refused_before_it_is_sent() {
        let user = json!([{"role": "user", "content": "hi"}]);
        for request in [
            json!({"messages": user}),
            json!({"model": "m", "messages": user, "n": 2}),
            json!({"model": "m", "messages": [{"role": "narrator", "content": "x"}]}),
            json!({"model": "m", "messages": [{"role": "tool", "content": "x"}]}),
            json!({"model": "m", "messages": user, "tools": [{"type": "custom", "custom": {}}]}),
            json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "file"}]}]}),
        ] {
            let refused = translated_body(request.clone());

            assert!(
                matches!(refused, Err(ProviderError::Rejected { status: 400, .. })),
                "{request}"
            );
        }
    }
}
