//! Chat completion chunks as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use cynode_llm_wire::openai::ChatChunk;
use futures_util::{Stream, StreamExt as _, stream};

use super::OpenAiError;

/// Interval of keep-alive comments, which clients ignore.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Sends each chunk as an unnamed event, then `[DONE]`. A stream that fails ends with an error
/// event instead of `[DONE]`, so that clients detect the truncation.
pub(crate) fn sse_stream<E: Into<OpenAiError>>(
    chunks: impl Stream<Item = Result<ChatChunk, E>> + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let events = stream::unfold(Some(Box::pin(chunks)), |chunks| async move {
        let mut chunks = chunks?;
        match chunks.next().await {
            Some(Ok(chunk)) => Some((Ok(sse_event(&chunk)), Some(chunks))),
            Some(Err(error)) => Some((Ok(sse_event(error.into().body())), None)),
            None => Some((Ok(Event::default().data("[DONE]")), None)),
        }
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

fn sse_event(body: &impl serde::Serialize) -> Event {
    Event::default().data(serde_json::to_string(body).unwrap_or_default())
}
