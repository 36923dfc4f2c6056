//! From the pieces of a turn of chat to the events of a response.

mod writer;

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use cynode_wire::openai::ChatChunk;
use cynode_wire::openai::responses::{NumberedEvent, ResponseView};
use futures_util::{Stream, StreamExt as _, stream};

use crate::chat::OpenAiError;
use writer::Writer;

/// How often a silent stream shows that it lives, by a comment that clients skip.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How far a stream is.
enum Progress<S> {
    Begins(Box<Writer>, S),
    Comes(Box<Writer>, S),
    Over,
}

/// The events. The last one tells that the answer is whole, cut off or failed; what is whole has
/// been kept.
pub(super) fn stream_of<E: Into<OpenAiError>>(
    view: ResponseView,
    pieces: impl Stream<Item = Result<ChatChunk, E>> + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let begin = Progress::Begins(Box::new(Writer::new(view)), Box::pin(pieces));
    let events = stream::unfold(begin, |progress| async move {
        match progress {
            Progress::Begins(mut writer, pieces) => {
                let events = writer.begin();
                Some((events, Progress::Comes(writer, pieces)))
            }
            Progress::Comes(mut writer, mut pieces) => match pieces.next().await {
                Some(Ok(piece)) => {
                    let events = writer.hear(&piece);
                    Some((events, Progress::Comes(writer, pieces)))
                }
                Some(Err(error)) => Some((writer.fail(error.into().body()), Progress::Over)),
                None => Some((writer.end(), Progress::Over)),
            },
            Progress::Over => None,
        }
    });
    let events = events.flat_map(stream::iter).map(|event| Ok(written(&event)));
    Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

fn written(event: &NumberedEvent) -> Event {
    let data = serde_json::to_string(event).unwrap_or_default();
    Event::default().event(event.event.name()).data(data)
}
