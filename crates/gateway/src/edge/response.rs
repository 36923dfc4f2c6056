//! Responses on the wire: one JSON body, or an event stream that ends with the response.

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

use cynode_upstream::rpc;
use cynode_upstream::rpc::RpcError;

/// Interval of keep-alive comments on a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn json_response(status: StatusCode, text: String) -> Response {
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response()
}

/// An error response without a request id.
pub(super) fn error_response(status: StatusCode, error: &RpcError) -> Response {
    json_response(status, rpc::error(None, error))
}

/// The HTTP status that the stateless revision requires for an error.
pub(super) fn stateless_status(code: i32) -> StatusCode {
    match code {
        rpc::HEADER_MISMATCH | rpc::MISSING_CAPABILITY | rpc::UNSUPPORTED_VERSION => {
            StatusCode::BAD_REQUEST
        }
        rpc::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// The source of an event stream.
pub(super) struct EventStreamSource {
    /// The message that arrived before the stream was opened.
    pub(super) first: Option<Box<RawValue>>,
    /// Messages before the response.
    pub(super) messages: mpsc::Receiver<Box<RawValue>>,
    /// The response, which ends the stream; without one the stream ends with the messages.
    pub(super) last: Option<oneshot::Receiver<String>>,
    /// Cancels the request when the client disconnects.
    pub(super) guard: Option<DropGuard>,
}

/// The next item of a stream.
enum EventStreamItem {
    Message(Box<RawValue>),
    /// All senders of messages are gone; only the response may follow.
    MessagesClosed,
    Answer(Option<String>),
    KeepAlive,
}

impl EventStreamSource {
    async fn next(&mut self) -> EventStreamItem {
        let Self { messages, last, .. } = self;
        tokio::select! {
            biased;
            message = messages.recv() => message.map_or(EventStreamItem::MessagesClosed, EventStreamItem::Message),
            answer = recv_response(last) => EventStreamItem::Answer(answer),
            () = tokio::time::sleep(KEEP_ALIVE) => EventStreamItem::KeepAlive,
        }
    }

    /// The response was sent: nothing is left to cancel.
    fn disarm(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.disarm();
        }
    }
}

async fn recv_response(last: &mut Option<oneshot::Receiver<String>>) -> Option<String> {
    match last {
        Some(last) => last.await.ok(),
        None => std::future::pending().await,
    }
}

/// Renders an event stream.
pub(super) fn event_stream_response(events: EventStreamSource) -> Response {
    let stream = stream::unfold(Some(events), |events| async move {
        let mut events = events?;
        if let Some(first) = events.first.take() {
            return Some((render_event(first.get()), Some(events)));
        }
        let next = match events.next().await {
            EventStreamItem::MessagesClosed if events.last.is_none() => return None,
            EventStreamItem::MessagesClosed => {
                EventStreamItem::Answer(recv_response(&mut events.last).await)
            }
            next @ (EventStreamItem::Message(_)
            | EventStreamItem::Answer(_)
            | EventStreamItem::KeepAlive) => next,
        };
        match next {
            EventStreamItem::Message(message) => Some((render_event(message.get()), Some(events))),
            EventStreamItem::KeepAlive => Some((Bytes::from_static(b":\n\n"), Some(events))),
            EventStreamItem::Answer(answer) => {
                events.disarm();
                Some((render_event(&answer?), None))
            }
            EventStreamItem::MessagesClosed => None,
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

/// One event. JSON may hold line breaks between its tokens; each line becomes a `data` line.
fn render_event(message: &str) -> Bytes {
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
        assert_eq!(
            render_event("{\n\"a\":1\r\n}"),
            "event: message\ndata: {\ndata: \"a\":1\ndata: }\n\n"
        );
    }

    #[tokio::test]
    async fn a_stream_carries_what_is_said_meanwhile_and_ends_with_the_answer() {
        let (sender, messages) = mpsc::channel(4);
        let (answer, last) = oneshot::channel();
        sender.send(rpc::raw("2".to_owned())).await.unwrap();
        answer.send("3".to_owned()).unwrap();
        let first = Some(rpc::raw("1".to_owned()));

        let response = event_stream_response(EventStreamSource {
            first,
            messages,
            last: Some(last),
            guard: None,
        });

        let body = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        let all: Vec<_> =
            [1, 2, 3].iter().map(|n| format!("event: message\ndata: {n}\n\n")).collect();
        assert_eq!(body, all.concat());
    }
}
