//! Scripted responses in OpenAI's format.

use serde_json::{Value, json};

use super::scripted_response::{Answer, ScriptedMessage};

const CREATED: i64 = 1_741_569_952;

/// An error body.
pub(super) fn error_body(code: u16, message: &str) -> Value {
    let kind = match code {
        401 | 403 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
}

/// A non-streamed response.
pub(super) fn response_body(answer: &Answer, said: &ScriptedMessage, model: &str) -> Value {
    let mut message = json!({ "role": "assistant", "content": said.text() });
    if said.is_refusal {
        message["content"] = Value::Null;
        message["refusal"] = json!(said.text());
    }
    if !said.calls.is_empty() {
        message["content"] = Value::Null;
        message["tool_calls"] = (0..said.calls.len()).map(|place| tool_call(said, place)).collect();
    }
    let choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(said)
    });
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": CREATED, "model": model,
        "choices": [choice], "usage": usage_body(answer), "system_fingerprint": "fp_scripted"
    })
}

/// The events of a streamed response.
pub(super) fn events(
    answer: &Answer,
    said: &ScriptedMessage,
    model: &str,
    with_usage: bool,
) -> Vec<String> {
    let event = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": CREATED,
            "model": model, "system_fingerprint": "fp_scripted", "choices": choices
        });
        if with_usage {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let piece = |delta: Value, finish: Value| {
        event(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let mut events = vec![piece(json!({ "role": "assistant", "content": "" }), Value::Null)];
    let field = if said.is_refusal { "refusal" } else { "content" };
    events.extend(said.chunks.iter().map(|text| piece(json!({ field: text }), Value::Null)));
    for (place, (_, arguments)) in said.calls.iter().enumerate() {
        let mut begin = tool_call(said, place);
        begin["index"] = json!(place);
        begin["function"]["arguments"] = json!("");
        events.push(piece(json!({ "tool_calls": [begin] }), Value::Null));
        for part in split_in_half(arguments) {
            let more = json!({ "index": place, "function": { "arguments": part } });
            events.push(piece(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    events.push(piece(json!({}), json!(finish_reason(said))));
    if with_usage {
        events.push(event(json!([]), usage_body(answer)));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Splits arguments, which are streamed in more than one chunk.
pub(super) fn split_in_half(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn tool_call(said: &ScriptedMessage, place: usize) -> Value {
    let (name, arguments) = &said.calls[place];
    json!({
        "id": format!("call_{}", place + 1), "type": "function",
        "function": { "name": name, "arguments": arguments }
    })
}

fn finish_reason(said: &ScriptedMessage) -> &'static str {
    match said {
        ScriptedMessage { is_cut_short: true, .. } => "length",
        ScriptedMessage { calls, .. } if !calls.is_empty() => "tool_calls",
        _ => "stop",
    }
}

fn usage_body(answer: &Answer) -> Value {
    let (prompt, completion) = answer.usage;
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion,
        "total_tokens": prompt + completion
    })
}
