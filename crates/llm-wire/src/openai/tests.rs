//! Round trips of bodies as OpenAI's clients and servers send them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::*;

#[track_caller]
fn survives<T: DeserializeOwned + Serialize>(body: &Value) -> T {
    let read: T = serde_json::from_value(body.clone()).unwrap();
    assert_eq!(&serde_json::to_value(&read).unwrap(), body);
    read
}

#[test]
fn a_plain_request_is_read_and_written_again() {
    let request: ChatRequest = survives(&json!({
        "model": "gpt-4.1",
        "messages": [
            {"role": "developer", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Hello!"}
        ],
        "max_completion_tokens": 64,
        "temperature": 0.5
    }));

    assert_eq!(request.messages[1].plain_text(), "Hello!");
    assert_eq!(request.token_limit(), Some(64));
    assert!(!request.stream);
}

#[test]
fn fields_that_we_do_not_name_are_passed_through() {
    let request: ChatRequest = survives(&json!({
        "messages": [{"role": "user", "content": "hi", "cache_control": {"type": "ephemeral"}}],
        "logprobs": true,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "stream": true,
        "stream_options": {"include_usage": true, "include_obfuscation": false},
        "tools": [{"type": "function", "function": {"name": "f", "strict": true}},
                  {"type": "custom", "custom": {"name": "grammar"}}],
        "vendor_extension": [1, 2]
    }));

    assert_eq!(request.other["vendor_extension"], json!([1, 2]));
}

#[test]
fn a_message_may_mix_words_and_images() {
    let message: ChatMessage = survives(&json!({
        "role": "user",
        "content": [
            {"type": "text", "text": "What is in this image?"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.jpg", "detail": "low"}}
        ]
    }));

    assert_eq!(message.plain_text(), "What is in this image?");
}

#[test]
fn a_conversation_with_calls_of_tools_is_read_and_written_again() {
    let request: ChatRequest = survives(&json!({
        "model": "gpt-4.1",
        "messages": [
            {"role": "user", "content": "What is the weather like in Boston today?"},
            {"role": "assistant", "tool_calls": [{
                "id": "call_abc123", "type": "function",
                "function": {"name": "get_current_weather", "arguments": "{\"location\": \"Boston\"}"}
            }]},
            {"role": "tool", "tool_call_id": "call_abc123", "content": "22 degrees"}
        ],
        "tools": [{"type": "function", "function": {
            "name": "get_current_weather",
            "description": "Get the current weather in a given location",
            "parameters": {"type": "object", "properties": {"location": {"type": "string"}}}
        }}],
        "tool_choice": {"type": "function", "function": {"name": "get_current_weather"}}
    }));

    assert_eq!(request.tools[0].forced(), request.tool_choice);
    assert_eq!(request.messages[2], ChatMessage::tool_result("call_abc123", "22 degrees"));
}

#[test]
fn null_means_absent_in_a_request() {
    let request: ChatRequest = serde_json::from_value(json!({
        "model": null, "stream": null, "tools": null, "temperature": null,
        "messages": [{"role": "assistant", "content": null, "tool_calls": null, "name": null}]
    }))
    .unwrap();

    assert_eq!(
        serde_json::to_value(&request).unwrap(),
        json!({"messages": [{"role": "assistant"}]})
    );
}

#[test]
fn a_completion_is_read_and_written_again() {
    let completion: ChatCompletion = survives(&json!({
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1_741_569_952,
        "model": "gpt-4.1-2025-04-14",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "Hello!", "annotations": []},
            "logprobs": null,
            "finish_reason": "stop"
        }],
        "usage": {
            "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0}
        },
        "service_tier": "default"
    }));

    assert_eq!(completion.text(), "Hello!");
    assert_eq!(completion.usage.unwrap().total_tokens, 29);
}

#[test]
fn a_completion_that_calls_tools_keeps_its_null_content() {
    let completion: ChatCompletion = survives(&json!({
        "id": "chatcmpl-abc123",
        "object": "chat.completion",
        "created": 1_699_896_916,
        "model": "gpt-4o-mini",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": null, "tool_calls": [{
                "id": "call_abc123", "type": "function",
                "function": {"name": "get_current_weather", "arguments": "{\n\"location\": \"Boston\"\n}"}
            }]},
            "finish_reason": "tool_calls"
        }],
        "usage": {"prompt_tokens": 82, "completion_tokens": 17, "total_tokens": 99}
    }));

    let call = &completion.message().unwrap().tool_calls[0];
    assert_eq!(call.function.as_ref().unwrap().name, "get_current_weather");
}

#[test]
fn pieces_of_words_are_read_and_written_again() {
    let head = json!({
        "id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1_694_268_190,
        "model": "gpt-4o-mini", "system_fingerprint": "fp_44709d6fcb",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""},
                     "logprobs": null, "finish_reason": null}]
    });
    let mut word = head.clone();
    word["choices"][0]["delta"] = json!({"content": "Hello"});
    let mut end = head.clone();
    end["choices"][0]["delta"] = json!({});
    end["choices"][0]["finish_reason"] = json!("stop");

    assert_eq!(survives::<ChatChunk>(&head).text(), "");
    assert_eq!(survives::<ChatChunk>(&word).text(), "Hello");
    assert_eq!(survives::<ChatChunk>(&end).finish_reason(), Some("stop"));
}

#[test]
fn the_piece_with_the_usage_has_no_choices() {
    let chunk: ChatChunk = survives(&json!({
        "id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1_694_268_190,
        "model": "gpt-4o-mini", "choices": [],
        "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29}
    }));

    assert_eq!(chunk.usage, Some(Usage::new(19, 10)));
}

#[test]
fn pieces_of_a_call_are_read_and_written_again() {
    let chunk: ChatChunk = survives(&json!({
        "id": "chatcmpl-123", "object": "chat.completion.chunk", "created": 1,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "finish_reason": null, "delta": {"tool_calls": [
            {"index": 0, "id": "call_1", "type": "function",
             "function": {"name": "get_weather", "arguments": ""}},
            {"index": 1, "function": {"arguments": "{\"lo"}}
        ]}}]
    }));

    assert_eq!(chunk.choices[0].delta.tool_calls[1].index, 1);
}

#[test]
fn an_error_has_the_four_fields_that_clients_read() {
    let body = json!({"error": {
        "message": "The model `x` does not exist", "type": "invalid_request_error",
        "param": "model", "code": "model_not_found"
    }});

    let built =
        ErrorBody::new("The model `x` does not exist", "invalid_request_error", "model_not_found")
            .with_param("model");

    assert_eq!(survives::<ErrorBody>(&body), built);
}

#[test]
fn a_list_of_models_is_read_and_written_again() {
    let list: ModelList = survives(&json!({
        "object": "list",
        "data": [{"id": "cynodeai.pm", "object": "model", "created": 0, "owned_by": "cynode"}]
    }));

    assert_eq!(list, vec![ModelEntry::new("cynodeai.pm", "cynode")].into());
}
