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
pub(super) fn response_body(answer: &Answer, scripted: &ScriptedMessage, model: &str) -> Value {
    let mut message = json!({ "role": "assistant", "content": scripted.text() });
    if scripted.is_refusal {
        message["content"] = Value::Null;
        message["refusal"] = json!(scripted.text());
    }
    if !scripted.calls.is_empty() {
        message["content"] = Value::Null;
        message["tool_calls"] =
            (0..scripted.calls.len()).map(|index| tool_call(scripted, index)).collect();
    }
    let choice = json!({
        "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(scripted)
    });
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": CREATED, "model": model,
        "choices": [choice], "usage": usage_body(answer), "system_fingerprint": "fp_scripted"
    })
}

/// The events of a streamed response.
pub(super) fn events(
    answer: &Answer,
    scripted: &ScriptedMessage,
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
    let chunk = |delta: Value, finish: Value| {
        event(json!([{ "index": 0, "delta": delta, "finish_reason": finish }]), Value::Null)
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    let field = if scripted.is_refusal { "refusal" } else { "content" };
    events.extend(scripted.chunks.iter().map(|text| chunk(json!({ field: text }), Value::Null)));
    for (index, (_, arguments)) in scripted.calls.iter().enumerate() {
        let mut begin = tool_call(scripted, index);
        begin["index"] = json!(index);
        begin["function"]["arguments"] = json!("");
        events.push(chunk(json!({ "tool_calls": [begin] }), Value::Null));
        for part in split_in_half(arguments) {
            let more = json!({ "index": index, "function": { "arguments": part } });
            events.push(chunk(json!({ "tool_calls": [more] }), Value::Null));
        }
    }
    events.push(chunk(json!({}), json!(finish_reason(scripted))));
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

fn tool_call(scripted: &ScriptedMessage, index: usize) -> Value {
    let (name, arguments) = &scripted.calls[index];
    json!({
        "id": format!("call_{}", index + 1), "type": "function",
        "function": { "name": name, "arguments": arguments }
    })
}

fn finish_reason(scripted: &ScriptedMessage) -> &'static str {
    match scripted {
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
