//! Anthropic's Messages API of agents, over HTTP: the same rules, budgets, redaction and records as chat completions.

use cynode_domain::policy::{AgentType, Principal};
use cynode_testkit::planted_secrets;
use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use cynode_wire::agents::{BindingView, NewAgentTokenView};
use cynode_wire::inferences::InferenceQuery;
use cynode_wire::settings::SetSetting;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::chat::data_of;
use crate::harness::{HarnessResponse, OrchestratorHarness};
use crate::mcp::issue;
use crate::state_tools::queued;

const PATH: &str = "/v1/egress/messages";

/// Adds a provider that costs money; `allow` says who may use it.
async fn provide(harness: &OrchestratorHarness, provider: &ScriptedProvider, allow: &str) {
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "is_local": true, "allow": allow,
        "models": ["m"], "prices": { "m": { "input": 1, "output": 2 } },
    });
    let body = serde_json::from_value(body).unwrap();
    harness.admin().provider_put("near", &body).await.unwrap();
}

/// A token as the agent of a job has it.
async fn agent_token(harness: &OrchestratorHarness) -> NewAgentTokenView {
    let (task, job) = queued(harness).await;
    let (task_id, job_id) = (Some(task.id), Some(job));
    let binding = BindingView { task_id, job_id, ..BindingView::default() };
    issue(harness, AgentType::Sandbox, binding).await
}

fn request() -> Value {
    json!({
        "model": "near/m", "max_tokens": 64, "system": "Be brief.",
        "messages": [{ "role": "user", "content": "How warm is it?" }],
        "tools": [{ "name": "look_up", "description": "Looks up the weather.",
            "input_schema": { "type": "object", "properties": { "city": { "type": "string" } } } }],
    })
}

/// Sends a request as Anthropic's clients do.
fn ask(harness: &OrchestratorHarness, token: &str, body: &Value) -> RequestBuilder {
    let request = harness.request(Method::POST, &format!("{PATH}?beta=true"));
    let request = request.header("x-api-key", token).header("anthropic-version", "2023-06-01");
    request.header("anthropic-beta", "fine-grained-tool-streaming-2025-05-14").json(body)
}

/// The events of a stream; the name of each equals its type.
fn events_of(text: &str) -> Vec<Value> {
    let names = text.lines().filter_map(|line| line.strip_prefix("event: "));
    let events =
        data_of(text).into_iter().map(|data| serde_json::from_str::<Value>(&data).unwrap());
    let events: Vec<Value> = events.collect();
    assert!(names.eq(events.iter().map(|event| event["type"].as_str().unwrap())), "{text}");
    events
}

/// Asserts an error in Anthropic's form and returns its type.
#[track_caller]
fn error_type(answer: &HarnessResponse, status: u16) -> &str {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
    assert_eq!(answer.body["type"], "error", "{}", answer.body);
    assert!(answer.body["error"]["message"].is_string(), "{}", answer.body);
    answer.body["error"]["type"].as_str().unwrap()
}

pub(crate) async fn an_agent_gets_messages_and_calls_of_tools_and_they_are_on_record(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provide(&harness, &provider, "everyone").await;
    let cities = [("look_up", json!({ "city": "Rome" })), ("look_up", json!({ "city": "Oslo" }))];
    provider.script([Said::tool_calls(cities), Said::text("It is warm.")]);
    let NewAgentTokenView { secret: token, token: issued } = agent_token(&harness).await;
    let mut body = request();

    let first = HarnessResponse::send(ask(&harness, &token, &body)).await;
    let turns = body["messages"].as_array_mut().unwrap();
    turns.push(json!({ "role": "assistant", "content": first.body["content"] }));
    turns.push(json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "call_1", "content": "22 degrees" },
        { "type": "tool_result", "tool_use_id": "call_2", "is_error": true,
          "content": [{ "type": "text", "text": "no such city" }] },
    ] }));
    let second = HarnessResponse::send(ask(&harness, &token, &body)).await;

    let call = |id: &str, city: &str| json!({ "type": "tool_use", "id": id, "name": "look_up", "input": { "city": city } });
    assert_eq!(first.body["content"], json!([call("call_1", "Rome"), call("call_2", "Oslo")]));
    assert_eq!(first.body["stop_reason"], "tool_use");
    assert_eq!(
        second.body,
        json!({
            "id": "msg_chatcmpl-scripted", "type": "message", "role": "assistant", "model": "m",
            "content": [{ "type": "text", "text": "It is warm." }],
            "stop_reason": "end_turn", "stop_sequence": null,
            "usage": { "input_tokens": 11, "output_tokens": 7 },
        })
    );
    let sent = &provider.requests()[1].body;
    let roles = sent["messages"].as_array().unwrap().iter().map(|it| it["role"].as_str().unwrap());
    assert_eq!(roles.collect::<Vec<_>>(), ["system", "user", "assistant", "tool", "tool"]);
    assert_eq!(sent["messages"][4]["content"], "Error: no such city");
    assert_eq!(sent["max_tokens"], 64, "{sent}");
    let shown = harness.admin().inference_list(&InferenceQuery::default()).await.unwrap();
    assert_eq!((shown.totals.calls, shown.totals.cost_micro_usd), (2, 50));
    let record = &shown.calls.items[0];
    assert_eq!((&*record.purpose, record.agent.map(Principal::as_str)), ("agent", Some("sandbox")));
    assert_eq!(record.task, issued.binding.task_id);
}

