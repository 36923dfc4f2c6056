//! What a scripted provider says, as Anthropic writes it.

use serde_json::{Value, json};

use super::answer::{Answer, Said};
use super::openai::halves;

/// The body of an error.
pub(super) fn error(code: u16, message: &str) -> Value {
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

/// A whole answer.
pub(super) fn whole(answer: &Answer, said: &Said, model: &str) -> Value {
    let mut content = Vec::new();
    if !said.pieces.is_empty() {
        content.push(json!({ "type": "text", "text": said.text() }));
    }
    for (place, (name, arguments)) in said.calls.iter().enumerate() {
        let input: Value = serde_json::from_str(arguments).unwrap_or_default();
        content.push(json!({ "type": "tool_use", "id": id(place), "name": name, "input": input }));
    }
    let (input_tokens, output_tokens) = answer.usage;
    json!({
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop(said), "stop_sequence": null,
        "usage": { "input_tokens": input_tokens, "output_tokens": output_tokens }
    })
}

/// The events of a streamed answer.
pub(super) fn events(answer: &Answer, said: &Said, model: &str) -> Vec<String> {
    let mut message = whole(answer, &Said::default(), model);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let mut events = vec![event(&json!({ "type": "message_start", "message": message }))];
    let mut index = 0;
    if !said.pieces.is_empty() {
        begin(&mut events, index, &json!({ "type": "text", "text": "" }));
        events.push(event(&json!({ "type": "ping" })));
        for text in &said.pieces {
            delta(&mut events, index, &json!({ "type": "text_delta", "text": text }));
        }
        end(&mut events, index);
        index += 1;
    }
    for (place, (name, arguments)) in said.calls.iter().enumerate() {
        let block = json!({ "type": "tool_use", "id": id(place), "name": name, "input": {} });
        begin(&mut events, index, &block);
        for part in halves(arguments) {
            delta(&mut events, index, &json!({ "type": "input_json_delta", "partial_json": part }));
        }
        end(&mut events, index);
        index += 1;
    }
    events.push(event(&json!({
        "type": "message_delta", "delta": { "stop_reason": stop(said), "stop_sequence": null },
        "usage": { "output_tokens": answer.usage.1 }
    })));
    events.push(event(&json!({ "type": "message_stop" })));
    events
}

fn begin(events: &mut Vec<String>, index: usize, block: &Value) {
    let body = json!({ "type": "content_block_start", "index": index, "content_block": block });
    events.push(event(&body));
}

fn delta(events: &mut Vec<String>, index: usize, delta: &Value) {
    events.push(event(&json!({ "type": "content_block_delta", "index": index, "delta": delta })));
}

fn end(events: &mut Vec<String>, index: usize) {
    events.push(event(&json!({ "type": "content_block_stop", "index": index })));
}

fn event(body: &Value) -> String {
    format!("event: {}\ndata: {body}\n\n", body["type"].as_str().unwrap_or_default())
}

fn id(place: usize) -> String {
    format!("toolu_{}", place + 1)
}

fn stop(said: &Said) -> &'static str {
    match said {
        Said { is_refusal: true, .. } => "refusal",
        Said { is_cut_short: true, .. } => "max_tokens",
        Said { calls, .. } if !calls.is_empty() => "tool_use",
        _ => "end_turn",
    }
}
