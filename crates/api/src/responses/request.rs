//! Converts a response request to a chat request.

use cynode_domain::text::truncate_chars;
use cynode_llm_wire::openai::responses::{InputItem, ResponseInput, ResponseRequest, ResponseTool};
use cynode_llm_wire::openai::{
    ChatMessage, ChatRequest, Content, FunctionDefinition, Other, Part, StreamOptions, ToolCall,
    ToolDefinition,
};
use serde_json::{Value, json};

use crate::chat::OpenAiError;

/// Ignored fields: they do not change the answer.
const IGNORED_FIELDS: &[&str] = &[
    "include",
    "max_tool_calls",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "stream_options",
    "truncation",
    "user",
];
/// Fields with the same name in chat completions.
const PASSED_FIELDS: &[&str] = &["parallel_tool_calls", "seed", "stop"];

/// Builds the chat request, with the earlier messages of the conversation.
pub(super) fn to_chat_request(
    request: &ResponseRequest,
    past: Vec<ChatMessage>,
) -> Result<ChatRequest, UnsupportedField> {
    let mut chat = ChatRequest {
        model: request.model.clone().filter(|model| !model.is_empty()),
        messages: build_messages(request, past)?,
        stream: request.stream,
        tools: request.tools.iter().map(convert_tool).collect::<Result<_, _>>()?,
        tool_choice: request.tool_choice.as_ref().map(convert_tool_choice).transpose()?,
        max_completion_tokens: request.max_output_tokens,
        temperature: request.temperature,
        top_p: request.top_p,
        ..ChatRequest::default()
    };
    if request.stream {
        // The last event carries the usage.
        chat.stream_options =
            Some(StreamOptions { include_usage: true, ..StreamOptions::default() });
    }
    copy_other_fields(request, &mut chat.other)?;
    Ok(chat)
}

/// Instructions, then earlier messages, then the new input.
fn build_messages(
    request: &ResponseRequest,
    past: Vec<ChatMessage>,
) -> Result<Vec<ChatMessage>, UnsupportedField> {
    let mut messages: Vec<ChatMessage> = Vec::new();
    messages.extend(request.instructions.as_ref().map(|text| ChatMessage::text("system", text)));
    messages.extend(past);
    match &request.input {
        ResponseInput::Text(text) => messages.push(ChatMessage::text("user", text)),
        ResponseInput::Items(items) => {
            for item in items {
                push_input_item(item, &mut messages)?;
            }
        }
    }
    Ok(messages)
}

fn push_input_item(
    item: &InputItem,
    messages: &mut Vec<ChatMessage>,
) -> Result<(), UnsupportedField> {
    let missing = |field: &str| unsupported("input", &format!("an item has no \"{field}\""));
    match item.kind.as_deref().unwrap_or("message") {
        "message" => {
            let role = item.role.as_deref().ok_or_else(|| missing("role"))?;
            let content = item.content.as_ref().ok_or_else(|| missing("content"))?;
            let content = Some(convert_content(content)?);
            messages.push(ChatMessage { role: role.to_owned(), content, ..ChatMessage::default() });
        }
        "function_call" => {
            let id = item.call_id.as_deref().ok_or_else(|| missing("call_id"))?;
            let name = item.name.as_deref().ok_or_else(|| missing("name"))?;
            let call = ToolCall::function(id, name, item.arguments.clone().unwrap_or_default());
            push_tool_call(call, messages);
        }
        "function_call_output" => {
            let id = item.call_id.as_deref().ok_or_else(|| missing("call_id"))?;
            let output = item.output.as_ref().ok_or_else(|| missing("output"))?;
            messages.push(ChatMessage::tool_result(id, convert_content(output)?.plain_text()));
        }
        // Reasoning items are useful to the model that produced them only.
        "reasoning" => {}
        kind => {
            let kind = truncate_chars(kind, 60);
            let fault = format!("items of type \"{kind}\" are not supported");
            return Err(unsupported("input", &fault));
        }
    }
    Ok(())
}

/// Adds a tool call to the last assistant message, which groups the calls of one answer.
fn push_tool_call(call: ToolCall, messages: &mut Vec<ChatMessage>) {
    match messages.last_mut().filter(|last| last.role == "assistant") {
        Some(last) => last.tool_calls.push(call),
        None => messages.push(ChatMessage {
            role: "assistant".to_owned(),
            tool_calls: vec![call],
            ..ChatMessage::default()
        }),
    }
}

fn convert_content(content: &Content) -> Result<Content, UnsupportedField> {
    match content {
        Content::Text(_) => Ok(content.clone()),
        Content::Parts(parts) => {
            let parts: Vec<Part> = parts.iter().map(convert_part).collect::<Result<_, _>>()?;
            let only_words = parts.iter().all(|part| part.text.is_some());
            let content = Content::Parts(parts);
            // Not every provider supports content parts.
            Ok(if only_words { Content::Text(content.plain_text()) } else { content })
        }
    }
}

