//! Event streams over HTTP: the stream of one request, and the standing stream of a session.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use cynode_wire::sse::{Event, Reader};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde_json::value::RawValue;

use super::super::link::UpstreamLinkError;
use super::super::message::{OutgoingRequest, ServerMessage};
use super::super::message_router::{MessageRouter, MessageSource};
use super::endpoint::{HttpEndpoint, SessionHeaders, response_too_large};
use super::transport::{OutgoingHttpRequest, UpstreamHttpResponse};
use crate::interface::UpstreamError;

/// How often one request resumes a stream that broke before the response.
const MAX_RESUMES: u32 = 8;
const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(super) fn is_stream(response: &UpstreamHttpResponse) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
}

/// The position in a stream, for resuming it.
#[derive(Default)]
struct StreamPosition {
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

/// Reads the stream of a request until its response. Some servers respond on the standing stream of
/// the session instead, so the response is taken from either.
pub(super) async fn read_until_response(
    endpoint: &HttpEndpoint,
    session_headers: &SessionHeaders,
    first: UpstreamHttpResponse,
    (request, router): (&OutgoingRequest, &Arc<MessageRouter>),
) -> Result<Box<RawValue>, UpstreamLinkError> {
    let own = read_request_stream(endpoint, session_headers, first, (request, router));
    match router.await_response(request.id).filter(|_| !session_headers.is_stateless) {
        None => own.await,
        Some(elsewhere) => tokio::select! {
            answer = own => answer,
            Ok(answer) = elsewhere => answer,
        },
    }
}

/// Reads the stream of a request, and resumes it where the server supports that.
async fn read_request_stream(
    endpoint: &HttpEndpoint,
    session_headers: &SessionHeaders,
    first: UpstreamHttpResponse,
    (request, router): (&OutgoingRequest, &Arc<MessageRouter>),
) -> Result<Box<RawValue>, UpstreamLinkError> {
    let mut position = StreamPosition::default();
    let mut response = first;
    for attempt in 0..=MAX_RESUMES {
        match read_connection(endpoint, &mut response, (request, router), &mut position).await {
            Ok(Some(answer)) => return Ok(answer),
            // The connection ended or broke: a server that numbers its events can replay the
            // response.
            Ok(None) | Err(UpstreamLinkError::Failed(UpstreamError::Unavailable(_))) => {}
            Err(error) => return Err(error),
        }
        let Some(last_id) = position.last_id.as_deref().filter(|_| !session_headers.is_stateless)
        else {
            break;
        };
        tokio::time::sleep(endpoint.resume_delay(position.retry_ms, attempt)).await;
        response = open_event_stream(endpoint, session_headers, Some(last_id)).await?;
        if !response.status().is_success() || !is_stream(&response) {
            break;
        }
    }
    Err(UpstreamLinkError::unavailable("it closed the stream before the response"))
}

async fn read_connection(
    endpoint: &HttpEndpoint,
    response: &mut UpstreamHttpResponse,
    (request, router): (&OutgoingRequest, &Arc<MessageRouter>),
    position: &mut StreamPosition,
) -> Result<Option<Box<RawValue>>, UpstreamLinkError> {
    let mut reader = event_reader(endpoint);
    let mut events = vec![];
    let is_endless = request.method == "subscriptions/listen";
    loop {
        let chunk = if is_endless {
            response.chunk().await?
        } else {
            endpoint.next_chunk(response, Some(router)).await?
        };
        let Some(chunk) = chunk else { return Ok(None) };
        push_chunk(&mut reader, &chunk, &mut events, endpoint)?;
        for event in events.drain(..) {
            for message in position.record_event(event)? {
                match ServerMessage::read(&message) {
                    Ok(ServerMessage::Response { id, .. })
                        if id.is_none_or(|id| id == request.id) =>
                    {
                        return Ok(Some(message));
                    }
                    _ => {
                        router
                            .route_message(message, MessageSource::RequestStream(request.id))
                            .await;
                    }
                }
            }
        }
    }
}

/// Keeps the standing stream of a session open for as long as the server offers it.
pub(super) async fn keep_standing_stream(
    endpoint: &HttpEndpoint,
    session_headers: &ArcSwap<SessionHeaders>,
    router: &Arc<MessageRouter>,
) {
    let mut position = StreamPosition::default();
    let mut attempt = 0;
    while !router.closed.is_cancelled() {
        let session_headers = session_headers.load_full();
        let listened =
            open_event_stream(endpoint, &session_headers, position.last_id.as_deref()).await;
        router.standing_stream.cancel();
        match listened {
            Ok(response) if response.status().is_success() && is_stream(&response) => {
                attempt = 0;
                let heard = read_to_end(endpoint, response, router, &mut position);
                tokio::select! {
                    () = router.closed.cancelled() => return,
                    () = heard => {}
                }
            }
            // The server lost the session; the next request opens a new one.
            Ok(response) if response.status() == StatusCode::NOT_FOUND => position.last_id = None,
            Ok(response) if response.status().is_client_error() => return,
            Ok(_) | Err(_) => {}
        }
        let pause = tokio::time::sleep(endpoint.resume_delay(position.retry_ms, attempt));
        tokio::select! {
            () = router.closed.cancelled() => return,
            () = pause => attempt = attempt.saturating_add(1),
        }
    }
}

/// Reads a stream to its end; an invalid event ends it, too.
async fn read_to_end(
    endpoint: &HttpEndpoint,
    mut response: UpstreamHttpResponse,
    router: &Arc<MessageRouter>,
    position: &mut StreamPosition,
) {
    let mut reader = event_reader(endpoint);
    let mut events = vec![];
    while let Ok(Some(chunk)) = response.chunk().await {
        if push_chunk(&mut reader, &chunk, &mut events, endpoint).is_err() {
            return;
        }
        for event in events.drain(..) {
            for message in position.record_event(event).unwrap_or_default() {
                router.route_message(message, MessageSource::StandingStream).await;
            }
        }
    }
}

/// Allows a few bytes more than the limit for the field names.
fn event_reader(endpoint: &HttpEndpoint) -> Reader {
    Reader::following(endpoint.options.max_response_bytes.saturating_add(64))
}

fn push_chunk(
    reader: &mut Reader,
    chunk: &[u8],
    events: &mut Vec<Event>,
    endpoint: &HttpEndpoint,
) -> Result<(), UpstreamLinkError> {
    let read = reader.push(chunk, |event| events.push(event));
    read.map_err(|_| response_too_large(endpoint.options.max_response_bytes))
}

async fn open_event_stream(
    endpoint: &HttpEndpoint,
    session_headers: &SessionHeaders,
    last_id: Option<&str>,
) -> Result<UpstreamHttpResponse, UpstreamLinkError> {
    let mut headers = endpoint.request_headers(session_headers);
    headers.insert(ACCEPT, STREAM);
    if let Some(last_id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        headers.insert(LAST_EVENT_ID, last_id);
    }
    endpoint.send(OutgoingHttpRequest { method: Method::GET, headers, body: Bytes::new() }).await
}

impl StreamPosition {
    /// The messages of an event: one, or several in a revision that allowed batches.
    fn record_event(&mut self, event: Event) -> Result<Vec<Box<RawValue>>, UpstreamLinkError> {
        self.last_id = event.id.or_else(|| self.last_id.take());
        self.retry_ms = event.retry_ms.or(self.retry_ms);
        let broken = |error| UpstreamLinkError::protocol(format!("invalid JSON: {error}"));
        if event.data.trim().is_empty() {
            return Ok(vec![]);
        }
        if event.data.trim_start().starts_with('[') {
            return serde_json::from_str(&event.data).map_err(broken);
        }
        Ok(vec![RawValue::from_string(event.data).map_err(broken)?])
    }
}
