//! Tests of the handoff API.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use cynode_agent::HandoffAgentOptions;
use cynode_agent::brain::BrainOptions;
use cynode_agent::context::Instructions;
use cynode_client::Client;
use cynode_runtime::telemetry::gen_ai;
use cynode_runtime::telemetry::tracing_capture::TracingCapture;
use cynode_wire::handoff::AgentRole;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;

const SECRET: &str = "open sesame";

fn service(max_open: usize) -> HandoffApi {
    let agent = HandoffAgent::new(HandoffAgentOptions {
        role: AgentRole::ProjectManager,
        instructions: Instructions { baseline: "b".to_owned(), ..Instructions::default() },
        orchestrator: Client::anonymous("http://127.0.0.1:1").unwrap(),
        brain: BrainOptions::default(),
    });
    HandoffApi::new(agent, &SecretString::from(SECRET), max_open)
}

fn handoff(body: &Value) -> Value {
    let user = "01900000-0000-7000-8000-000000000001";
    json!({
        "context": {
            "user": { "id": user, "handle": "ada" },
            "trace_id": "t",
            "agent_token": "cyn_pm_x",
            "preferences": { "effective": {}, "skipped": [] },
            "skill": "",
        },
        "body": body,
    })
}

fn request(kind: &str, secret: Option<&str>, body: &Value) -> Request {
    let mut request = Request::post(format!("/v1/handoff/{kind}"));
    if let Some(secret) = secret {
        request = request.header(AUTHORIZATION, format!("Bearer {secret}"));
    }
    request.body(Body::from(body.to_string())).unwrap()
}

async fn send_request(service: HandoffApi, request: Request) -> (StatusCode, HeaderMap, Value) {
    let response = service.routes().oneshot(request).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, headers, serde_json::from_slice(&body).unwrap_or_default())
}

fn continue_run() -> Value {
    handoff(&json!({
        "node": "collect_result", "situation": "the node is gone", "attempts": 1, "standstill": "not_started",
    }))
}

#[tokio::test]
async fn nobody_without_the_secret_is_heard() {
    for secret in [None, Some(""), Some("open sesam"), Some("open sesame!")] {
        let (status, _, body) =
            send_request(service(1), request("continue_run", secret, &continue_run())).await;

        assert_eq!(status, StatusCode::UNAUTHORIZED, "{secret:?}");
        assert_eq!(body["detail"], "only the orchestrator may send handoffs");
    }
}

#[tokio::test]
async fn the_orchestrator_is_answered() {
    let (status, _, body) =
        send_request(service(1), request("continue_run", Some(SECRET), &continue_run())).await;

    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(body["with"], "retry");
}

#[tokio::test]
async fn a_handoff_is_a_span_of_the_agent_inside_the_span_of_the_handoff() {
    let (capture, _guard) = TracingCapture::start();

    send_request(service(1), request("continue_run", Some(SECRET), &continue_run())).await;
    send_request(service(1), request("analyse", Some(SECRET), &analyse())).await;

    let agents = capture.spans("agent");
    let [answered, failed] = &agents[..] else { panic!("{agents:#?}") };
    for span in &agents {
        assert_eq!(span.parent, Some("handoff"));
        assert_eq!(span.field("otel.name"), "invoke_agent project_manager");
        assert_eq!((span.field("trace_id"), span.field(gen_ai::PROVIDER_NAME)), ("t", "cynode"));
    }
    assert_eq!(answered.field(gen_ai::ERROR_TYPE), "");
    assert_eq!(failed.field(gen_ai::ERROR_TYPE), "wrong_role");
}

#[tokio::test]
async fn without_room_the_caller_is_told_when_to_ask_again() {
    let service = service(1);
    let _taken = service.permits.clone().try_acquire_owned().unwrap();

    let (status, headers, _) =
        send_request(service, request("continue_run", Some(SECRET), &continue_run())).await;

    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(headers[RETRY_AFTER], "1");
}

#[tokio::test]
async fn unknown_kinds_unreadable_bodies_and_bad_deadlines_are_refused() {
    for (kind, body, status) in [
        ("dance", continue_run(), StatusCode::NOT_FOUND),
        ("continue_run", json!({}), StatusCode::BAD_REQUEST),
        ("chat", json!({}), StatusCode::BAD_REQUEST),
    ] {
        let (given, ..) = send_request(service(1), request(kind, Some(SECRET), &body)).await;
        assert_eq!(given, status, "{kind}");
    }

    let mut late = request("continue_run", Some(SECRET), &continue_run());
    late.headers_mut().insert(DEADLINE_HEADER, HeaderValue::from_static("0"));
    assert_eq!(send_request(service(1), late).await.0, StatusCode::BAD_REQUEST);
}

fn analyse() -> Value {
    let id = "01900000-0000-7000-8000-000000000001";
    handoff(&json!({
        "job_id": id, "step_index": 0, "attempt": 1, "criteria": ["nice"],
        "evidence": { "ending": { "kind": "exited", "code": 0 }, "stdout": "", "artifacts": [] },
    }))
}

#[tokio::test]
async fn a_project_manager_does_not_do_the_work_of_analysts() {
    let request = request("analyse", Some(SECRET), &analyse());

    let (status, _, body) = send_request(service(1), request).await;

    assert_eq!(status, StatusCode::CONFLICT, "{body}");
}