fn convert_part(part: &Part) -> Result<Part, UnsupportedField> {
    let text = |text: Option<String>| Part { kind: "text".to_owned(), text, ..Part::default() };
    match part.kind.as_str() {
        "input_text" | "output_text" | "text" => Ok(text(part.text.clone())),
        "refusal" => {
            let words = part.other.get("refusal").and_then(Value::as_str);
            Ok(text(words.map(ToOwned::to_owned)))
        }
        "input_image" if part.other.get("image_url").is_some_and(Value::is_string) => {
            let mut image = json!({ "url": part.other["image_url"] });
            if let Some(detail) = part.other.get("detail") {
                image["detail"] = detail.clone();
            }
            let other = Other::from_iter([("image_url".to_owned(), image)]);
            Ok(Part { kind: "image_url".to_owned(), text: None, other })
        }
        kind => {
            let kind = truncate_chars(kind, 60);
            let fault =
                format!("parts of type \"{kind}\" are not supported; files cannot be uploaded");
            Err(unsupported("input", &fault))
        }
    }
}

fn convert_tool(tool: &ResponseTool) -> Result<ToolDefinition, UnsupportedField> {
    let ResponseTool { kind, name, description, parameters, other } = tool;
    let Some(name) = name.clone().filter(|_| kind == "function") else {
        let kind = truncate_chars(kind, 60);
        let fault = format!("tools of type \"{kind}\" are not supported; use type \"function\"");
        return Err(unsupported("tools", &fault));
    };
    let function = FunctionDefinition {
        name,
        description: description.clone(),
        parameters: parameters.clone(),
        other: other.clone(),
    };
    Ok(ToolDefinition { kind: kind.clone(), function: Some(function), other: Other::new() })
}

fn convert_tool_choice(choice: &Value) -> Result<Value, UnsupportedField> {
    if choice.is_string() {
        return Ok(choice.clone());
    }
    match (choice["type"].as_str(), choice["name"].as_str()) {
        (Some("function"), Some(name)) => {
            Ok(json!({ "type": "function", "function": { "name": name } }))
        }
        _ => Err(unsupported("tool_choice", "must be a string, or name one of your functions")),
    }
}

fn copy_other_fields(request: &ResponseRequest, into: &mut Other) -> Result<(), UnsupportedField> {
    if let Some(effort) = request.reasoning.as_ref().and_then(|reasoning| reasoning.get("effort")) {
        into.insert("reasoning_effort".to_owned(), effort.clone());
    }
    if let Some(text) = &request.text {
        convert_text_format(text, into)?;
    }
    for (field, value) in &request.other {
        let says_nothing = value.is_null() || *value == Value::Bool(false);
        if PASSED_FIELDS.contains(&field.as_str()) {
            into.insert(field.clone(), value.clone());
        } else if !says_nothing && !IGNORED_FIELDS.contains(&field.as_str()) {
            let field = truncate_chars(field, 60);
            return Err(unsupported(field, "this field is not supported; omit it"));
        }
    }
    into.retain(|_, value| !value.is_null());
    Ok(())
}

/// Converts the output format to chat completions' `response_format`.
fn convert_text_format(text: &Value, into: &mut Other) -> Result<(), UnsupportedField> {
    if let Some(verbosity) = text.get("verbosity") {
        into.insert("verbosity".to_owned(), verbosity.clone());
    }
    let Some(Value::Object(format)) = text.get("format") else { return Ok(()) };
    match format.get("type").and_then(Value::as_str) {
        Some("text") | None => {}
        Some("json_object") => {
            into.insert("response_format".to_owned(), json!({ "type": "json_object" }));
        }
        Some("json_schema") => {
            let mut schema = format.clone();
            schema.remove("type");
            let wanted = json!({ "type": "json_schema", "json_schema": schema });
            into.insert("response_format".to_owned(), wanted);
        }
        Some(_) => {
            return Err(unsupported("text", "format must be text, json_object or json_schema"));
        }
    }
    Ok(())
}

/// An unsupported field, and why.
#[derive(Debug)]
pub(super) struct UnsupportedField {
    param: String,
    fault: String,
}

fn unsupported(param: &str, fault: &str) -> UnsupportedField {
    UnsupportedField { param: param.to_owned(), fault: fault.to_owned() }
}

