//! The API document: valid, served, and the same as the one in the repository.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use crate::harness::{HarnessResponse, OrchestratorHarness};

const HOW: &str =
    "run: cargo run -q -p cynode-orchestrator -- openapi > docs/reference/openapi.json";

async fn served() -> Value {
    let harness = OrchestratorHarness::sqlite().await;
    let answer = HarnessResponse::send(harness.request(Method::GET, "/v1/openapi.json")).await;
    assert_eq!(answer.status, 200);
    answer.body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_reference_is_what_the_orchestrator_serves() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    let kept: Value = serde_json::from_str(&kept).unwrap_or_default();

    assert!(kept == served().await, "docs/reference/openapi.json is old; {HOW}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_document_is_valid_openapi_3_1() {
    let document = served().await;

    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert!(!document["info"]["version"].as_str().unwrap().is_empty());
    check_references(&document, &document);
    check_words(&document);
    let mut names = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let location = format!("{method} {path}");
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name), "{location}: {name} is used twice");
            assert!(!operation["responses"].as_object().unwrap().is_empty(), "{location}");
            assert!(operation["summary"].is_string() || operation["description"].is_string());
            check_path_parameters(path, operation);
        }
    }
    assert!(names.len() > 30);
}

/// Every part of a path in braces is a required parameter, and the other way round.
fn check_path_parameters(path: &str, operation: &Value) {
    let expected: BTreeSet<_> =
        path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
    let none = vec![];
    let given: BTreeSet<_> = operation["parameters"]
        .as_array()
        .unwrap_or(&none)
        .iter()
        .filter(|parameter| parameter["in"] == "path" && parameter["required"] == true)
        .filter_map(|parameter| parameter["name"].as_str())
        .collect();
    assert_eq!(expected, given, "{path}");
}

/// Every reference leads somewhere.
fn check_references(value: &Value, document: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let location = reference.strip_prefix('#').unwrap();
                assert!(document.pointer(location).is_some(), "{reference} leads nowhere");
            }
            fields.values().for_each(|field| check_references(field, document));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(item, document)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every word that a client must choose from is spelled as it is sent, not as our types are.
fn check_words(value: &Value) {
    match value {
        Value::Object(fields) => {
            let words = fields.get("enum").and_then(Value::as_array).into_iter().flatten();
            for word in words.filter_map(Value::as_str) {
                assert!(!word.starts_with(char::is_uppercase), "{value:#}");
            }
            fields.values().for_each(check_words);
        }
        Value::Array(items) => items.iter().for_each(check_words),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
