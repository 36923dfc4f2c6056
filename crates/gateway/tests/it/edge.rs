//! Authentication, and rejections before a message is parsed.

use cynode_domain::policy::ErrorKind;
use cynode_gateway::GatewayOptions;
use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::backend::Entry;
use crate::harness::Harness;

fn call() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "db.task.list" } })
}

#[tokio::test]
async fn a_caller_without_a_good_token_is_told_where_to_learn_how_and_is_recorded() {
    let harness = Harness::new().await;

    for (token, kind) in [(None, "missing_bearer"), (Some("nonsense"), "invalid_agent_token")] {
        let mut request = harness.http.post(format!("{}/mcp", harness.url)).json(&call());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();

        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        let expected =
            format!("resource_metadata=\"{}/.well-known/oauth-protected-resource\"", harness.url);
        assert!(challenge.starts_with("Bearer ") && challenge.contains(&expected), "{challenge}");
        let Some(Entry::Denied(record)) = harness.entries().pop() else { panic!("not recorded") };
        assert_eq!(
            (record.stage.as_str(), record.error_type.map(ErrorKind::as_str)),
            ("authenticate", Some(kind))
        );
        assert_eq!((record.tool.as_str(), record.agent), ("db.task.list", None));
    }
}

#[tokio::test]
async fn the_metadata_document_names_the_resource_without_a_token() {
    let harness = Harness::new().await;
    let base = format!("{}/.well-known/oauth-protected-resource", harness.url);

    let root: Value = harness.http.get(&base).send().await.unwrap().json().await.unwrap();
    let one: Value =
        harness.http.get(format!("{base}/mcp/files")).send().await.unwrap().json().await.unwrap();

    assert_eq!(root["resource"], format!("{}/mcp", harness.url));
    assert_eq!(one["resource"], format!("{}/mcp/files", harness.url));
    assert_eq!(root["bearer_methods_supported"], json!(["header"]));
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_before_anything_else() {
    let harness = Harness::new().await;

    for (name, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let response =
            harness.post("/mcp", "pm").header(name, value).json(&call()).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::FORBIDDEN, "{name}");
    }
    assert!(harness.entries().is_empty());
}

#[tokio::test]
async fn batches_broken_json_and_other_types_are_refused() {
    let harness = Harness::new().await;
    for (body, code) in
        [("[]", -32600), ("{", -32700), (r#"{"jsonrpc":"2.0","id":1,"id":2}"#, -32600)]
    {
        let response = harness.post("/mcp", "pm").body(body).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{body}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{body}");
    }
    let request = harness.http.post(format!("{}/mcp", harness.url)).bearer_auth("pm");
    let plain = request.header("content-type", "text/plain").body("{}").send().await.unwrap();
    assert_eq!(plain.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn a_message_longer_than_allowed_is_refused() {
    let harness =
        Harness::with_options(GatewayOptions { max_request_bytes: 1024, ..Default::default() })
            .await;

    let response = harness.post("/mcp", "pm").body("x".repeat(200_000)).send().await.unwrap();

    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_token_that_asks_too_often_is_told_to_wait() {
    let options = GatewayOptions { requests_per_second: 1, request_burst: 1, ..Default::default() };
    let harness = Harness::with_options(options).await;
    let ask = |token| harness.modern("/mcp", token, "tools/list", json!({})).send();

    // Many more than one, because one permit returns every second.
    let answers = join_all((0..20).map(|_| ask("pm"))).await;
    let (refused, heard): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .map(Result::unwrap)
        .partition(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS);

    assert!(!refused.is_empty() && !heard.is_empty(), "{} were heard", heard.len());
    assert!(refused.iter().all(|answer| answer.headers()["retry-after"] == "1"));
    assert!(heard.iter().all(|answer| answer.status() == StatusCode::OK));
    assert_eq!(ask("user").await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_revoked_token_is_refused_as_soon_as_the_registry_says_so() {
    let harness = Harness::new().await;
    let ask = || harness.modern("/mcp", "pm", "tools/list", json!({})).send();
    assert_eq!(ask().await.unwrap().status(), StatusCode::OK);
    harness.backend.tokens.lock().unwrap().remove("pm");

    harness.change(|_| {}).await;

    assert_eq!(ask().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}