impl From<UnsupportedField> for OpenAiError {
    fn from(UnsupportedField { param, fault }: UnsupportedField) -> Self {
        Self::invalid(format!("{param}: {fault}")).with_param(&param)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(body: Value) -> Result<Value, Value> {
        let request: ResponseRequest = serde_json::from_value(body).unwrap();
        let past = vec![ChatMessage::text("user", "before"), ChatMessage::text("assistant", "yes")];
        let past = if request.previous_response_id.is_some() { past } else { vec![] };
        match to_chat_request(&request, past) {
            Ok(request) => Ok(serde_json::to_value(request).unwrap()),
            Err(refusal) => Err(serde_json::to_value(OpenAiError::from(refusal).body()).unwrap()),
        }
    }

    #[test]
    fn words_become_a_message_after_instructions_and_what_was_said_before() {
        let request = translate(json!({
            "model": "p/m", "instructions": "be brief", "previous_response_id": "resp_1",
            "input": "and now?", "max_output_tokens": 9, "stream": true, "store": false
        }));

        assert_eq!(
            request.unwrap(),
            json!({
                "model": "p/m", "max_completion_tokens": 9, "stream": true,
                "stream_options": {"include_usage": true},
                "messages": [
                    {"role": "system", "content": "be brief"},
                    {"role": "user", "content": "before"},
                    {"role": "assistant", "content": "yes"},
                    {"role": "user", "content": "and now?"},
                ]
            })
        );
    }

    #[test]
    fn items_become_messages_calls_and_their_results() {
        let request = translate(json!({"input": [
            {"role": "user", "content": [{"type": "input_text", "text": "what is"},
                                         {"type": "input_text", "text": "the weather?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
             "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "22 degrees"},
            {"type": "function_call_output", "call_id": "c2",
             "output": [{"type": "input_text", "text": "rain"}]},
            {"role": "user", "content": [
                {"type": "input_text", "text": "like this?"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "low"}]},
        ]}));

        let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
        assert_eq!(
            request.unwrap()["messages"],
            json!([
                {"role": "user", "content": "what is\nthe weather?"},
                {"role": "assistant", "content": "I look.", "tool_calls": [call("c1", "f"), call("c2", "g")]},
                {"role": "tool", "tool_call_id": "c1", "content": "22 degrees"},
                {"role": "tool", "tool_call_id": "c2", "content": "rain"},
                {"role": "user", "content": [
                    {"type": "text", "text": "like this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}]},
            ])
        );
    }

    #[test]
    fn functions_forms_and_options_are_said_as_chat_completions_say_them() {
        let request = translate(json!({
            "input": "hi", "tool_choice": {"type": "function", "name": "f"},
            "tools": [{"type": "function", "name": "f", "strict": true, "parameters": {"type": "object"}}],
            "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "n", "schema": {}, "strict": true}},
            "reasoning": {"effort": "low", "summary": "auto"}, "parallel_tool_calls": false,
            "truncation": "auto", "include": ["reasoning.encrypted_content"], "user": "u1",
            "background": false, "conversation": null, "metadata": {"a": "b"}
        }))
        .unwrap();

        assert_eq!(request["tools"][0]["function"]["strict"], true);
        assert_eq!(request["tool_choice"], json!({"type": "function", "function": {"name": "f"}}));
        assert_eq!(
            request["response_format"],
            json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": true}})
        );
        assert_eq!(request["reasoning_effort"], "low");
        assert_eq!(request["verbosity"], "low");
        assert_eq!(request["parallel_tool_calls"], false);
        for left_out in ["truncation", "include", "user", "background", "metadata", "text"] {
            assert_eq!(request.get(left_out), None, "{left_out}");
        }
    }

    #[test]
    fn what_would_change_the_meaning_is_refused_by_its_name() {
        for (param, extra) in [
            ("background", json!({"background": true})),
            ("conversation", json!({"conversation": "conv_1"})),
            ("prompt", json!({"prompt": {"id": "pmpt_1"}})),
            ("top_logprobs", json!({"top_logprobs": 3})),
            ("temprature", json!({"temprature": 1})),
            ("tools", json!({"tools": [{"type": "web_search"}]})),
            ("tools", json!({"tools": [{"type": "function"}]})),
            ("tool_choice", json!({"tool_choice": {"type": "file_search"}})),
            ("text", json!({"text": {"format": {"type": "grammar"}}})),
            ("input", json!({"input": [{"type": "item_reference", "id": "msg_1"}]})),
            ("input", json!({"input": [{"type": "function_call_output", "output": "x"}]})),
            (
                "input",
                json!({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}),
            ),
            (
                "input",
                json!({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}),
            ),
        ] {
            let mut body = json!({"input": "hi"});
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());

            let refusal = translate(body).unwrap_err();

            assert_eq!(refusal["error"]["param"], param, "{refusal}");
            assert_eq!(refusal["error"]["code"], "invalid_request");
            assert!(refusal["error"]["message"].as_str().unwrap().starts_with(param), "{refusal}");
        }
    }
}
