//! Requests that never reach an operation: the edge refuses them, always as a problem.

use reqwest::Method;
use serde_json::json;

use crate::harness::{HarnessResponse, OrchestratorHarness};

const TRACE: &str = "018f3f3e-0000-7000-8000-00000000beef";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_cannot_be_read_are_refused_in_words() {
    let harness = OrchestratorHarness::sqlite().await;
    let bodies: [(&[u8], &str); 7] = [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b"{\"prompt\": \"\xff\xfe\"}", "body"),
        (b"{\"prompt\": 7}", "prompt"),
        (b"{\"prompt\": \"x\", \"colour\": \"red\"}", "unknown field `colour`"),
        (b"{\"prompt\": \"x\", \"input_mode\": \"magic\"}", "input_mode"),
    ];
    for (body, words) in bodies {
        let request = harness
            .as_admin(Method::POST, "/v1/tasks")
            .header("content-type", "application/json")
            .body(body.to_vec());
        let answer = HarnessResponse::send(request).await;

        assert!(answer.assert_problem(400).contains(words), "{}", answer.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_refused_before_the_body_was_read_is_told_that_the_connection_ends() {
    let harness = OrchestratorHarness::sqlite().await;
    let body = json!({ "prompt": "x" });

    let stranger =
        HarnessResponse::send(harness.request(Method::POST, "/v1/tasks").json(&body)).await;
    let stranger_to_chat = harness.request(Method::POST, "/v1/chat/completions").json(&body);
    let stranger_to_chat = HarnessResponse::send(stranger_to_chat).await;
    let nowhere =
        HarnessResponse::send(harness.as_admin(Method::POST, "/v1/embeddings").json(&body)).await;
    let without = HarnessResponse::send(harness.request(Method::GET, "/v1/tasks")).await;
    let known =
        HarnessResponse::send(harness.as_admin(Method::POST, "/v1/tasks").json(&body)).await;

    assert_eq!((stranger.status.as_u16(), stranger.header("connection")), (401, "close"));
    assert_eq!(
        (stranger_to_chat.status.as_u16(), stranger_to_chat.header("connection")),
        (401, "close")
    );
    assert_eq!((nowhere.status.as_u16(), nowhere.header("connection")), (404, "close"));
    assert_eq!((without.status.as_u16(), without.header("connection")), (401, ""));
    assert_eq!((known.status.as_u16(), known.header("connection")), (201, ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_another_format_is_refused() {
    let harness = OrchestratorHarness::sqlite().await;
    for format in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let request = harness
            .as_admin(Method::POST, "/v1/tasks")
            .header("content-type", format)
            .body("{\"prompt\": \"x\"}");

        assert!(
            HarnessResponse::send(request).await.assert_problem(415).contains("application/json")
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_large_is_refused() {
    let harness = OrchestratorHarness::sqlite().await;
    let body = json!({ "display_name": "x".repeat(11 * 1024 * 1024) });

    let request = harness.as_admin(Method::POST, "/v1/projects").json(&body);
    HarnessResponse::send(request).await.assert_problem(413);

    let body = json!({ "prompt": "x".repeat(65 * 1024 * 1024) });
    HarnessResponse::send(harness.as_admin(Method::POST, "/v1/tasks").json(&body))
        .await
        .assert_problem(413);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_routes_and_methods_are_problems_too() {
    let harness = OrchestratorHarness::sqlite().await;

    HarnessResponse::send(harness.request(Method::GET, "/v1/nothing")).await.assert_problem(404);
    HarnessResponse::send(harness.request(Method::GET, "/v2/tasks")).await.assert_problem(404);
    let answer = HarnessResponse::send(harness.as_admin(Method::DELETE, "/v1/tasks")).await;
    answer.assert_problem(405);
    assert!(answer.header("allow").contains("POST"));
    let odd = Method::from_bytes(b"BREW").unwrap();
    HarnessResponse::send(harness.as_admin(odd, "/v1/tasks")).await.assert_problem(405);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_openai_s_clients_call_is_refused_as_they_can_read_it() {
    let harness = OrchestratorHarness::sqlite().await;
    let table = [
        (Method::POST, "/v1/completions", 404, "unknown_url"),
        (Method::POST, "/v1/embeddings", 404, "unknown_url"),
        (Method::POST, "/v1/images/generations", 404, "unknown_url"),
        (Method::GET, "/v1/chat/completions", 405, "method_not_allowed"),
        (Method::POST, "/v1/models", 405, "method_not_allowed"),
        (Method::GET, "/v1/responses", 405, "method_not_allowed"),
    ];
    for (method, path, status, code) in table {
        let answer = HarnessResponse::send(harness.as_admin(method, path)).await;

        assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.body);
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
        assert_eq!(answer.body["error"]["code"], code, "{path}: {}", answer.body);
        assert_eq!(answer.header("allow").is_empty(), status != 405, "{path}");
    }
    // Threads are not part of OpenAI's API, so their errors are problem documents.
    HarnessResponse::send(harness.as_admin(Method::DELETE, "/v1/chat/threads"))
        .await
        .assert_problem(405);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_carries_the_trace_id_of_its_request() {
    let harness = OrchestratorHarness::sqlite().await;
    let request = harness.request(Method::GET, "/v1/tasks").header("x-trace-id", TRACE);

    let answer = HarnessResponse::send(request).await;

    answer.assert_problem(401);
    assert_eq!(answer.header("x-trace-id"), TRACE);
    let other =
        HarnessResponse::send(harness.request(Method::GET, "/healthz").header("x-trace-id", "x y"));
    assert_eq!(other.await.header("x-trace-id").len(), TRACE.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_continues_the_trace_of_a_valid_traceparent() {
    let harness = OrchestratorHarness::sqlite().await;
    let hex = TRACE.replace('-', "");
    let answered = async |value: &str| {
        let request = harness.request(Method::GET, "/healthz").header("traceparent", value);
        HarnessResponse::send(request).await.header("x-trace-id").to_owned()
    };
    let span = "00f067aa0ba902b7";

    for valid in [format!("00-{hex}-{span}-01"), format!("01-{hex}-{span}-00-later")] {
        assert_eq!(answered(&valid).await, TRACE, "{valid}");
    }
    let null = "0".repeat(32);
    for invalid in [
        String::new(),
        format!("ff-{hex}-{span}-01"),
        format!("00-{null}-{span}-01"),
        format!("00-{hex}-0000000000000000-01"),
        format!("00-{}-{span}-01", hex.to_uppercase()),
        format!("00-{hex}-{span}-01-more"),
        format!("00-{TRACE}-{span}-01"),
        format!("00-{hex}-{span}"),
    ] {
        let own = answered(&invalid).await;
        assert_ne!(own, TRACE, "{invalid}");
        assert_eq!(own.len(), TRACE.len(), "{invalid}");
    }
    // The header of our own wins.
    let request = harness.request(Method::GET, "/healthz").header("x-trace-id", TRACE);
    let request = request.header("traceparent", format!("00-{}-{span}-01", "a".repeat(32)));
    assert_eq!(HarnessResponse::send(request).await.header("x-trace-id"), TRACE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_kept_by_no_cache() {
    let harness = OrchestratorHarness::sqlite().await;

    let answer = HarnessResponse::send(harness.as_admin(Method::GET, "/v1/users/me")).await;

    assert_eq!(answer.header("cache-control"), "no-store");
}

/// Every label value takes memory for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_methods_and_routes_do_not_fill_the_metrics() {
    let harness = OrchestratorHarness::sqlite().await;
    for number in 0..5 {
        let method = Method::from_bytes(format!("BREW{number}").as_bytes()).unwrap();
        HarnessResponse::send(harness.request(method, &format!("/made-up-{number}"))).await;
    }

    let metrics = HarnessResponse::send(harness.request(Method::GET, "/metrics")).await.body;

    let metrics = metrics.as_str().unwrap();
    assert!(metrics.contains("method=\"other\""), "{metrics}");
    assert!(!metrics.contains("BREW") && !metrics.contains("made-up"), "{metrics}");
}
