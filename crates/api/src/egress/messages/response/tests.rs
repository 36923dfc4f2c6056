//! Answers of providers as Anthropic's clients get them.

use super::*;

fn context(stop: &Value) -> AnswerContext {
    let request = json!({
        "model": "far/m", "messages": [{"role": "user", "content": "12345678"}], "stop": stop
    });
    AnswerContext::new(&serde_json::from_value(request).unwrap(), TraceId::generate())
}

fn translated(completion: Value) -> Value {
    let completion = serde_json::from_value(completion).unwrap();
    serde_json::to_value(translate(&completion, &context(&json!(["END", "STOP"])))).unwrap()
}

#[test]
fn text_calls_and_usage_of_an_answer_become_a_message() {
    let message = translated(json!({
        "id": "chatcmpl-1", "model": "m",
        "choices": [{"message": {"content": "I will look.", "tool_calls": [
            {"id": "a", "function": {"name": "weather", "arguments": "{\"city\": \"Rome\"}"}},
            {"id": "", "function": {"name": "now", "arguments": ""}}
        ]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
                  "prompt_tokens_details": {"cached_tokens": 4}}
    }));

    assert_eq!(
        message,
        json!({
            "id": "msg_chatcmpl-1", "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "text", "text": "I will look."},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "toolu_chatcmpl-1_1", "name": "now", "input": {}}
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 15, "output_tokens": 10, "cache_read_input_tokens": 4}
        })
    );
}

#[test]
fn usage_of_messages_is_estimated_if_the_provider_reports_none() {
    let message = translated(json!({
        "id": "msg_01", "choices": [{"message": {"content": "123456789"}, "finish_reason": "stop"}]
    }));

    assert_eq!(message["usage"], json!({"input_tokens": 2, "output_tokens": 3}));
    assert_eq!((&message["id"], &message["model"]), (&json!("msg_01"), &json!("far/m")));
}

#[test]
fn every_end_of_an_answer_has_its_reason_in_messages() {
    let call = json!([{"id": "a", "function": {"name": "f", "arguments": "{}"}}]);
    let table = [
        (json!({"finish_reason": "stop"}), "end_turn", Value::Null),
        (json!({"finish_reason": null}), "end_turn", Value::Null),
        (json!({"finish_reason": "length"}), "max_tokens", Value::Null),
        (json!({"finish_reason": "content_filter"}), "refusal", Value::Null),
        (json!({"finish_reason": "stop", "stop_reason": "STOP"}), "stop_sequence", json!("STOP")),
        (json!({"finish_reason": "stop", "stop_reason": 128_009}), "end_turn", Value::Null),
        (json!({"finish_reason": "stop", "stop_reason": "</s>"}), "end_turn", Value::Null),
        // Some servers do not say that they call tools.
        (json!({"finish_reason": "stop", "calls": call}), "tool_use", Value::Null),
        (json!({"finish_reason": "length", "calls": call}), "max_tokens", Value::Null),
    ];
    for (mut choice, reason, sequence) in table {
        choice["message"] = json!({"content": "x", "tool_calls": choice["calls"]});
        let message = translated(json!({"choices": [choice]}));

        assert_eq!(message["stop_reason"], reason, "{choice}");
        assert_eq!(message["stop_sequence"], sequence, "{choice}");
    }
}

#[test]
fn a_refusal_is_the_text_of_a_message() {
    let message = translated(json!({"choices": [{
        "message": {"content": null, "refusal": "No."}, "finish_reason": "content_filter"
    }]}));

    assert_eq!(message["content"], json!([{"type": "text", "text": "No."}]));
    assert_eq!(message["stop_reason"], "refusal");
}

#[test]
fn arguments_of_messages_that_are_no_object_are_never_an_empty_call() {
    for (arguments, input) in [
        ("", json!({})),
        (" ", json!({})),
        ("{}", json!({})),
        ("{\"all\": tru", json!({"invalid_json": "{\"all\": tru"})),
        ("[1]", json!({"invalid_json": "[1]"})),
        ("null", json!({"invalid_json": "null"})),
        ("rm", json!({"invalid_json": "rm"})),
    ] {
        assert_eq!(parse_arguments(arguments), input, "{arguments}");
    }
}
