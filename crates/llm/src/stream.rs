//! From the bytes of a streamed answer to its pieces.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use cynode_wire::openai::ChatChunk;
use cynode_wire::sse;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use tokio::time::Instant;

use crate::{ChunkStream, Limits, Phase, ProviderError, http};

/// How long an answer that is whole waits for what servers say after it, such as the usage.
const LAST_WORD: Duration = Duration::from_secs(5);

/// How a provider says its pieces.
pub(crate) trait Dialect: Send + 'static {
    /// Reads one event; the pieces that it makes go to `ready`.
    fn read(
        &mut self,
        data: &str,
        ready: &mut VecDeque<ChatChunk>,
    ) -> Result<Progress, ProviderError>;

    /// Whether the answer was whole if nothing more comes.
    fn is_whole(&self) -> bool;
}

/// Whether more is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

struct Reading<D> {
    body: BoxStream<'static, Result<Bytes, ProviderError>>,
    dialect: D,
    reader: sse::Reader,
    limits: Limits,
    /// When the answer must be whole.
    until: Instant,
    taken: usize,
    ready: VecDeque<ChatChunk>,
    is_done: bool,
}

/// The pieces of an answer that is being sent.
pub(crate) fn pieces(
    response: Response,
    dialect: impl Dialect,
    limits: &Limits,
) -> Result<ChunkStream, ProviderError> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return Err(ProviderError::malformed("it is not a stream of events"));
    }
    let reading = Reading {
        body: response.bytes_stream().map(|piece| piece.map_err(http::broken)).boxed(),
        dialect,
        reader: sse::Reader::new(limits.event_bytes),
        limits: limits.clone(),
        until: Instant::now() + limits.longest,
        taken: 0,
        ready: VecDeque::new(),
        is_done: false,
    };
    Ok(stream::try_unfold(reading, |mut reading| async move {
        let piece = reading.next().await?;
        Ok(piece.map(|piece| (piece, reading)))
    })
    .boxed())
}

impl<D: Dialect> Reading<D> {
    async fn next(&mut self) -> Result<Option<ChatChunk>, ProviderError> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Ok(Some(piece));
            }
            if self.is_done {
                return Ok(None);
            }
            let (phase, patience) = self.patience();
            match tokio::time::timeout(patience, self.body.next()).await {
                Ok(Some(Ok(bytes))) => self.take(&bytes)?,
                // Nothing is missing, so it does not matter how the connection ends.
                Ok(Some(Err(_)) | None) | Err(_) if self.dialect.is_whole() => self.is_done = true,
                Ok(Some(Err(broken))) => return Err(broken),
                Ok(None) => self.take_rest()?,
                Err(_) => return Err(ProviderError::Timeout { phase }),
            }
        }
    }

    /// What is waited for, and how long.
    fn patience(&self) -> (Phase, Duration) {
        let (phase, patience) = if self.taken == 0 {
            (Phase::Begin, self.limits.begin)
        } else if self.dialect.is_whole() {
            (Phase::GoOn, self.limits.go_on.min(LAST_WORD))
        } else {
            (Phase::GoOn, self.limits.go_on)
        };
        let left = self.until.saturating_duration_since(Instant::now());
        if left < patience { (Phase::Finish, left) } else { (phase, patience) }
    }

    /// Reads what a server left unended when it closed the stream, if that makes the answer whole.
    fn take_rest(&mut self) -> Result<(), ProviderError> {
        let Some(event) = self.reader.rest() else { return Err(ProviderError::Truncated) };
        let read = self.dialect.read(&event.data, &mut self.ready);
        self.is_done = matches!(read, Ok(Progress::Done)) || self.dialect.is_whole();
        if self.is_done { Ok(()) } else { Err(ProviderError::Truncated) }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        self.taken = self.taken.saturating_add(bytes.len());
        if self.taken > self.limits.answer_bytes {
            return Err(ProviderError::TooLarge { limit: self.limits.answer_bytes });
        }
        let mut events = Vec::new();
        let fits = self.reader.push(bytes, |event| events.push(event));
        for event in events {
            if self.is_done {
                break;
            }
            self.is_done = self.dialect.read(&event.data, &mut self.ready)? == Progress::Done;
        }
        fits.map_err(|sse::TooLarge| ProviderError::TooLarge { limit: self.limits.event_bytes })
    }
}
