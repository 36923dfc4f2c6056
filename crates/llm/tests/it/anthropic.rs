//! Anthropic's API, whole and streamed.

use cynode_llm::{ChunkCollector, ProviderError, ProviderKind, refusal};
use cynode_llm_wire::openai::{ToolCall, ToolDefinition, Usage};
use cynode_testkit::provider::Answer;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::harness::{ProviderHarness, SECRET, request};

#[tokio::test]
async fn a_forced_tool_is_said_in_the_words_of_the_messages_api() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);
    harness.provider.script([Answer::tool_call("decide", json!({"choice": "a"}))]);
    let tool = ToolDefinition::function("decide", "Decides.", json!({"type": "object"}));
    let mut request = request();
    request.tool_choice = tool.forced();
    request.tools = vec![tool];

    let answer = harness.client.chat(&request, Some(&harness.secret)).await.unwrap();

    let call = ToolCall::function("toolu_1", "decide", "{\"choice\":\"a\"}");
    assert_eq!(answer.message().unwrap().tool_calls, [call]);
    assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("tool_calls"));
    let seen = &harness.provider.requests()[0];
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("x-api-key"), Some(SECRET));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.body["tool_choice"], json!({"type": "tool", "name": "decide"}));
}

#[tokio::test]
async fn pieces_are_said_in_the_words_of_openai() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);

    let (chunks, error) = harness.stream(Answer::text("one two three").with_usage(30, 3)).await;

    assert_eq!(error, None);
    assert_eq!(chunks[0].choices[0].delta.role.as_deref(), Some("assistant"));
    let mut collector = ChunkCollector::default();
    for chunk in &chunks {
        collector.push(chunk);
    }
    let answer = collector.finish();
    assert_eq!(answer.text(), "one two three");
    assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("stop"));
    assert_eq!(answer.usage, Some(Usage::new(30, 3)));
    assert_eq!(answer.model, "scripted-model");
}

#[tokio::test]
async fn calls_come_in_pieces_too() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);
    let request = [("read", json!({"path": "a"})), ("list", json!({}))];

    let (chunks, error) = harness.stream(Answer::tool_calls(request)).await;

    assert_eq!(error, None);
    let mut collector = ChunkCollector::default();
    for chunk in &chunks {
        collector.push(chunk);
    }
    let calls = collector.finish().message().unwrap().tool_calls.clone();
    let expected = [
        ToolCall::function("toolu_1", "read", "{\"path\":\"a\"}"),
        ToolCall::function("toolu_2", "list", "{}"),
    ];
    assert_eq!(calls, expected);
}

#[tokio::test]
async fn a_wanted_form_reaches_the_provider_whole_and_streamed() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);
    let said = "{\"city\": \"Rome\"}";
    harness.provider.script([Answer::text(said), Answer::text(said)]);
    let schema = json!({
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        "additionalProperties": false,
    });
    let mut request = request();
    let format = json!({"type": "json_schema", "json_schema": {"name": "place", "schema": schema}});
    request.other.insert("response_format".to_owned(), format);

    let whole = harness.client.chat(&request, Some(&harness.secret)).await.unwrap();
    let chunks = harness.client.stream(&request, Some(&harness.secret)).await.unwrap();
    let mut collector = ChunkCollector::default();
    for chunk in chunks.collect::<Vec<_>>().await {
        collector.push(&chunk.unwrap());
    }

    for answer in [whole, collector.finish()] {
        let dir: Value = serde_json::from_str(answer.text()).unwrap();
        assert_eq!(dir, json!({"city": "Rome"}));
    }
    for seen in harness.provider.requests() {
        let format = json!({"format": {"type": "json_schema", "schema": schema}});
        assert_eq!(seen.body["output_config"], format);
    }
}

#[tokio::test]
async fn an_option_that_cannot_be_honoured_is_refused_by_name_and_nothing_is_sent() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);
    let mut request = request();
    request.other.insert("seed".to_owned(), json!(7));

    let whole = harness.client.chat(&request, None).await.unwrap_err();
    let streamed = harness.client.stream(&request, None).await.map(|_| ()).unwrap_err();

    for refused in [whole, streamed] {
        assert!(
            matches!(&refused, ProviderError::Rejected { status: 400, message, .. }
            if message.starts_with("seed")),
            "{refused:?}"
        );
    }
    assert_eq!(harness.provider.requests(), []);
}

#[tokio::test]
async fn a_refusal_is_told_apart_from_an_answer() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);

    let answer = harness.chat(Answer::refusal("No.")).await.unwrap();

    assert_eq!(refusal(&answer), Some("No."));
}

#[tokio::test]
async fn the_models_are_listed() {
    let harness = ProviderHarness::new(ProviderKind::Anthropic);

    let models = harness.client.models(Some(&harness.secret)).await;

    assert_eq!(models.unwrap(), ["scripted-model"]);
}