pub(crate) async fn messages_are_streamed_as_events_and_an_error_ends_the_stream(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provide(&harness, &provider, "everyone").await;
    let cities = [("look_up", json!({ "city": "Rome" })), ("look_up", json!({}))];
    let broken = Said::text("one two three").disconnecting_after(3);
    provider.script([Said::text("one two three"), Said::tool_calls(cities), broken]);
    let token = agent_token(&harness).await.secret;
    let mut body = request();
    body["stream"] = json!(true);

    let text = ask(&harness, &token, &body).send().await.unwrap();
    assert_eq!(text.headers()["content-type"], "text/event-stream");
    let text = events_of(&text.text().await.unwrap());
    let calls = ask(&harness, &token, &body).send().await.unwrap().text().await.unwrap();
    let calls = events_of(&calls);
    let broken = ask(&harness, &token, &body).send().await.unwrap().text().await.unwrap();
    let broken = events_of(&broken);

    let said: String = text.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(said, "one two three");
    assert_eq!(text[0]["message"]["id"], "msg_chatcmpl-scripted");
    let end = &text[text.len() - 2];
    assert_eq!(end["delta"], json!({ "stop_reason": "end_turn", "stop_sequence": null }));
    assert_eq!(end["usage"], json!({ "input_tokens": 11, "output_tokens": 7 }));
    assert_eq!(text[text.len() - 1], json!({ "type": "message_stop" }));
    let inputs = calls.iter().filter_map(|event| event["delta"]["partial_json"].as_str());
    assert_eq!(inputs.collect::<Vec<_>>(), ["{\"city\":\"Rome\"}", "{}"]);
    assert_eq!(calls[calls.len() - 2]["delta"]["stop_reason"], "tool_use");
    let last = broken.last().unwrap();
    assert_eq!((&last["type"], &last["error"]["type"]), (&json!("error"), &json!("api_error")));
    assert_eq!(broken[0]["type"], "message_start");
    let shown = harness.admin().inference_list(&InferenceQuery::default()).await.unwrap();
    assert_eq!(shown.totals.calls, 3);
}

