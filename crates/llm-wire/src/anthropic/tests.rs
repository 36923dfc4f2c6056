//! Bodies as Anthropic's clients send and read them.

use serde_json::json;

use super::*;

#[test]
fn a_messages_request_is_read_without_the_fields_of_betas() {
    let mut body = json!({
        "model": "claude-sonnet-4-5", "max_tokens": 1024, "stream": true, "temperature": 0.5,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
                 "content": [{"type": "text", "text": "no such city"}]},
                {"type": "image", "source":
                    {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
            ]}
        ],
        "tools": [{"name": "weather", "description": "d", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": true},
        "stop_sequences": ["END"]
    });
    let plain: MessagesRequest = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(serde_json::to_value(&plain).unwrap(), body);

    body["thinking"] = json!({"type": "enabled", "budget_tokens": 2000});
    body["metadata"] = json!({"user_id": "u"});
    body["context_management"] = json!({"edits": []});
    body["system"][0]["cache_control"] = json!({"type": "ephemeral"});
    body["tools"][0]["cache_control"] = json!({"type": "ephemeral"});
    body["messages"][1]["content"][0]["caller"] = json!({"type": "direct"});

    assert_eq!(serde_json::from_value::<MessagesRequest>(body).unwrap(), plain);
}

#[test]
fn null_means_absent_in_a_messages_request() {
    let read: MessagesRequest = serde_json::from_value(json!({
        "model": "m", "max_tokens": 1, "messages": [], "system": null, "stream": null,
        "tools": null, "tool_choice": null, "temperature": null, "stop_sequences": null
    }))
    .unwrap();

    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        json!({"model": "m", "max_tokens": 1, "messages": []})
    );
}

#[test]
fn an_event_of_messages_has_its_name_as_its_type() {
    let message =
        MessagesResponse::empty("msg_1".to_owned(), "m".to_owned(), MessagesUsage::default());
    let text = |text: &str| text.to_owned();
    let end = MessageEnd {
        stop_reason: Some(MessagesStopReason::StopSequence),
        stop_sequence: Some(text("END")),
    };
    let events = [
        MessagesEvent::MessageStart { message },
        MessagesEvent::ContentBlockStart {
            index: 0,
            content_block: MessagesBlock::Text { text: text("") },
        },
        MessagesEvent::ContentBlockDelta {
            index: 0,
            delta: MessagesBlockDelta::TextDelta { text: text("hi") },
        },
        MessagesEvent::ContentBlockStop { index: 0 },
        MessagesEvent::MessageDelta { delta: end, usage: MessagesUsage::default() },
        MessagesEvent::MessageStop,
        MessagesEvent::Ping,
        MessagesEvent::Error { error: MessagesErrorBody::new("api_error", "no").error },
    ];
    for event in events {
        let body = serde_json::to_value(&event).unwrap();

        assert_eq!(body["type"], event.name());
        assert_eq!(serde_json::from_value::<MessagesEvent>(body).unwrap(), event);
    }
}
