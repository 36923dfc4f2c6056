//! What answers look like on the wire: one JSON body, or a stream of events that ends with it.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;

use crate::rpc::{self, RpcError};

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A body of JSON.
pub(super) fn json(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

/// A refusal that answers no particular request.
pub(super) fn refusal(status: StatusCode, error: &RpcError) -> Response {
    json(status, rpc::error(None, error))
}

/// The status that the stateless revision wants for an error.
pub(super) fn stateless_status(code: i32) -> StatusCode {
    match code {
        rpc::HEADER_MISMATCH | rpc::MISSING_CAPABILITY | rpc::UNSUPPORTED_VERSION => {
            StatusCode::BAD_REQUEST
        }
        rpc::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// What a stream is made of.
pub(super) struct Events {
    /// What was said before the stream was opened.
    pub(super) first: Option<Box<RawValue>>,
    /// What is said meanwhile.
    pub(super) messages: mpsc::Receiver<Box<RawValue>>,
    /// What ends the stream; without one it ends with the messages.
    pub(super) last: Option<oneshot::Receiver<String>>,
    /// Withdraws the request when the client goes away.
    pub(super) guard: Option<DropGuard>,
}

/// What happens next on a stream.
enum Next {
    Message(Box<RawValue>),
    /// Nobody will say anything more but, perhaps, the answer.
    Silence,
    Answer(Option<String>),
    Quiet,
}

impl Events {
    async fn next(&mut self) -> Next {
        let Self { messages, last, .. } = self;
        tokio::select! {
            biased;
            message = messages.recv() => message.map_or(Next::Silence, Next::Message),
            answer = answer_of(last) => Next::Answer(answer),
            () = tokio::time::sleep(KEEP_ALIVE) => Next::Quiet,
        }
    }

    /// The request was answered: there is nothing left to withdraw.
    fn disarm(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
    }
}

async fn answer_of(last: &mut Option<oneshot::Receiver<String>>) -> Option<String> {
    match last {
        Some(last) => last.await.ok(),
        None => std::future::pending().await,
    }
}

/// A stream of events.
pub(super) fn events(events: Events) -> Response {
    let stream = stream::unfold(Some(events), |events| async move {
        let mut events = events?;
        if let Some(first) = events.first.take() {
            return Some((event(first.get()), Some(events)));
        }
        let next = match events.next().await {
            Next::Silence if events.last.is_none() => return None,
            Next::Silence => Next::Answer(answer_of(&mut events.last).await),
            next @ (Next::Message(_) | Next::Answer(_) | Next::Quiet) => next,
        };
        match next {
            Next::Message(message) => Some((event(message.get()), Some(events))),
            Next::Quiet => Some((Bytes::from_static(b":\n\n"), Some(events))),
            Next::Answer(answer) => {
                events.disarm();
                Some((event(&answer?), None))
            }
            Next::Silence => None,
        }
    });
    let stream = futures_util::StreamExt::map(stream, Ok::<_, Infallible>);
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (StatusCode::OK, headers, Body::from_stream(stream)).into_response()
}

/// One event. JSON may hold line breaks between its tokens; each line is a line of data.
fn event(message: &str) -> Bytes {
    let mut text = String::with_capacity(message.len() + 32);
    text.push_str("event: message\n");
    for line in message.lines() {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_line_breaks_stays_one_event() {
        assert_eq!(event("{\n\"a\":1\r\n}"), "event: message\ndata: {\ndata: \"a\":1\ndata: }\n\n");
    }

    #[tokio::test]
    async fn a_stream_carries_what_is_said_meanwhile_and_ends_with_the_answer() {
        let (sender, messages) = mpsc::channel(4);
        let (answer, last) = oneshot::channel();
        sender.send(rpc::raw("2".to_owned())).await.unwrap();
        answer.send("3".to_owned()).unwrap();
        let first = Some(rpc::raw("1".to_owned()));

        let response = events(Events { first, messages, last: Some(last), guard: None });

        let body = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        let all: Vec<_> =
            [1, 2, 3].iter().map(|n| format!("event: message\ndata: {n}\n\n")).collect();
        assert_eq!(body, all.concat());
    }
}
