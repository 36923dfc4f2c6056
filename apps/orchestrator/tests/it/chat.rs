//! Chat over HTTP, as programs that speak OpenAI's API see it, with a provider that is scripted.

mod faults;
mod matrix;
mod responses;
mod stopping;
mod threads;

use cynode_testkit::planted_secrets;
use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use cynode_wire::sse;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::harness::{HarnessResponse, OrchestratorHarness};

pub(crate) use faults::{
    a_client_that_hangs_up_ends_the_call_to_the_model, a_stream_that_breaks_off_ends_with_an_error,
    an_answer_that_does_not_come_is_a_timeout,
    callers_without_a_good_token_are_told_to_authenticate, every_fault_of_a_provider_has_its_code,
    requests_that_break_rules_are_refused_as_openai_does, whoever_cannot_answer_is_said_by_code,
};
pub(crate) use matrix::every_fault_has_its_outcome_in_every_way_of_asking;
pub(crate) use responses::{
    a_function_s_result_finds_its_call_in_the_response_before,
    a_response_is_made_read_back_and_gone_on_from,
    a_streamed_response_is_told_by_events_and_can_be_named,
    responses_refuse_what_they_cannot_honour_and_fail_in_openai_s_shape,
    what_is_not_stored_cannot_be_named_and_others_cannot_name_mine,
};
pub(crate) use stopping::a_stop_keeps_an_answer_that_was_begun;
pub(crate) use threads::{
    a_conversation_is_read_back_by_its_owner_only, a_new_thread_is_begun_and_added_to,
    everybody_calls_their_own_project_default,
};

const MODEL: &str = "scripted/scripted-model";

/// Registers a provider that every user may use.
async fn provide(harness: &OrchestratorHarness, provider: &ScriptedProvider) {
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model"],
    });
    let put = harness.as_admin(Method::PUT, "/v1/model-providers/scripted").json(&body);
    let answer = HarnessResponse::send(put).await;
    assert!(answer.status.is_success(), "{}", answer.body);
}

fn ask(harness: &OrchestratorHarness, body: &Value) -> RequestBuilder {
    harness.as_admin(Method::POST, "/v1/chat/completions").json(body)
}

fn question(text: &str) -> Value {
    json!({ "model": MODEL, "messages": [{ "role": "user", "content": text }] })
}

/// The error code, which must be in OpenAI's format.
#[track_caller]
fn code(answer: &HarnessResponse, status: u16) -> String {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
    assert_eq!(answer.header("content-type"), "application/json", "{}", answer.body);
    let error = &answer.body["error"];
    assert_eq!(error["type"], "cynodeai_error", "{}", answer.body);
    assert!(error["message"].is_string() && error.get("param").is_some(), "{}", answer.body);
    error["code"].as_str().unwrap().to_owned()
}

pub(crate) async fn a_model_answers_through_the_orchestrator(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::saying("It is warm in Rome.");
    provide(&harness, &provider).await;

    let answer = HarnessResponse::send(ask(&harness, &question("How warm is it?"))).await;

    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(answer.body["object"], "chat.completion");
    assert_eq!(answer.body["choices"][0]["message"]["content"], "It is warm in Rome.");
    assert_eq!(answer.body["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer.body["usage"]["total_tokens"], 18);
    assert_eq!(answer.header("x-request-id"), answer.header("x-trace-id"));
    assert_eq!(provider.requests()[0].last_message(), "How warm is it?");
}

pub(crate) async fn a_streamed_answer_ends_with_its_usage_and_done(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Said::text_chunks(["It is", " warm."]));
    provide(&harness, &provider).await;
    let mut body = question("How warm is it?");
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });

    let response = ask(&harness, &body).send().await.unwrap();

    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let events = data_of(&response.text().await.unwrap());
    assert_eq!(events.last().unwrap(), "[DONE]");
    let chunks: Vec<Value> = events[..events.len() - 1].iter().map(|event| parsed(event)).collect();
    assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"));
    let text: String = chunks.iter().filter_map(text_of).collect();
    assert_eq!(text, "It is warm.");
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["total_tokens"], 18);
}

