//! Answers in pieces, as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use cynode_wire::openai::ChatChunk;
use futures_util::{Stream, StreamExt as _, stream};

use super::OpenAiError;

/// How often a silent stream shows that it lives, by a comment that clients skip.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The pieces, each an event without a name, and `[DONE]` after the last. A stream that fails ends with
/// an error instead, so that nobody takes it for whole.
pub(crate) fn stream_of<E: Into<OpenAiError>>(
    pieces: impl Stream<Item = Result<ChatChunk, E>> + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let events = stream::unfold(Some(Box::pin(pieces)), |pieces| async move {
        let mut pieces = pieces?;
        match pieces.next().await {
            Some(Ok(piece)) => Some((Ok(event(&piece)), Some(pieces))),
            Some(Err(error)) => Some((Ok(event(error.into().body())), None)),
            None => Some((Ok(Event::default().data("[DONE]")), None)),
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

fn event(body: &impl serde::Serialize) -> Event {
    Event::default().data(serde_json::to_string(body).unwrap_or_default())
}
