//! Converts the chunks of a chat turn to the events of a response.

mod writer;

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use cynode_llm_wire::openai::ChatChunk;
use cynode_llm_wire::openai::responses::{NumberedEvent, ResponseView};
use futures_util::{Stream, StreamExt as _, stream};

use crate::chat::OpenAiError;
use writer::ResponseEventWriter;

/// Interval of keep-alive comments, which clients ignore.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// State of the stream.
enum ResponseStreamState<S> {
    Starting(Box<ResponseEventWriter>, S),
    Streaming(Box<ResponseEventWriter>, S),
    Ended,
}

/// The event stream. The last event says whether the answer is complete, incomplete or failed; a
/// complete answer has been persisted.
pub(super) fn event_stream<E: Into<OpenAiError>>(
    view: ResponseView,
    chunks: impl Stream<Item = Result<ChatChunk, E>> + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let begin =
        ResponseStreamState::Starting(Box::new(ResponseEventWriter::new(view)), Box::pin(chunks));
    let events = stream::unfold(begin, |progress| async move {
        match progress {
            ResponseStreamState::Starting(mut writer, chunks) => {
                let events = writer.begin();
                Some((events, ResponseStreamState::Streaming(writer, chunks)))
            }
            ResponseStreamState::Streaming(mut writer, mut chunks) => match chunks.next().await {
                Some(Ok(chunk)) => {
                    let events = writer.push_chunk(&chunk);
                    Some((events, ResponseStreamState::Streaming(writer, chunks)))
                }
                Some(Err(error)) => {
                    Some((writer.fail(error.into().body()), ResponseStreamState::Ended))
                }
                None => Some((writer.end(), ResponseStreamState::Ended)),
            },
            ResponseStreamState::Ended => None,
        }
    });
    let events = events.flat_map(stream::iter).map(|event| Ok(sse_event(&event)));
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

fn sse_event(event: &NumberedEvent) -> Event {
    let data = serde_json::to_string(event).unwrap_or_default();
    Event::default().event(event.event.name()).data(data)
}
