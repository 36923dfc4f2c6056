//! A streamed answer, redacted and metered as it passes.

use cynode_domain::model::InferenceOutcome;
use cynode_llm::ChunkStream;
use cynode_llm_wire::openai::ChatChunk;
use futures_util::{StreamExt as _, stream};

use super::call::record_failure;
use super::call_record::CallRecorder;
use super::redaction::{StreamRedactor, has_content};
use super::{EgressError, EgressStream};

struct RedactedStream {
    chunks: ChunkStream,
    /// `None` once the end is recorded. Dropped before that, it records a canceled call.
    record: Option<CallRecorder>,
    provider: String,
    wants_usage: bool,
    scanner: StreamRedactor,
    /// A chunk without choices, the envelope for withheld text; `None` before the first chunk.
    envelope: Option<ChatChunk>,
    /// Delivered after the withheld text.
    failure: Option<EgressError>,
}

/// Redacts secrets from `chunks`, and drops the usage unless the caller requested it.
pub(super) fn redact_stream(
    chunks: ChunkStream,
    record: CallRecorder,
    provider: String,
    wants_usage: bool,
) -> EgressStream {
    let passing = RedactedStream {
        chunks,
        record: Some(record),
        provider,
        wants_usage,
        scanner: StreamRedactor::default(),
        envelope: None,
        failure: None,
    };
    stream::unfold(passing, |mut passing| async move {
        let chunk = passing.next().await?;
        Some((chunk, passing))
    })
    .boxed()
}

impl RedactedStream {
    async fn next(&mut self) -> Option<Result<ChatChunk, EgressError>> {
        if let Some(failure) = self.failure.take() {
            return Some(Err(failure));
        }
        self.record.as_ref()?;
        while let Some(chunk) = self.chunks.next().await {
            match chunk {
                Ok(chunk) => {
                    if let Some(chunk) = self.redact_chunk(chunk) {
                        return Some(Ok(chunk));
                    }
                }
                Err(cause) => {
                    let record = self.record.take()?;
                    let failed = record_failure(record, self.provider.clone(), cause).await;
                    let failure = failed.unwrap_or_else(EgressError::Store);
                    let Some(rest) = self.flush_withheld() else { return Some(Err(failure)) };
                    self.failure = Some(failure);
                    return Some(Ok(rest));
                }
            }
        }
        let record = self.record.take()?;
        if let Err(error) = record.finish(InferenceOutcome::Success, None).await {
            return Some(Err(EgressError::Store(error)));
        }
        self.flush_withheld().map(Ok)
    }

    /// Returns the withheld text.
    fn flush_withheld(&mut self) -> Option<ChatChunk> {
        self.scanner.finish(self.envelope.as_ref().unwrap_or(&ChatChunk::default()))
    }

    /// Returns what may be delivered of a chunk now; `None` if all of it is withheld.
    fn redact_chunk(&mut self, mut chunk: ChatChunk) -> Option<ChatChunk> {
        let record = self.record.as_mut()?;
        record.record_chunk(&chunk);
        if !self.wants_usage && chunk.usage.take().is_some() && chunk.choices.is_empty() {
            return None;
        }
        self.scanner.push(&mut chunk);
        self.envelope.get_or_insert_with(|| ChatChunk {
            id: chunk.id.clone(),
            object: chunk.object.clone(),
            created: chunk.created,
            model: chunk.model.clone(),
            ..ChatChunk::default()
        });
        has_content(&chunk).then_some(chunk)
    }
}
