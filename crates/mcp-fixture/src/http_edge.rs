//! Streamable HTTP: one endpoint, `/mcp`, for both eras; `/count` for who measures.
//!
//! Start at [`router`]. Nothing is spawned: a stream drives the work whose messages it carries, so that
//! a client that goes away ends its request.

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

use crate::era::{self, header};
use crate::exchange::{Era, Exchange};
use crate::fixture::Fixture;
use crate::message::{self, Fault, Message, Request};
use crate::session::Session;
use crate::{dispatch, echo, tools};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Serves the fixture on a listener until the future is dropped.
pub async fn serve(fixture: Arc<Fixture>, listener: TcpListener) -> std::io::Result<()> {
    // Small answers must not wait for a full packet; where it cannot be set they are only slower.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router(fixture)).await
}

/// The routes of the fixture.
pub fn router(fixture: Arc<Fixture>) -> Router {
    Router::new()
        .route("/mcp", get(stream_of_session).post(message).delete(end_session))
        .route("/count", get(count))
        .with_state(fixture)
}

/// `GET /count`
async fn count(State(fixture): State<Arc<Fixture>>) -> Json<Value> {
    Json(json!({ "calls": fixture.calls(), "cancelled": fixture.cancelled() }))
}

/// `POST /mcp`
async fn message(State(fixture): State<Arc<Fixture>>, headers: HeaderMap, body: Bytes) -> Response {
    if let Err(status) = check_request(&headers) {
        return status.into_response();
    }
    if let Some(answer) = echo::quick(&fixture, &headers, &body) {
        return ([(CONTENT_TYPE, "application/json")], answer).into_response();
    }
    let parsed = serde_json::from_slice(&body).map_err(|_| Fault::parse_error());
    match parsed.and_then(message::parse) {
        Err(fault) => refused(&Value::Null, fault),
        Ok(Message::Request(request)) if era::is_stateless(&headers, Some(&request)) => {
            stateless(fixture, &headers, request).await
        }
        Ok(Message::Request(request)) if request.method == "initialize" => {
            initialize(&fixture, &request)
        }
        Ok(message) => match session(&fixture, &headers) {
            Ok(session) => in_session(fixture, session, message).await,
            // A stateless client may tell something too; nothing here depends on it.
            Err(_) if era::is_stateless(&headers, None) => StatusCode::ACCEPTED.into_response(),
            Err(fault) => refused(&Value::Null, fault),
        },
    }
}

async fn stateless(fixture: Arc<Fixture>, headers: &HeaderMap, request: Request) -> Response {
    let checked = era::check_headers(headers, &request).and_then(|()| era::check_meta(&request));
    match checked {
        Err(fault) => refused(&request.id, fault),
        Ok(()) => answered(fixture, request, Era::Stateless).await,
    }
}

fn initialize(fixture: &Fixture, request: &Request) -> Response {
    let (answer, session) = match dispatch::initialize(request) {
        Ok(opened) => opened,
        Err(fault) => return refused(&request.id, fault),
    };
    match fixture.open(session) {
        Ok(id) => {
            ([(SESSION_ID, id)], Json(message::reply(&request.id, Ok(answer)))).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn in_session(fixture: Arc<Fixture>, session: Arc<Session>, message: Message) -> Response {
    match message {
        Message::Request(request) => answered(fixture, request, Era::Session(session)).await,
        Message::Notification { method, params } => {
            let cancelled = method == "notifications/cancelled"
                && params.get("requestId").is_some_and(|id| session.cancel(id));
            if cancelled {
                fixture.count_cancelled();
            }
            StatusCode::ACCEPTED.into_response()
        }
        Message::Answer { id, outcome } => {
            if session.answered(&id, outcome) {
                return StatusCode::ACCEPTED.into_response();
            }
            refused(&id, Fault::invalid_request("nobody asked for this answer"))
        }
    }
}

async fn answered(fixture: Arc<Fixture>, request: Request, era: Era) -> Response {
    if let (Era::Session(session), Some("test_reconnection")) = (&era, request.text("name")) {
        return stream::closed_early(session, &request);
    }
    let streamed = match request.method.as_str() {
        "tools/call" => tools::is_streamed(&request, &era),
        "prompts/get" => matches!(era, Era::Session(_)),
        "subscriptions/listen" => true,
        _ => false,
    };
    let (out, messages) = mpsc::unbounded_channel();
    let exchange = Exchange { request, era, out };
    if streamed {
        return stream::of_exchange(fixture, exchange, messages);
    }
    match dispatch::answer(&fixture, &exchange).await {
        Ok(result) => Json(message::reply(&exchange.request.id, Ok(result))).into_response(),
        Err(fault) => refused(&exchange.request.id, fault),
    }
}

/// `GET /mcp`
async fn stream_of_session(State(fixture): State<Arc<Fixture>>, headers: HeaderMap) -> Response {
    if let Err(status) = check_origin(&headers) {
        return status.into_response();
    }
    if era::is_stateless(&headers, None) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    match session(&fixture, &headers) {
        Ok(session) => match header(&headers, "last-event-id") {
            Some(event) => stream::resumed(&session, event),
            None => stream::of_session(&fixture, session),
        },
        Err(fault) => refused(&Value::Null, fault),
    }
}

/// `DELETE /mcp`
async fn end_session(State(fixture): State<Arc<Fixture>>, headers: HeaderMap) -> StatusCode {
    match header(&headers, "mcp-session-id") {
        Some(id) if fixture.close(id) => StatusCode::NO_CONTENT,
        Some(_) => StatusCode::NOT_FOUND,
        None => StatusCode::METHOD_NOT_ALLOWED,
    }
}

fn session(fixture: &Fixture, headers: &HeaderMap) -> Result<Arc<Session>, Fault> {
    if header(headers, "mcp-protocol-version").is_some_and(|v| !era::is_session_version(v)) {
        return Err(Fault::invalid_request("this revision has no sessions"));
    }
    let Some(id) = header(headers, "mcp-session-id") else {
        return Err(Fault::invalid_request("Mcp-Session-Id is missing"));
    };
    let gone = || Fault::invalid_request("there is no such session").status(404);
    fixture.session(id).ok_or_else(gone)
}

fn refused(id: &Value, fault: Fault) -> Response {
    let status = StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, Json(message::reply(id, Err(fault)))).into_response()
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

/// A page of another site must not reach a server on the visitor's own machine.
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
