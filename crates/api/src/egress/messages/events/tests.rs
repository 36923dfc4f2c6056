//! Streams as Anthropic's clients read them.

use axum::response::IntoResponse as _;
use cynode_domain::ids::TraceId;
use cynode_llm_wire::openai::ChatRequest;
use cynode_models::egress::EgressError;
use serde_json::Value;

use super::*;

fn context() -> AnswerContext {
    AnswerContext::new(&ChatRequest::default(), TraceId::generate())
}

/// The events of these deltas, and of a last chunk with the usage.
fn events_of(deltas: &[Value], finish_reason: &str) -> Vec<Value> {
    let mut translator = MessagesEventTranslator::new(context());
    let mut events = Vec::new();
    for delta in deltas {
        let chunk = json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta}]});
        events.extend(translator.push_chunk(&serde_json::from_value(chunk).unwrap()));
    }
    let end = json!({"choices": [{"delta": {}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7}});
    events.extend(translator.push_chunk(&serde_json::from_value(end).unwrap()));
    events.extend(translator.finish());
    events.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

fn call(index: u32, id: &str, name: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}}]})
}

fn more(index: u32, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
}

#[test]
fn text_and_interleaved_calls_become_one_block_of_messages_each() {
    let events = events_of(
        &[
            json!({"role": "assistant", "content": ""}),
            json!({"content": "I will "}),
            json!({"content": "look."}),
            call(0, "a", "weather", ""),
            call(1, "b", "now", ""),
            more(0, "{\"city\":"),
            more(1, "{\"zone\""),
            more(0, "\"Rome\"}"),
            more(1, ":1}"),
        ],
        "tool_calls",
    );

    let usage = json!({"input_tokens": 0, "output_tokens": 0});
    let delta = |index: u32, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start = |index: u32, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u32| json!({"type": "content_block_stop", "index": index});
    assert_eq!(
        events,
        [
            json!({"type": "message_start", "message": {
                "id": "msg_c1", "type": "message", "role": "assistant", "model": "m",
                "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage
            }}),
            start(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": "I will "})),
            delta(0, json!({"type": "text_delta", "text": "look."})),
            stop(0),
            start(1, json!({"type": "tool_use", "id": "a", "name": "weather", "input": {}})),
            delta(1, json!({"type": "input_json_delta", "partial_json": "{\"city\":\"Rome\"}"})),
            stop(1),
            start(2, json!({"type": "tool_use", "id": "b", "name": "now", "input": {}})),
            delta(2, json!({"type": "input_json_delta", "partial_json": "{\"zone\":1}"})),
            stop(2),
            json!({"type": "message_delta",
                "delta": {"stop_reason": "tool_use", "stop_sequence": null},
                "usage": {"input_tokens": 11, "output_tokens": 7}}),
            json!({"type": "message_stop"}),
        ]
    );
}

#[test]
fn a_stream_of_messages_without_content_is_complete() {
    let names: Vec<&str> = {
        let mut translator = MessagesEventTranslator::new(context());
        translator.finish().iter().map(MessagesEvent::name).collect()
    };

    assert_eq!(names, ["message_start", "message_delta", "message_stop"]);
}

#[test]
fn truncated_arguments_in_a_stream_of_messages_are_marked() {
    let events = events_of(&[call(0, "a", "remove", "{\"path\": \"/tmp")], "length");

    let delta = events.iter().find(|event| event["type"] == "content_block_delta").unwrap();
    let json = delta["delta"]["partial_json"].as_str().unwrap();
    let input: Value = serde_json::from_str(json).unwrap();
    assert_eq!(input, json!({"invalid_json": "{\"path\": \"/tmp"}));
    assert_eq!(events[events.len() - 2]["delta"]["stop_reason"], "max_tokens");
}

async fn body_of(
    chunks: impl Stream<Item = Result<ChatChunk, EgressError>> + Send + 'static,
) -> String {
    let response = event_stream(context(), chunks).into_response();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_of_messages_has_pings() {
    let silent = stream::once(async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        Ok(ChatChunk::default())
    });

    let body = body_of(silent).await;

    let (before, after) = body.split_once("event: message_start\n").unwrap();
    let pings = before.matches("event: ping\ndata: {\"type\":\"ping\"}\n\n").count();
    assert!((4..=6).contains(&pings), "{before}");
    assert!(
        after.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
        "{after}"
    );
}

#[tokio::test]
async fn a_failed_stream_of_messages_ends_with_an_error_event() {
    let failed = stream::iter([Ok(ChatChunk::default()), Err(EgressError::NoProvider)]);

    let body = body_of(failed).await;

    let last = body.trim_end().rsplit("\n\n").next().unwrap();
    let (name, data) = last.split_once("\ndata: ").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!((name, &data["type"]), ("event: error", &json!("error")));
    assert_eq!(data["error"]["type"], "not_found_error");
    assert!(!body.contains("message_stop"));
}
