//! Requests of Anthropic's clients as providers get them.

use super::*;
use crate::json_body::parse_json;

fn translated(body: &Value) -> Value {
    let request = parse_json::<MessagesRequest>(body.to_string().as_bytes()).unwrap();
    serde_json::to_value(translate(request).unwrap()).unwrap()
}

/// The message of the error.
fn rejection(body: &Value) -> String {
    let read = parse_json::<MessagesRequest>(body.to_string().as_bytes());
    let error = read.map_err(AnthropicError::from).and_then(translate).unwrap_err().into_body();
    assert_eq!((&*error.kind, &*error.error.kind), ("error", "invalid_request_error"));
    error.error.message
}

fn with_content(content: &Value) -> Value {
    json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]})
}

#[test]
fn a_conversation_of_messages_with_tools_becomes_a_chat() {
    let body = translated(&json!({
        "model": "far/m", "max_tokens": 64, "temperature": 0.5, "top_p": 0.9, "stream": true,
        "stop_sequences": ["END"], "top_k": 3, "metadata": {"user_id": "u"},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Be kind."}
        ],
        "messages": [
            {"role": "user", "content": "Weather in Rome and Oslo?"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "b", "name": "weather", "input": {}}
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [
                    {"type": "text", "text": "warm"}, {"type": "text", "text": "dry"}
                ]},
                {"type": "tool_result", "tool_use_id": "b", "content": "no city", "is_error": true},
                {"type": "text", "text": "And now?", "cache_control": {"type": "ephemeral"}}
            ]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]}
        ],
        "tools": [
            {"name": "weather", "description": "d", "input_schema": {"type": "object"}},
            {"type": "custom", "name": "now", "input_schema": {"type": "object"}, "strict": true}
        ],
        "tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": true}
    }));

    assert_eq!(
        body,
        json!({
            "model": "far/m", "max_completion_tokens": 64, "temperature": 0.5, "top_p": 0.9,
            "stream": true, "stream_options": {"include_usage": true}, "stop": ["END"],
            "messages": [
                {"role": "system", "content": "Be brief.\nBe kind."},
                {"role": "user", "content": "Weather in Rome and Oslo?"},
                {"role": "assistant", "content": "I will look.", "tool_calls": [
                    {"id": "a", "type": "function",
                     "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}},
                    {"id": "b", "type": "function",
                     "function": {"name": "weather", "arguments": "{}"}}
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "warm\ndry"},
                {"role": "tool", "tool_call_id": "b", "content": "Error: no city"},
                {"role": "user", "content": "And now?"},
                {"role": "tool", "tool_call_id": "c", "content": ""}
            ],
            "tools": [
                {"type": "function", "function":
                    {"name": "weather", "description": "d", "parameters": {"type": "object"}}},
                {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
            ],
            "tool_choice": {"type": "function", "function": {"name": "weather"}},
            "parallel_tool_calls": false
        })
    );
}

#[test]
fn images_of_messages_are_sent_by_the_user_also_those_of_tools() {
    let image = json!({"type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let far = json!({"type": "image", "source": {"type": "url", "url": "https://h/a.png"}});
    let result = json!({"type": "tool_result", "tool_use_id": "a",
        "content": [{"type": "text", "text": "done"}, image]});
    let body = translated(&with_content(&json!([result, {"type": "text", "text": "Look."}, far])));

    let inline = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let far = json!({"type": "image_url", "image_url": {"url": "https://h/a.png"}});
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        body["messages"],
        json!([
            {"role": "tool", "tool_call_id": "a", "content": "done"},
            {"role": "user",
             "content": [text("Images of the tool result a:"), inline, text("Look."), far]}
        ])
    );
}

#[test]
fn every_tool_choice_of_messages_has_its_form_in_a_chat() {
    let mut body = with_content(&json!("hi"));
    body["tools"] = json!([{"name": "f", "input_schema": {"type": "object"}}]);
    for (choice, expected) in [("auto", "auto"), ("any", "required"), ("none", "none")] {
        body["tool_choice"] = json!({"type": choice});
        let chat = translated(&body);
        assert_eq!(
            (&chat["tool_choice"], chat.get("parallel_tool_calls")),
            (&json!(expected), None)
        );
    }
    // Providers reject a choice without tools.
    body["tools"] = json!([]);
    for choice in ["auto", "none"] {
        body["tool_choice"] = json!({"type": choice, "disable_parallel_tool_use": true});
        let chat = translated(&body);
        assert_eq!((chat.get("tool_choice"), chat.get("parallel_tool_calls")), (None, None));
    }
}

#[test]
fn a_broken_messages_request_is_rejected_with_the_field() {
    let image = |source: Value| with_content(&json!([{"type": "image", "source": source}]));
    let with = |field: &str, value: Value| {
        let mut body = with_content(&json!("hi"));
        body[field] = value;
        body
    };
    let assistant =
        |block: Value| with("messages", json!([{"role": "assistant", "content": [block]}]));
    let schema = json!({"type": "object"});
    let table = [
        (json!({"model": "m", "messages": []}), "max_tokens is missing"),
        (with("max_tokens", json!(0)), "max_tokens: must be at least 1"),
        (with("max_tokens", json!("9")), "max_tokens: expected a whole number"),
        (with("model", json!("")), "model: is empty"),
        (with("temperature", json!(1.5)), "temperature: must be between 0 and 1"),
        (with("top_p", json!(-1)), "top_p: must be between 0 and 1"),
        (with("stream", json!("yes")), "stream: expected true or false"),
        (with("stop_sequences", json!("END")), "stop_sequences: expected a list"),
        (with("messages", json!([])), "messages: at least one message"),
        (with("messages", json!([{"role": "user", "content": ""}])), "messages: at least one"),
        (with("messages", json!([{"role": "system", "content": "x"}])), "messages[0].role: "),
        (with("messages", json!([{"role": "user"}])), "messages[0].content is missing"),
        (with_content(&json!(5)), "messages[0].content: expected a string or a list of blocks"),
        (with_content(&json!([{"type": "text", "text": 5}])), "messages[0].content[0].text: "),
        (with_content(&json!([{"type": "text"}])), "messages[0].content[0].text is missing"),
        (with_content(&json!([{"text": "x"}])), "messages[0].content[0].type is missing"),
        (
            with_content(&json!([{"type": "document", "source": {"type": "base64"}}])),
            "messages[0].content[0]: blocks of type \"document\" are not supported in a user message",
        ),
        (with_content(&json!([{"type": "tool_use"}])), "messages[0].content[0]: blocks of type"),
        (
            with_content(&json!([{"type": "tool_result"}])),
            "messages[0].content[0].tool_use_id is missing",
        ),
        (
            with_content(&json!([{"type": "tool_result", "tool_use_id": "a",
                "content": [{"type": "search_result"}]}])),
            "messages[0].content[0].content[0]: blocks of type \"search_result\"",
        ),
        (
            assistant(json!({"type": "tool_use", "name": "f"})),
            "messages[0].content[0].id is missing",
        ),
        (
            assistant(json!({"type": "tool_use", "id": "a", "name": "f", "input": "{}"})),
            "messages[0].content[0].input: must be an object",
        ),
        (assistant(json!({"type": "image"})), "messages[0].content[0]: blocks of type \"image\""),
        (image(json!({"type": "file"})), "messages[0].content[0].source.type: \"file\" is not"),
        (
            image(json!({"type": "base64", "media_type": "text/plain", "data": "AAAA"})),
            "messages[0].content[0].source.media_type: must be one of",
        ),
        (
            image(json!({"type": "base64", "media_type": "image/png", "data": "my password"})),
            "messages[0].content[0].source.data: is not base64",
        ),
        (image(json!({"type": "url", "url": "data:x"})), "messages[0].content[0].source.url: must"),
        (with("system", json!([{"type": "image"}])), "system[0]: blocks of type \"image\""),
        (
            with("tools", json!([{"type": "web_search_20250305", "name": "web_search"}])),
            "tools[0]: tools of type \"web_search_20250305\" are not supported",
        ),
        (with("tools", json!([{"name": "f"}])), "tools[0].input_schema: must be an object"),
        (with("tools", json!([{"name": "", "input_schema": schema}])), "tools[0].name: is empty"),
        (with("tool_choice", json!({"type": "any"})), "tool_choice: requires tools"),
        (
            with("tool_choice", json!({"type": "some"})),
            "tool_choice.type: expected one of `auto`, `any`, `tool`, `none`, found `some`",
        ),
        (
            with("tool_choice", json!({"type": "tool", "name": "f"})),
            "tool_choice.name: \"f\" is not in tools",
        ),
    ];
    for (body, message) in table {
        let text = rejection(&body);
        assert!(text.starts_with(message), "{body}: {text}");
    }
}
