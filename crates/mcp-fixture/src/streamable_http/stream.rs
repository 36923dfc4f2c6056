//! Responses as streams of server-sent events.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::future::abortable;
use futures_util::stream::{self, Stream, StreamExt as _};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::content::text_result;
use crate::dispatch;
use crate::exchange::{FixtureEra, FixtureExchange};
use crate::fixture::{FixtureChange, McpFixture, lock};
use crate::message::{self, FixtureRequest};
use crate::session::FixtureSession;

/// Streams the messages of a request, then its response.
pub(super) fn stream_exchange(
    fixture: Arc<McpFixture>,
    exchange: FixtureExchange,
    mut messages: UnboundedReceiver<Value>,
) -> Response {
    let id = exchange.request.id.clone();
    let session = match &exchange.era {
        FixtureEra::Session(session) => Some(Arc::clone(session)),
        FixtureEra::Stateless => None,
    };
    let work = async move {
        let outcome = dispatch::handle_request(&fixture, &exchange).await;
        // The last message: dropping the exchange closes the channel and ends the stream.
        let _ = exchange.out.send(message::response_message(&exchange.request.id, outcome));
    };
    let (work, handle) = abortable(work);
    if let Some(session) = &session {
        session.register_running(&id, handle);
    }
    let work = async move {
        let _ = work.await;
        if let Some(session) = session {
            session.remove_running(&id);
        }
    };
    let said = stream::poll_fn(move |cx| messages.poll_recv(cx));
    let done = stream::once(work).filter_map(|()| ready(None));
    event_stream_response(stream::select(said, done).map(|message| format_event(&message)))
}

/// Streams change notifications until the session ends.
pub(super) fn stream_session(fixture: &McpFixture, session: Arc<FixtureSession>) -> Response {
    let changes = fixture.changes.subscribe();
    let ended = session.ended.clone().cancelled_owned();
    let heard = stream::unfold((changes, session), |(mut changes, session)| async move {
        loop {
            match changes.recv().await {
                Ok(change) if is_subscribed(&session, &change) => {
                    let (method, params) = (change.method(), change.params());
                    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                    return Some((format_event(&message), (changes, session)));
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    // An initial comment tells the client that the stream is open.
    event_stream_response(
        stream::once(ready(": open\n\n".to_owned())).chain(heard).take_until(ended),
    )
}

fn is_subscribed(session: &FixtureSession, change: &FixtureChange) -> bool {
    match change {
        FixtureChange::Tools | FixtureChange::Prompts => true,
        FixtureChange::Resource(uri) => lock(&session.subscriptions).contains(uri),
    }
}

/// A stream that closes before the response; a client that reconnects with the event id gets it.
pub(super) fn close_early(session: &FixtureSession, request: &FixtureRequest) -> Response {
    let event = format!("reconnect-{}", request.id.to_string().trim_matches('"'));
    let answer = message::response_message(&request.id, Ok(text_result("The client came back.")));
    lock(&session.replays).insert(event.clone(), answer);
    event_stream_response(stream::once(ready(format!("id: {event}\nretry: 100\ndata: \n\n"))))
}

/// Replays the message that a client missed since an event.
pub(super) fn replay_missed(session: &FixtureSession, last: &str) -> Response {
    match lock(&session.replays).remove(last) {
        Some(message) => event_stream_response(stream::once(ready(format_event(&message)))),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn format_event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn event_stream_response(events: impl Stream<Item = String> + Send + 'static) -> Response {
    let body = Body::from_stream(events.map(|event| Ok::<_, Infallible>(Bytes::from(event))));
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response()
}
