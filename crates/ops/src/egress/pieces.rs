//! An answer in pieces, looked through and counted as it passes.

use cynode_domain::model::InferenceOutcome;
use cynode_llm::ChunkStream;
use cynode_wire::openai::ChatChunk;
use futures_util::{StreamExt as _, stream};

use super::call::failed;
use super::record::Record;
use super::scan::{Scanner, says_something};
use super::{EgressError, EgressStream};

/// An answer as it passes.
struct Passing {
    chunks: ChunkStream,
    /// Nothing once the end is on record. Dropped before, it records that nobody waited for the end.
    record: Option<Record>,
    provider: String,
    wants_usage: bool,
    scanner: Scanner,
    /// A piece without choices, to say what was held back in; nothing before the first piece.
    blank: Option<ChatChunk>,
    /// Why it broke off, to be told after what was held back.
    failure: Option<EgressError>,
}

/// The pieces of `chunks` without secrets, and with the usage only if that was asked for.
pub(super) fn pieces(
    chunks: ChunkStream,
    record: Record,
    provider: String,
    wants_usage: bool,
) -> EgressStream {
    let passing = Passing {
        chunks,
        record: Some(record),
        provider,
        wants_usage,
        scanner: Scanner::default(),
        blank: None,
        failure: None,
    };
    stream::unfold(passing, |mut passing| async move {
        let piece = passing.next().await?;
        Some((piece, passing))
    })
    .boxed()
}

impl Passing {
    async fn next(&mut self) -> Option<Result<ChatChunk, EgressError>> {
        if let Some(failure) = self.failure.take() {
            return Some(Err(failure));
        }
        self.record.as_ref()?;
        while let Some(chunk) = self.chunks.next().await {
            match chunk {
                Ok(chunk) => {
                    if let Some(piece) = self.pass(chunk) {
                        return Some(Ok(piece));
                    }
                }
                Err(cause) => {
                    let record = self.record.take()?;
                    let failed = failed(record, self.provider.clone(), cause).await;
                    let failure = failed.unwrap_or_else(EgressError::Store);
                    let Some(rest) = self.rest() else { return Some(Err(failure)) };
                    self.failure = Some(failure);
                    return Some(Ok(rest));
                }
            }
        }
        let record = self.record.take()?;
        if let Err(error) = record.finish(InferenceOutcome::Success, None).await {
            return Some(Err(EgressError::Store(error)));
        }
        self.rest().map(Ok)
    }

    /// What was held back, which was said all the same.
    fn rest(&mut self) -> Option<ChatChunk> {
        self.scanner.finish(self.blank.as_ref().unwrap_or(&ChatChunk::default()))
    }

    /// What may be said of a piece now; nothing if all of it is held back.
    fn pass(&mut self, mut chunk: ChatChunk) -> Option<ChatChunk> {
        let record = self.record.as_mut()?;
        record.hear_piece(&chunk);
        if !self.wants_usage && chunk.usage.take().is_some() && chunk.choices.is_empty() {
            return None;
        }
        self.scanner.push(&mut chunk);
        self.blank.get_or_insert_with(|| ChatChunk {
            id: chunk.id.clone(),
            object: chunk.object.clone(),
            created: chunk.created,
            model: chunk.model.clone(),
            ..ChatChunk::default()
        });
        says_something(&chunk).then_some(chunk)
    }
}
