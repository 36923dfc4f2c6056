//! Streamable HTTP: one endpoint, `/mcp`, for both eras; `/count` for benchmarks.
//!
//! Start at [`router`]. No task is spawned: a stream drives the work whose messages it carries, so that
//! a disconnect cancels the request.

mod stream;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::exchange::{FixtureEra, FixtureExchange};
use crate::fixture::McpFixture;
use crate::message::{self, FixtureMessage, FixtureRequest, FixtureRpcError};
use crate::protocol_era::{self, header};
use crate::session::FixtureSession;
use crate::{dispatch, echo, tools};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Serves the fixture on a listener until the future is dropped.
pub async fn serve(fixture: Arc<McpFixture>, listener: TcpListener) -> std::io::Result<()> {
    // Small responses must be sent at once; without the option they are only slower.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router(fixture)).await
}

/// The routes of the fixture.
pub fn router(fixture: Arc<McpFixture>) -> Router {
    Router::new()
        .route("/mcp", get(handle_get).post(handle_post).delete(handle_delete))
        .route("/count", get(handle_count))
        .with_state(fixture)
}

/// `GET /count`
async fn handle_count(State(fixture): State<Arc<McpFixture>>) -> Json<Value> {
    Json(json!({ "calls": fixture.calls(), "cancelled": fixture.cancelled() }))
}

/// `POST /mcp`
async fn handle_post(
    State(fixture): State<Arc<McpFixture>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(status) = check_request(&headers) {
        return status.into_response();
    }
    if let Some(answer) = echo::fast_response(&fixture, &headers, &body) {
        return ([(CONTENT_TYPE, "application/json")], answer).into_response();
    }
    let parsed = serde_json::from_slice(&body).map_err(|_| FixtureRpcError::parse_error());
    match parsed.and_then(message::parse_message) {
        Err(fault) => error_response(&Value::Null, fault),
        Ok(FixtureMessage::Request(request))
            if protocol_era::is_stateless(&headers, Some(&request)) =>
        {
            handle_stateless(fixture, &headers, request).await
        }
        Ok(FixtureMessage::Request(request)) if request.method == "initialize" => {
            initialize(&fixture, &request)
        }
        Ok(message) => match find_session(&fixture, &headers) {
            Ok(session) => handle_session_message(fixture, session, message).await,
            // Notifications of stateless clients are ignored.
            Err(_) if protocol_era::is_stateless(&headers, None) => {
                StatusCode::ACCEPTED.into_response()
            }
            Err(fault) => error_response(&Value::Null, fault),
        },
    }
}

async fn handle_stateless(
    fixture: Arc<McpFixture>,
    headers: &HeaderMap,
    request: FixtureRequest,
) -> Response {
    let checked = protocol_era::check_headers(headers, &request)
        .and_then(|()| protocol_era::check_meta(&request));
    match checked {
        Err(fault) => error_response(&request.id, fault),
        Ok(()) => respond(fixture, request, FixtureEra::Stateless).await,
    }
}

