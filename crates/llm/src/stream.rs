//! Parses the bytes of a streamed answer into chunks.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use cynode_llm_wire::openai::ChatChunk;
use cynode_wire::sse;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::Instant;

use crate::{ChunkStream, ProviderError, ProviderLimits, TimeoutPhase, http};

/// How long a complete answer waits for trailing events, such as the usage.
const TRAILING_EVENTS_TIMEOUT: Duration = Duration::from_secs(5);

/// A provider's event format.
pub(crate) trait EventFormat: Send + 'static {
    /// Parses one event and appends its chunks to `ready`.
    fn parse_event(
        &mut self,
        data: &str,
        ready: &mut VecDeque<ChatChunk>,
    ) -> Result<ChunkStreamProgress, ProviderError>;

    /// Whether the answer is complete if no event follows.
    fn is_complete(&self) -> bool;
}

/// Whether more events follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkStreamProgress {
    More,
    Done,
}

struct ChunkReader<D> {
    body: BoxStream<'static, Result<Bytes, ProviderError>>,
    dialect: D,
    reader: sse::Reader,
    limits: ProviderLimits,
    /// The deadline of the answer.
    deadline: Instant,
    received_bytes: usize,
    ready: VecDeque<ChatChunk>,
    is_done: bool,
}

/// Streams the chunks of a response.
pub(crate) fn stream_chunks(
    response: Response,
    dialect: impl EventFormat,
    limits: &ProviderLimits,
) -> Result<ChunkStream, ProviderError> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return Err(ProviderError::malformed("it is not an event stream"));
    }
    let reading = ChunkReader {
        body: response
            .bytes_stream()
            .map(|chunk| chunk.map_err(http::map_connection_error))
            .boxed(),
        dialect,
        reader: sse::Reader::new(limits.max_event_bytes),
        limits: limits.clone(),
        deadline: Instant::now() + limits.max_stream_duration,
        received_bytes: 0,
        ready: VecDeque::new(),
        is_done: false,
    };
    Ok(stream::try_unfold(reading, |mut reading| async move {
        let chunk = reading.next().await?;
        Ok(chunk.map(|chunk| (chunk, reading)))
    })
    .boxed())
}

impl<D: EventFormat> ChunkReader<D> {
    async fn next(&mut self) -> Result<Option<ChatChunk>, ProviderError> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Ok(Some(chunk));
            }
            if self.is_done {
                return Ok(None);
            }
            let (phase, patience) = self.current_timeout();
            match tokio::time::timeout(patience, self.body.next()).await {
                Ok(Some(Ok(bytes))) => self.consume(&bytes)?,
                // The answer is complete, so the way the connection ends does not matter.
                Ok(Some(Err(_)) | None) | Err(_) if self.dialect.is_complete() => {
                    self.is_done = true;
                }
                Ok(Some(Err(broken))) => return Err(broken),
                Ok(None) => self.consume_rest()?,
                Err(_) => return Err(ProviderError::Timeout { phase }),
            }
        }
    }

    /// The current phase and its timeout.
    fn current_timeout(&self) -> (TimeoutPhase, Duration) {
        let (phase, patience) = if self.received_bytes == 0 {
            (TimeoutPhase::FirstByte, self.limits.begin)
        } else if self.dialect.is_complete() {
            (TimeoutPhase::NextBytes, self.limits.idle_timeout.min(TRAILING_EVENTS_TIMEOUT))
        } else {
            (TimeoutPhase::NextBytes, self.limits.idle_timeout)
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left < patience { (TimeoutPhase::WholeAnswer, left) } else { (phase, patience) }
    }

    /// Parses an unterminated last event; fails unless it completes the answer.
    fn consume_rest(&mut self) -> Result<(), ProviderError> {
        let Some(event) = self.reader.rest() else { return Err(ProviderError::Truncated) };
        let read = self.dialect.parse_event(&event.data, &mut self.ready);
        self.is_done = matches!(read, Ok(ChunkStreamProgress::Done)) || self.dialect.is_complete();
        if self.is_done { Ok(()) } else { Err(ProviderError::Truncated) }
    }

    fn consume(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        self.received_bytes = self.received_bytes.saturating_add(bytes.len());
        if self.received_bytes > self.limits.max_answer_bytes {
            return Err(ProviderError::TooLarge { limit: self.limits.max_answer_bytes });
        }
        let mut events = Vec::new();
        let fits = self.reader.push(bytes, |event| events.push(event));
        for event in events {
            if self.is_done {
                break;
            }
            self.is_done = self.dialect.parse_event(&event.data, &mut self.ready)?
                == ChunkStreamProgress::Done;
        }
        fits.map_err(|sse::TooLarge { limit }| ProviderError::TooLarge { limit })
    }
}