pub(crate) async fn a_stream_without_usage_has_something_new_in_every_piece(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::saying("It is warm.");
    provide(&harness, &provider).await;
    let mut body = question("How warm is it?");
    body["stream"] = json!(true);

    let text = ask(&harness, &body).send().await.unwrap().text().await.unwrap();

    let events = data_of(&text);
    let chunks = events.iter().filter(|event| *event != "[DONE]").map(|event| parsed(event));
    assert!(chunks.into_iter().all(|chunk| !chunk["choices"].as_array().unwrap().is_empty()));
}

pub(crate) async fn tools_are_passed_to_the_model_and_its_calls_back(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::start();
    provider.script([Said::tool_call("look_up", json!({ "city": "Rome" }))]);
    provide(&harness, &provider).await;
    let mut body = question("How warm is it?");
    body["tools"] = json!([{ "type": "function", "function": {
        "name": "look_up", "parameters": { "type": "object", "properties": { "city": {"type": "string"} } } } }]);
    body["seed"] = json!(7);

    let answer = HarnessResponse::send(ask(&harness, &body)).await;

    let call = &answer.body["choices"][0]["message"]["tool_calls"][0]["function"];
    assert_eq!(call["name"], "look_up", "{}", answer.body);
    assert_eq!(parsed(call["arguments"].as_str().unwrap())["city"], "Rome");
    assert_eq!(answer.body["choices"][0]["finish_reason"], "tool_calls");
    let seen = &provider.requests()[0].body;
    assert_eq!(seen["tools"], body["tools"]);
    assert_eq!(seen["seed"], 7);
}

pub(crate) async fn the_project_manager_is_always_among_the_models(harness: OrchestratorHarness) {
    let bare = HarnessResponse::send(harness.as_admin(Method::GET, "/v1/models")).await;
    let provider = ScriptedProvider::saying("hello");
    provide(&harness, &provider).await;

    let listed = HarnessResponse::send(harness.as_admin(Method::GET, "/v1/models")).await;
    let one =
        HarnessResponse::send(harness.as_admin(Method::GET, &format!("/v1/models/{MODEL}"))).await;
    let escaped = format!("/v1/models/{}", MODEL.replace('/', "%2F"));
    let same = HarnessResponse::send(harness.as_admin(Method::GET, &escaped)).await;
    let manager =
        HarnessResponse::send(harness.as_admin(Method::GET, "/v1/models/cynodeai.pm")).await;
    let none = HarnessResponse::send(harness.as_admin(Method::GET, "/v1/models/gpt-9")).await;

    assert_eq!(bare.body["object"], "list");
    assert_eq!(bare.body["data"][0]["id"], "cynodeai.pm");
    assert_eq!(bare.body["data"][0]["object"], "model");
    assert_eq!(bare.body["data"].as_array().unwrap().len(), 1, "{}", bare.body);
    assert_eq!(listed.body["data"][1]["id"], MODEL);
    assert_eq!(one.body["id"], MODEL, "{}", one.body);
    assert_eq!(same.body["id"], MODEL, "{}", same.body);
    assert_eq!(manager.body["id"], "cynodeai.pm");
    assert_eq!(code(&none, 404), "model_not_found");
}

pub(crate) async fn no_planted_secret_is_in_the_database_or_reaches_the_provider(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::saying("Do not paste secrets.");
    provide(&harness, &provider).await;
    for secret in planted_secrets() {
        let mut streamed = question(&secret.text);
        streamed["stream"] = json!(true);
        ask(&harness, &question(&secret.text)).send().await.unwrap().text().await.unwrap();
        ask(&harness, &streamed).send().await.unwrap().text().await.unwrap();
    }

    assert!(provider.has_received("SECRET_REDACTED"));
    for secret in planted_secrets() {
        let tables = harness.database().tables_containing(&secret.needle).await;
        assert!(tables.is_empty(), "the {} is in {tables:?}", secret.name);
        assert!(!provider.has_received(&secret.needle), "the provider saw the {}", secret.name);
    }
    let kept = harness.database().tables_containing("SECRET_REDACTED").await;
    assert_eq!(kept, ["chat_messages"]);
}

/// The data of every event of a stream.
pub(crate) fn data_of(text: &str) -> Vec<String> {
    let mut all = vec![];
    let mut reader = sse::Reader::new(text.len());
    reader.push(text.as_bytes(), |event| all.push(event.data)).unwrap();
    all
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn text_of(chunk: &Value) -> Option<String> {
    Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned())
}
