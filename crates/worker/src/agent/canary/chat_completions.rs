//! Scripted answers in the form of OpenAI's chat completions.

use serde_json::{Value, json};

use super::model_script::{ModelRequest, ScriptedAnswer};

const ID: &str = "chatcmpl-canary";

/// Renders an answer as one document.
pub(super) fn render_completion(request: &ModelRequest, answer: &ScriptedAnswer) -> String {
    let choice = json!({
        "index": 0, "message": message(answer), "finish_reason": finish_reason(answer),
    });
    json!({
        "id": ID, "object": "chat.completion", "created": 0, "model": request.model,
        "choices": [choice], "usage": usage(),
    })
    .to_string()
}

/// Renders an answer as events.
pub(super) fn render_chunks(request: &ModelRequest, answer: &ScriptedAnswer) -> String {
    let mut delta = message(answer);
    // Pieces of calls are numbered.
    if let Some(call) = delta.pointer_mut("/tool_calls/0") {
        call["index"] = json!(0);
    }
    let choice = |delta: Value, reason: Value| json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
    let mut chunks = vec![
        chunk(request, &choice(delta, Value::Null)),
        chunk(request, &choice(json!({}), json!(finish_reason(answer)))),
    ];
    if request.stream_options.as_ref().is_some_and(|options| options.include_usage) {
        let mut last = chunk(request, &json!([]));
        last["usage"] = usage();
        chunks.push(last);
    }
    let mut events: Vec<String> = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.push("data: [DONE]\n\n".to_owned());
    events.concat()
}

fn chunk(request: &ModelRequest, choices: &Value) -> Value {
    json!({
        "id": ID, "object": "chat.completion.chunk", "created": 0, "model": request.model,
        "choices": choices,
    })
}

fn message(answer: &ScriptedAnswer) -> Value {
    match answer {
        ScriptedAnswer::Call { tool, number } => {
            let function = json!({ "name": tool, "arguments": "{}" });
            let call = json!({ "id": format!("call_canary{number}"), "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
        ScriptedAnswer::Text(text) => json!({ "role": "assistant", "content": text }),
        ScriptedAnswer::Hold => json!({ "role": "assistant", "content": "" }),
    }
}

fn finish_reason(answer: &ScriptedAnswer) -> &'static str {
    match answer {
        ScriptedAnswer::Call { .. } => "tool_calls",
        ScriptedAnswer::Text(_) | ScriptedAnswer::Hold => "stop",
    }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 })
}
