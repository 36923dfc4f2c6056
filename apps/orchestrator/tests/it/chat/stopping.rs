//! Partial answers are persisted when the orchestrator shuts down.

use cynode_testkit::provider::{Answer as Said, ScriptedProvider};
use reqwest::Method;
use serde_json::json;

use super::{ask, provide, question};
use crate::harness::{HarnessResponse, OrchestratorHarness};

pub(crate) async fn a_stop_keeps_an_answer_that_was_begun(harness: OrchestratorHarness) {
    let provider = ScriptedProvider::start();
    provider.otherwise(Said::text("one two three").stalling_after(3));
    provide(&harness, &provider).await;
    let mut question = question("Count");
    question["stream"] = json!(true);
    let mut response = ask(&harness, &question).send().await.unwrap();
    let mut reported = String::new();
    while !reported.contains("one") {
        reported.push_str(&String::from_utf8_lossy(&response.chunk().await.unwrap().unwrap()));
    }

    let harness = harness.restart_with(|_| {}).await;

    while let Ok(Some(more)) = response.chunk().await {
        reported.push_str(&String::from_utf8_lossy(&more));
    }
    assert!(
        reported.contains("orchestrator_stopping") && !reported.contains("[DONE]"),
        "{reported}"
    );
    let threads = HarnessResponse::send(harness.as_admin(Method::GET, "/v1/chat/threads")).await;
    let id = threads.body["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/chat/threads/{id}/messages");
    let said = HarnessResponse::send(harness.as_admin(Method::GET, &path)).await;
    let answer = &said.body["items"][1];
    assert_eq!((&answer["role"], &answer["is_partial"]), (&json!("assistant"), &json!(true)));
    assert!(answer["content"].as_str().unwrap().starts_with("one"), "{answer}");
    let calls = HarnessResponse::send(harness.as_admin(Method::GET, "/v1/brain/calls")).await;
    assert_eq!(calls.body["calls"]["items"][0]["outcome"], "canceled", "{}", calls.body);
}
