//! OpenAI-compatible and Ollama servers.

use cynode_llm::{ProviderKind, refusal};
use cynode_llm_wire::openai::{ChatRequest, ToolCall, ToolDefinition, Usage};
use cynode_testkit::provider::Answer;
use serde_json::{Value, json};

use crate::harness::{ProviderHarness, SECRET, request};

#[tokio::test]
async fn what_the_client_said_reaches_the_provider_as_it_was_said() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    harness.provider.script([Answer::text("Hi there.")]);
    let mut request = request();
    request.stream = true;
    request.metadata = Some(json!({"purpose": "test"}));
    request.other.insert("response_format".to_owned(), json!({"type": "json_object"}));
    request.messages[0].other.insert("vendor".to_owned(), json!(1));

    let answer = harness.client.chat(&request, Some(&harness.secret)).await.unwrap();

    assert_eq!(answer.text(), "Hi there.");
    assert_eq!(answer.usage, Some(Usage::new(11, 7)));
    assert_eq!(answer.other["system_fingerprint"], "fp_scripted");
    let seen = &harness.provider.requests()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    let sent = json!({
        "model": "scripted-model",
        "messages": [{"role": "user", "content": "Hello?", "vendor": 1}],
        "metadata": {"purpose": "test"},
        "response_format": {"type": "json_object"}
    });
    assert_eq!(seen.body, sent);
}

#[tokio::test]
async fn a_server_of_ones_own_is_told_the_bound_of_an_answer_in_the_older_way_too() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    harness.provider.script([Answer::text("Hi."), Answer::text("Hi.")]);
    let (newer, mut both) = (request(), request());
    let newer = ChatRequest { max_completion_tokens: Some(9), ..newer };
    (both.max_completion_tokens, both.max_tokens) = (Some(9), Some(7));

    for request in [newer, both] {
        harness.client.chat(&request, None).await.unwrap();
    }

    let bounds = |body: &Value| (body["max_completion_tokens"].clone(), body["max_tokens"].clone());
    let seen: Vec<_> = harness.provider.requests().iter().map(|seen| bounds(&seen.body)).collect();
    assert_eq!(seen, [(json!(9), json!(9)), (json!(9), json!(7))]);
}

#[tokio::test]
async fn a_tool_can_be_forced_and_its_call_comes_back() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    harness.provider.script([Answer::tool_call("decide", json!({"choice": "a"}))]);
    let tool = ToolDefinition::function("decide", "Decides.", json!({"type": "object"}));
    let mut request = request();
    request.tool_choice = tool.forced();
    request.tools = vec![tool];

    let answer = harness.client.chat(&request, None).await.unwrap();

    let call = ToolCall::function("call_1", "decide", "{\"choice\":\"a\"}");
    assert_eq!(answer.message().unwrap().tool_calls, [call]);
    let seen = &harness.provider.requests()[0];
    let forced = json!({"type": "function", "function": {"name": "decide"}});
    assert_eq!(seen.body["tool_choice"], forced);
    assert_eq!(seen.header("authorization"), None);
}

#[tokio::test]
async fn a_refusal_is_an_answer_that_says_so() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);

    let answer = harness.chat(Answer::refusal("I cannot help with that.")).await.unwrap();

    assert_eq!(refusal(&answer), Some("I cannot help with that."));
}

#[tokio::test]
async fn the_models_of_a_provider_are_listed() {
    let harness = ProviderHarness::new(ProviderKind::OpenAi);
    harness.provider.set_models(&["small", "large"]);

    let models = harness.client.models(Some(&harness.secret)).await;

    assert_eq!(models.unwrap(), ["small", "large"]);
}

#[tokio::test]
async fn ollama_is_asked_by_both_of_its_apis() {
    let harness = ProviderHarness::new(ProviderKind::Ollama);
    harness.provider.set_models(&["smollm2:135m"]);

    let models = harness.client.models(None).await.unwrap();
    let answer = harness.chat(Answer::text("Hi")).await.unwrap();

    assert_eq!(models, ["smollm2:135m"]);
    assert_eq!(answer.text(), "Hi");
    let paths: Vec<String> = harness.provider.requests().into_iter().map(|it| it.path).collect();
    assert_eq!(paths, ["/api/tags", "/v1/chat/completions"]);
}
