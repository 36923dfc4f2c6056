//! Streams of messages over HTTP: that of one request, and the standing one of a session.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use cynode_wire::sse::{Event, Reader};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use serde_json::value::RawValue;

use super::super::hub::{Heard, Hub};
use super::super::link::LinkError;
use super::super::message::{Incoming, Outgoing};
use super::endpoint::{Endpoint, Voice, too_large};
use super::transport::{Answer, Wanted};
use crate::seams::UpstreamError;

/// How often one request comes back to a stream that broke before the answer.
const RETURNS: u32 = 8;
const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

pub(super) fn is_stream(response: &Answer) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
}

/// Where a stream is, so that one can come back to it.
#[derive(Default)]
struct Place {
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

/// Follows the stream of a request until its answer. Some servers answer on the standing stream of
/// the session instead, so that the answer is taken from wherever it comes.
pub(super) async fn follow(
    endpoint: &Endpoint,
    voice: &Voice,
    first: Answer,
    (request, hub): (&Outgoing, &Arc<Hub>),
) -> Result<Box<RawValue>, LinkError> {
    let own = follow_own(endpoint, voice, first, (request, hub));
    match hub.expect(request.id).filter(|_| !voice.is_stateless) {
        None => own.await,
        Some(elsewhere) => tokio::select! {
            answer = own => answer,
            Ok(answer) = elsewhere => answer,
        },
    }
}

/// Follows the stream of a request, coming back where the server offers that.
async fn follow_own(
    endpoint: &Endpoint,
    voice: &Voice,
    first: Answer,
    (request, hub): (&Outgoing, &Arc<Hub>),
) -> Result<Box<RawValue>, LinkError> {
    let mut place = Place::default();
    let mut response = first;
    for attempt in 0..=RETURNS {
        match until_answer(endpoint, &mut response, (request, hub), &mut place).await {
            Ok(Some(answer)) => return Ok(answer),
            // The connection ended or broke: a server that numbers its events keeps the answer.
            Ok(None) | Err(LinkError::Failed(UpstreamError::Unavailable(_))) => {}
            Err(error) => return Err(error),
        }
        let Some(last_id) = place.last_id.as_deref().filter(|_| !voice.is_stateless) else { break };
        tokio::time::sleep(endpoint.pause(place.retry_ms, attempt)).await;
        response = listen(endpoint, voice, Some(last_id)).await?;
        if !response.status().is_success() || !is_stream(&response) {
            break;
        }
    }
    Err(LinkError::unavailable("it closed the stream before it answered"))
}

async fn until_answer(
    endpoint: &Endpoint,
    response: &mut Answer,
    (request, hub): (&Outgoing, &Arc<Hub>),
    place: &mut Place,
) -> Result<Option<Box<RawValue>>, LinkError> {
    let mut reader = reader(endpoint);
    let mut events = vec![];
    let is_endless = request.method == "subscriptions/listen";
    loop {
        let chunk = if is_endless {
            response.chunk().await?
        } else {
            endpoint.chunk(response, Some(hub)).await?
        };
        let Some(chunk) = chunk else { return Ok(None) };
        push(&mut reader, &chunk, &mut events, endpoint)?;
        for event in events.drain(..) {
            for message in place.take(event)? {
                match Incoming::read(&message) {
                    Ok(Incoming::Response { id, .. }) if id.is_none_or(|id| id == request.id) => {
                        return Ok(Some(message));
                    }
                    _ => hub.hear(message, Heard::During(request.id)).await,
                }
            }
        }
    }
}

/// Keeps the standing stream of a session open for as long as the server offers it.
pub(super) async fn stand(endpoint: &Endpoint, voice: &ArcSwap<Voice>, hub: &Arc<Hub>) {
    let mut place = Place::default();
    let mut attempt = 0;
    while !hub.closed.is_cancelled() {
        let voice = voice.load_full();
        let listened = listen(endpoint, &voice, place.last_id.as_deref()).await;
        hub.standing.cancel();
        match listened {
            Ok(response) if response.status().is_success() && is_stream(&response) => {
                attempt = 0;
                let heard = hear_all(endpoint, response, hub, &mut place);
                tokio::select! {
                    () = hub.closed.cancelled() => return,
                    () = heard => {}
                }
            }
            // The session is forgotten; the next request opens another.
            Ok(response) if response.status() == StatusCode::NOT_FOUND => place.last_id = None,
            Ok(response) if response.status().is_client_error() => return,
            Ok(_) | Err(_) => {}
        }
        let pause = tokio::time::sleep(endpoint.pause(place.retry_ms, attempt));
        tokio::select! {
            () = hub.closed.cancelled() => return,
            () = pause => attempt = attempt.saturating_add(1),
        }
    }
}

/// Hears a stream to its end; what cannot be read ends it, too.
async fn hear_all(endpoint: &Endpoint, mut response: Answer, hub: &Arc<Hub>, place: &mut Place) {
    let mut reader = reader(endpoint);
    let mut events = vec![];
    while let Ok(Some(chunk)) = response.chunk().await {
        if push(&mut reader, &chunk, &mut events, endpoint).is_err() {
            return;
        }
        for event in events.drain(..) {
            for message in place.take(event).unwrap_or_default() {
                hub.hear(message, Heard::Standing).await;
            }
        }
    }
}

/// A few bytes more than the limit are the names of the fields.
fn reader(endpoint: &Endpoint) -> Reader {
    Reader::following(endpoint.options.max_response_bytes.saturating_add(64))
}

fn push(
    reader: &mut Reader,
    chunk: &[u8],
    events: &mut Vec<Event>,
    endpoint: &Endpoint,
) -> Result<(), LinkError> {
    let read = reader.push(chunk, |event| events.push(event));
    read.map_err(|_| too_large(endpoint.options.max_response_bytes))
}

async fn listen(
    endpoint: &Endpoint,
    voice: &Voice,
    last_id: Option<&str>,
) -> Result<Answer, LinkError> {
    let mut headers = endpoint.headers_of(voice);
    headers.insert(ACCEPT, STREAM);
    if let Some(last_id) = last_id.and_then(|id| HeaderValue::from_str(id).ok()) {
        headers.insert(LAST_EVENT_ID, last_id);
    }
    endpoint.send(Wanted { method: Method::GET, headers, body: Bytes::new() }).await
}

impl Place {
    /// The messages of an event: one, or several in a revision that allowed batches.
    fn take(&mut self, event: Event) -> Result<Vec<Box<RawValue>>, LinkError> {
        self.last_id = event.id.or_else(|| self.last_id.take());
        self.retry_ms = event.retry_ms.or(self.retry_ms);
        let broken = |error| LinkError::protocol(format!("it is no JSON: {error}"));
        if event.data.trim().is_empty() {
            return Ok(vec![]);
        }
        if event.data.trim_start().starts_with('[') {
            return serde_json::from_str(&event.data).map_err(broken);
        }
        Ok(vec![RawValue::from_string(event.data).map_err(broken)?])
    }
}
