//! Scripted responses in Anthropic's format.

use serde_json::{Value, json};

use super::openai::split_in_half;
use super::scripted_response::{Answer, ScriptedMessage};

/// An error body.
pub(super) fn error_body(code: u16, message: &str) -> Value {
    let kind = match code {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// A non-streamed response.
pub(super) fn response_body(answer: &Answer, scripted: &ScriptedMessage, model: &str) -> Value {
    let mut content = Vec::new();
    if !scripted.chunks.is_empty() {
        content.push(json!({ "type": "text", "text": scripted.text() }));
    }
    for (place, (name, arguments)) in scripted.calls.iter().enumerate() {
        let input: Value = serde_json::from_str(arguments).unwrap_or_default();
        content.push(
            json!({ "type": "tool_use", "id": tool_call_id(place), "name": name, "input": input }),
        );
    }
    let (input_tokens, output_tokens) = answer.usage;
    json!({
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop_reason(scripted), "stop_sequence": null,
        "usage": { "input_tokens": input_tokens, "output_tokens": output_tokens }
    })
}

/// The events of a streamed response.
pub(super) fn events(answer: &Answer, scripted: &ScriptedMessage, model: &str) -> Vec<String> {
    let mut message = response_body(answer, &ScriptedMessage::default(), model);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let mut events = vec![format_event(&json!({ "type": "message_start", "message": message }))];
    let mut index = 0;
    if !scripted.chunks.is_empty() {
        push_block_start(&mut events, index, &json!({ "type": "text", "text": "" }));
        events.push(format_event(&json!({ "type": "ping" })));
        for text in &scripted.chunks {
            push_block_delta(&mut events, index, &json!({ "type": "text_delta", "text": text }));
        }
        push_block_stop(&mut events, index);
        index += 1;
    }
    for (place, (name, arguments)) in scripted.calls.iter().enumerate() {
        let block =
            json!({ "type": "tool_use", "id": tool_call_id(place), "name": name, "input": {} });
        push_block_start(&mut events, index, &block);
        for part in split_in_half(arguments) {
            push_block_delta(
                &mut events,
                index,
                &json!({ "type": "input_json_delta", "partial_json": part }),
            );
        }
        push_block_stop(&mut events, index);
        index += 1;
    }
    events.push(format_event(&json!({
        "type": "message_delta", "delta": { "stop_reason": stop_reason(scripted), "stop_sequence": null },
        "usage": { "output_tokens": answer.usage.1 }
    })));
    events.push(format_event(&json!({ "type": "message_stop" })));
    events
}

fn push_block_start(events: &mut Vec<String>, index: usize, block: &Value) {
    let body = json!({ "type": "content_block_start", "index": index, "content_block": block });
    events.push(format_event(&body));
}

fn push_block_delta(events: &mut Vec<String>, index: usize, delta: &Value) {
    events.push(format_event(
        &json!({ "type": "content_block_delta", "index": index, "delta": delta }),
    ));
}

fn push_block_stop(events: &mut Vec<String>, index: usize) {
    events.push(format_event(&json!({ "type": "content_block_stop", "index": index })));
}

fn format_event(body: &Value) -> String {
    format!("event: {}\ndata: {body}\n\n", body["type"].as_str().unwrap_or_default())
}

fn tool_call_id(place: usize) -> String {
    format!("toolu_{}", place + 1)
}

fn stop_reason(scripted: &ScriptedMessage) -> &'static str {
    match scripted {
        ScriptedMessage { is_refusal: true, .. } => "refusal",
        ScriptedMessage { is_cut_short: true, .. } => "max_tokens",
        ScriptedMessage { calls, .. } if !calls.is_empty() => "tool_use",
        _ => "end_turn",
    }
}
