//! Errors in OpenAI's format.

use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use cynode_testkit::query;
use reqwest::Method;
use serde_json::json;

use super::{ask, code, data_of, parsed, provide, question};
use crate::harness::{HarnessResponse, OrchestratorHarness};

pub(crate) async fn requests_that_break_rules_are_refused_as_openai_does(
    harness: OrchestratorHarness,
) {
    let post =
        |body: &'static str| harness.as_admin(Method::POST, "/v1/chat/completions").body(body);
    for body in [
        "",
        "not json",
        "[]",
        "{}",
        r#"{"messages": []}"#,
        r#"{"messages": "hi"}"#,
        r#"{"messages": [{"role": "wizard", "content": "hi"}]}"#,
        r#"{"messages": [{"role": "system", "content": "hi"}]}"#,
    ] {
        let answer = HarnessResponse::send(post(body)).await;
        assert_eq!(code(&answer, 400), "invalid_request", "{body}");
    }
    let large = "x".repeat(11 * 1024 * 1024);
    let large = harness.as_admin(Method::POST, "/v1/chat/completions").body(large);
    assert_eq!(code(&HarnessResponse::send(large).await, 413), "request_too_large");
}

pub(crate) async fn callers_without_a_good_token_are_told_to_authenticate(
    harness: OrchestratorHarness,
) {
    for path in ["/v1/chat/completions", "/v1/models", "/v1/models/cynodeai.pm"] {
        let method = if path.ends_with("completions") { Method::POST } else { Method::GET };
        let nobody = harness.request(method.clone(), path).json(&question("hi"));
        let stranger = harness.request(method, path).bearer_auth("sk-nobody").json(&question("hi"));
        for request in [nobody, stranger] {
            let answer = HarnessResponse::send(request).await;
            assert_eq!(code(&answer, 401), "authentication_required");
            assert!(answer.header("www-authenticate").starts_with("Bearer"));
        }
    }
}

pub(crate) async fn whoever_cannot_answer_is_said_by_code(harness: OrchestratorHarness) {
    let mut unknown = question("hi");
    unknown["model"] = json!("gpt-9");
    let nobody = HarnessResponse::send(ask(&harness, &unknown)).await;
    assert_eq!(code(&nobody, 404), "model_not_found");
    let manager = json!({ "messages": [{ "role": "user", "content": "hi" }] });
    let away = HarnessResponse::send(ask(&harness, &manager)).await;
    assert_eq!(code(&away, 503), "model_unavailable");
    assert_eq!(away.header("retry-after"), "1");
    // The provider's address is not disclosed.
    let said = away.body["error"]["message"].as_str().unwrap();
    assert!(said.contains("cynork status") && !said.contains('/'), "{said}");
    let mut thrice = manager.clone();
    thrice["n"] = json!(3);
    let refused = HarnessResponse::send(ask(&harness, &thrice)).await;
    assert_eq!(code(&refused, 400), "invalid_request");
    assert_eq!(refused.body["error"]["param"], "n");
    let project = ask(&harness, &question("hi")).header("OpenAI-Project", "nowhere");
    assert_eq!(code(&HarnessResponse::send(project).await, 404), "project_not_found");
}

pub(crate) async fn every_fault_of_a_provider_has_its_code(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::start();
    provide(&harness, &provider).await;
    let faults = [
        (Said::unauthorized("sk-secret-of-ours"), 502, "orchestrator_inference_failed"),
        (Said::invalid_json(), 502, "orchestrator_inference_failed"),
        (Said::wrong_schema(), 502, "orchestrator_inference_failed"),
        (Said::status(400, "too many tools"), 400, "invalid_request"),
    ];
    for (fault, status, expected) in faults {
        provider.otherwise(fault.clone());
        let answer = HarnessResponse::send(ask(&harness, &question("hi"))).await;
        assert_eq!(code(&answer, status), expected, "{fault:?}");
        assert!(!answer.body.to_string().contains("sk-secret"), "{}", answer.body);
    }
    provider.otherwise(Said::rate_limited(60));
    let request = provider.requests().len();
    for _ in 0..2 {
        let limited = HarnessResponse::send(ask(&harness, &question("hi"))).await;
        assert_eq!(code(&limited, 503), "model_unavailable");
        let reported: u64 = limited.header("retry-after").parse().unwrap();
        assert!((30..=60).contains(&reported), "{reported}");
    }
    assert_eq!(provider.requests().len(), request + 1, "it asked to be left alone");
}

pub(crate) async fn a_stream_that_breaks_off_ends_with_an_error(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Said::text_chunks(["It", " is", " warm"]).disconnecting_after(2));
    provide(&harness, &provider).await;
    let mut body = question("hi");
    body["stream"] = json!(true);

    let text = ask(&harness, &body).send().await.unwrap().text().await.unwrap();

    let events = data_of(&text);
    let last = parsed(events.last().unwrap());
    assert_eq!(last["error"]["code"], "orchestrator_inference_failed", "{text}");
    assert!(!text.contains("[DONE]"));
    let sql = "SELECT content, is_partial FROM chat_messages WHERE role = 'assistant'";
    let kept = query(&harness.database().url, sql).await;
    // The newest words may have been held back, to see whether a secret follows.
    assert!(kept[0][0].starts_with("It"), "{kept:?}");
    assert!(matches!(kept[0][1].as_str(), "1" | "t"), "{kept:?}");
}

pub(crate) async fn a_client_that_hangs_up_ends_the_call_to_the_model(
    harness: OrchestratorHarness,
) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Said::text_chunks(["It", " is", " warm"]).stalling_after(1));
    provide(&harness, &provider).await;
    let mut body = question("hi");
    body["stream"] = json!(true);

    let mut response = ask(&harness, &body).send().await.unwrap();
    response.chunk().await.unwrap().unwrap();
    drop(response);

    provider.wait_for_abandoned(1).await;
    let sql = "SELECT outcome FROM chat_audit_log";
    let outcome = loop {
        if let Some(row) = query(&harness.database().url, sql).await.pop() {
            break row;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(outcome, ["canceled"]);
}

pub(crate) async fn an_answer_that_does_not_come_is_a_timeout(harness: OrchestratorHarness) {
    let harness = harness.restart_with(|options| options.chat_wait_s = 1).await;
    let provider = ScriptedProvider::start();
    provider.otherwise(Said::no_response());
    provide(&harness, &provider).await;
    let mut streamed = question("hi");
    streamed["stream"] = json!(true);

    for body in [question("hi"), streamed] {
        let answer = HarnessResponse::send(ask(&harness, &body)).await;
        assert_eq!(code(&answer, 504), "cynodeai_completion_timeout");
    }
}
