//! Answers that are streams of server-sent events.

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

use crate::content::said;
use crate::dispatch;
use crate::exchange::{Era, Exchange};
use crate::fixture::{Change, Fixture, locked};
use crate::message::{self, Request};
use crate::session::Session;

/// What is said before the answer, then the answer.
pub(super) fn of_exchange(
    fixture: Arc<Fixture>,
    exchange: Exchange,
    mut messages: UnboundedReceiver<Value>,
) -> Response {
    let id = exchange.request.id.clone();
    let session = match &exchange.era {
        Era::Session(session) => Some(Arc::clone(session)),
        Era::Stateless => None,
    };
    let work = async move {
        let outcome = dispatch::answer(&fixture, &exchange).await;
        // The last message; with the exchange its channel ends, and with that the stream.
        let _ = exchange.out.send(message::reply(&exchange.request.id, outcome));
    };
    let (work, handle) = abortable(work);
    if let Some(session) = &session {
        session.started(&id, handle);
    }
    let work = async move {
        let _ = work.await;
        if let Some(session) = session {
            session.finished(&id);
        }
    };
    let said = stream::poll_fn(move |cx| messages.poll_recv(cx));
    let done = stream::once(work).filter_map(|()| ready(None));
    events(stream::select(said, done).map(|message| event(&message)))
}

/// What happens while the session lasts.
pub(super) fn of_session(fixture: &Fixture, session: Arc<Session>) -> Response {
    let changes = fixture.changes.subscribe();
    let ended = session.ended.clone().cancelled_owned();
    let heard = stream::unfold((changes, session), |(mut changes, session)| async move {
        loop {
            match changes.recv().await {
                Ok(change) if concerns(&session, &change) => {
                    let (method, params) = (change.method(), change.params());
                    let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                    return Some((event(&message), (changes, session)));
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    // A first comment, so that the client learns at once that the stream is open.
    events(stream::once(ready(": open\n\n".to_owned())).chain(heard).take_until(ended))
}

fn concerns(session: &Session, change: &Change) -> bool {
    match change {
        Change::Tools | Change::Prompts => true,
        Change::Resource(uri) => locked(&session.subscriptions).contains(uri),
    }
}

/// A stream that closes before the answer; who comes back with the event's id gets it.
pub(super) fn closed_early(session: &Session, request: &Request) -> Response {
    let event = format!("reconnect-{}", request.id.to_string().trim_matches('"'));
    let answer = message::reply(&request.id, Ok(said("The client came back.")));
    locked(&session.replays).insert(event.clone(), answer);
    events(stream::once(ready(format!("id: {event}\nretry: 100\ndata: \n\n"))))
}

/// What a client missed since an event.
pub(super) fn resumed(session: &Session, last: &str) -> Response {
    match locked(&session.replays).remove(last) {
        Some(message) => events(stream::once(ready(event(&message)))),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn events(events: impl Stream<Item = String> + Send + 'static) -> Response {
    let body = Body::from_stream(events.map(|event| Ok::<_, Infallible>(Bytes::from(event))));
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], body).into_response()
}
