//! Scripted answers in the form of Anthropic's messages.

use serde_json::{Value, json};

use super::model_script::{ModelRequest, ScriptedAnswer};

const ID: &str = "msg_canary";

/// Renders an answer as one document.
pub(super) fn render_message(request: &ModelRequest, answer: &ScriptedAnswer) -> String {
    let mut message = empty_message(request);
    message["content"] = json!([block(answer)]);
    message["stop_reason"] = json!(stop_reason(answer));
    message.to_string()
}

/// Renders an answer as events.
pub(super) fn render_events(request: &ModelRequest, answer: &ScriptedAnswer) -> String {
    let (start, delta) = match answer {
        ScriptedAnswer::Call { .. } => {
            (block(answer), json!({ "type": "input_json_delta", "partial_json": "{}" }))
        }
        ScriptedAnswer::Text(text) => {
            (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text }))
        }
        ScriptedAnswer::Hold => {
            (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": "" }))
        }
    };
    let events = [
        json!({ "type": "message_start", "message": empty_message(request) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": start }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({
            "type": "message_delta", "usage": { "output_tokens": 1 },
            "delta": { "stop_reason": stop_reason(answer), "stop_sequence": null },
        }),
        json!({ "type": "message_stop" }),
    ];
    let render = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(render).collect::<Vec<_>>().concat()
}

/// Renders an estimate of the tokens of a request.
pub(super) fn render_count() -> String {
    json!({ "input_tokens": 1 }).to_string()
}

fn empty_message(request: &ModelRequest) -> Value {
    json!({
        "id": ID, "type": "message", "role": "assistant", "model": request.model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    })
}

fn block(answer: &ScriptedAnswer) -> Value {
    match answer {
        ScriptedAnswer::Call { tool, number } => {
            let id = format!("toolu_canary{number}");
            json!({ "type": "tool_use", "id": id, "name": tool, "input": {} })
        }
        ScriptedAnswer::Text(text) => json!({ "type": "text", "text": text }),
        ScriptedAnswer::Hold => json!({ "type": "text", "text": "" }),
    }
}

fn stop_reason(answer: &ScriptedAnswer) -> &'static str {
    match answer {
        ScriptedAnswer::Call { .. } => "tool_use",
        ScriptedAnswer::Text(_) | ScriptedAnswer::Hold => "end_turn",
    }
}