pub(crate) async fn refusals_of_messages_have_anthropics_form(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::saying("hi");
    let token = agent_token(&harness).await;
    let nobody = harness.request(Method::POST, PATH).json(&request());
    let person = harness.as_admin(Method::POST, PATH).json(&request());
    for request in [nobody, person, ask(&harness, "cyn_sandbox_unknown", &request())] {
        let answer = HarnessResponse::send(request).await;
        assert_eq!(error_type(&answer, 401), "authentication_error");
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
    let mut broken = request();
    broken["messages"][0]["content"] = json!([{ "type": "text" }]);
    let broken = HarnessResponse::send(ask(&harness, &token.secret, &broken)).await;
    assert_eq!(error_type(&broken, 400), "invalid_request_error");
    assert_eq!(broken.body["error"]["message"], "messages[0].content[0].text is missing");
    let none = HarnessResponse::send(ask(&harness, &token.secret, &request())).await;
    assert_eq!(error_type(&none, 404), "not_found_error");
    let method = harness.request(Method::GET, PATH).bearer_auth(&token.secret);
    assert_eq!(error_type(&HarnessResponse::send(method).await, 405), "invalid_request_error");
    let large = json!({ "padding": "x".repeat(11 * 1024 * 1024) });
    let large = HarnessResponse::send(ask(&harness, &token.secret, &large)).await;
    assert_eq!(error_type(&large, 413), "request_too_large");

    provide(&harness, &provider, "rules").await;
    let denied = HarnessResponse::send(ask(&harness, &token.secret, &request())).await;
    assert_eq!(error_type(&denied, 403), "permission_error");
    provide(&harness, &provider, "everyone").await;
    let value = json!(0);
    let budget = SetSetting { value, expected_version: None, reason: None };
    harness.admin().setting_set("budget.day_usd", &budget).await.unwrap();
    let spent = HarnessResponse::send(ask(&harness, &token.secret, &request())).await;
    assert_eq!(error_type(&spent, 429), "rate_limit_error");
    assert_eq!(spent.header("x-should-retry"), "false");
    let message = spent.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("budget"), "{message}");
    harness.admin().setting_remove("budget.day_usd").await.unwrap();
    provider.otherwise(Said::rate_limited(3600));
    let limited = HarnessResponse::send(ask(&harness, &token.secret, &request())).await;
    assert_eq!(error_type(&limited, 429), "rate_limit_error");
    assert_eq!(limited.header("retry-after"), "3600");

    harness.admin().agent_token_revoke(token.token.id).await.unwrap();
    let revoked = HarnessResponse::send(ask(&harness, &token.secret, &request())).await;
    assert_eq!(error_type(&revoked, 401), "authentication_error");
    assert_eq!(provider.requests().len(), 1);
}

pub(crate) async fn no_secret_in_messages_reaches_a_provider_or_the_database(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::saying("Noted.");
    provide(&harness, &provider, "everyone").await;
    let token = agent_token(&harness).await.secret;
    for secret in planted_secrets() {
        let text = &secret.text;
        let result = json!([{ "type": "text", "text": text }]);
        let mut body = json!({
            "model": "near/m", "max_tokens": 9, "system": [{ "type": "text", "text": text }],
            "metadata": { "user_id": text }, "unknown": text, "stop_sequences": [text],
            "messages": [
                { "role": "user", "content": format!("standard output:\n{text}\n") },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "c", "name": "f", "input": { "prompt": text } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c", "content": result },
                ] },
            ],
            "tools": [{ "name": "f", "description": text, "input_schema": { "title": text } }],
        });
        for stream in [false, true] {
            body["stream"] = json!(stream);
            let answer = ask(&harness, &token, &body).send().await.unwrap();
            assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
            answer.text().await.unwrap();
        }
    }

    assert!(provider.has_received("standard output:") && provider.has_received("SECRET_REDACTED"));
    for secret in planted_secrets() {
        assert!(!provider.has_received(&secret.needle), "the provider saw the {}", secret.name);
        let tables = harness.database().tables_containing(&secret.needle).await;
        assert!(tables.is_empty(), "the {} is in {tables:?}", secret.name);
    }
}

pub(crate) async fn tokens_of_messages_are_counted_without_a_provider(
    harness: OrchestratorHarness,
) {
    let token = agent_token(&harness).await.secret;
    let count = |token: &str, body: &Value| {
        let path = format!("{PATH}/count_tokens?beta=true");
        harness.request(Method::POST, &path).bearer_auth(token).json(body)
    };
    let body = json!({ "model": "any", "system": "1234",
        "messages": [{ "role": "user", "content": "12345" }] });

    let counted = HarnessResponse::send(count(&token, &body)).await;
    let odd = HarnessResponse::send(count(&token, &json!({ "model": "any" }))).await;
    let stranger = HarnessResponse::send(count("nobody", &body)).await;

    assert_eq!(counted.body, json!({ "input_tokens": 3 }));
    assert_eq!(error_type(&odd, 400), "invalid_request_error");
    assert_eq!(error_type(&stranger, 401), "authentication_error");
    let shown = harness.admin().inference_list(&InferenceQuery::default()).await.unwrap();
    assert_eq!(shown.totals.calls, 0);
}