fn initialize(fixture: &McpFixture, request: &FixtureRequest) -> Response {
    let (answer, session) = match dispatch::initialize(request) {
        Ok(opened) => opened,
        Err(fault) => return error_response(&request.id, fault),
    };
    match fixture.open_session(session) {
        Ok(id) => ([(SESSION_ID, id)], Json(message::response_message(&request.id, Ok(answer))))
            .into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn handle_session_message(
    fixture: Arc<McpFixture>,
    session: Arc<FixtureSession>,
    message: FixtureMessage,
) -> Response {
    match message {
        FixtureMessage::Request(request) => {
            respond(fixture, request, FixtureEra::Session(session)).await
        }
        FixtureMessage::Notification { method, params } => {
            let cancelled = method == "notifications/cancelled"
                && params.get("requestId").is_some_and(|id| session.cancel_running(id));
            if cancelled {
                fixture.count_cancelled();
            }
            StatusCode::ACCEPTED.into_response()
        }
        FixtureMessage::Response { id, outcome } => {
            if session.deliver_response(&id, outcome) {
                return StatusCode::ACCEPTED.into_response();
            }
            error_response(
                &id,
                FixtureRpcError::invalid_request("no request with this id is pending"),
            )
        }
    }
}

async fn respond(fixture: Arc<McpFixture>, request: FixtureRequest, era: FixtureEra) -> Response {
    if let (FixtureEra::Session(session), Some("test_reconnection")) = (&era, request.text("name"))
    {
        return stream::close_early(session, &request);
    }
    let streamed = match request.method.as_str() {
        "tools/call" => tools::is_streamed(&request, &era),
        "prompts/get" => matches!(era, FixtureEra::Session(_)),
        "subscriptions/listen" => true,
        _ => false,
    };
    let (out, messages) = mpsc::unbounded_channel();
    let exchange = FixtureExchange { request, era, out };
    if streamed {
        return stream::stream_exchange(fixture, exchange, messages);
    }
    match dispatch::handle_request(&fixture, &exchange).await {
        Ok(result) => {
            Json(message::response_message(&exchange.request.id, Ok(result))).into_response()
        }
        Err(fault) => error_response(&exchange.request.id, fault),
    }
}

/// `GET /mcp`
async fn handle_get(State(fixture): State<Arc<McpFixture>>, headers: HeaderMap) -> Response {
    if let Err(status) = check_origin(&headers) {
        return status.into_response();
    }
    if protocol_era::is_stateless(&headers, None) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match find_session(&fixture, &headers) {
        Ok(session) => match header(&headers, "last-event-id") {
            Some(event) => stream::replay_missed(&session, event),
            None => stream::stream_session(&fixture, session),
        },
        Err(fault) => error_response(&Value::Null, fault),
    }
}

/// `DELETE /mcp`
async fn handle_delete(State(fixture): State<Arc<McpFixture>>, headers: HeaderMap) -> StatusCode {
    match header(&headers, "mcp-session-id") {
        Some(id) if fixture.close_session(id) => StatusCode::NO_CONTENT,
        Some(_) => StatusCode::NOT_FOUND,
        None => StatusCode::METHOD_NOT_ALLOWED,
    }
}

fn find_session(
    fixture: &McpFixture,
    headers: &HeaderMap,
) -> Result<Arc<FixtureSession>, FixtureRpcError> {
    if header(headers, "mcp-protocol-version").is_some_and(|v| !protocol_era::is_session_version(v))
    {
        return Err(FixtureRpcError::invalid_request("this revision has no sessions"));
    }
    let Some(id) = header(headers, "mcp-session-id") else {
        return Err(FixtureRpcError::invalid_request("Mcp-Session-Id is missing"));
    };
    let gone = || FixtureRpcError::invalid_request("there is no such session").status(404);
    fixture.session(id).ok_or_else(gone)
}

fn error_response(id: &Value, fault: FixtureRpcError) -> Response {
    let status = StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(message::response_message(id, Err(fault)))).into_response()
}

fn check_request(headers: &HeaderMap) -> Result<(), StatusCode> {
    check_origin(headers)?;
    let says = |name, words: &str| header(headers, name).is_some_and(|value| value.contains(words));
    if !says(CONTENT_TYPE.as_str(), "application/json") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let accept = ACCEPT.as_str();
    if says(accept, "application/json") && says(accept, "text/event-stream") {
        return Ok(());
    }
    Err(StatusCode::NOT_ACCEPTABLE)
}

/// Prevents DNS rebinding: a web page of another origin must not reach this server.
fn check_origin(headers: &HeaderMap) -> Result<(), StatusCode> {
    let host = header(headers, HOST.as_str()).is_none_or(is_local);
    let origin = header(headers, ORIGIN.as_str())
        .is_none_or(|origin| origin.split_once("://").is_some_and(|(_, host)| is_local(host)));
    if host && origin { Ok(()) } else { Err(StatusCode::FORBIDDEN) }
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    LOCAL_NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for name in ["localhost", "localhost:80", "127.0.0.1:3000", "[::1]:1", "[::1]"] {
            assert!(is_local(name), "{name}");
        }
        for name in ["evil.example.com", "localhost.evil.com", "127.0.0.1.evil.com:80", ""] {
            assert!(!is_local(name), "{name}");
        }
    }
}
