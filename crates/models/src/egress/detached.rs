//! Streamed answers that are read from the provider independently of a slow client.

use cynode_llm_wire::openai::ChatChunk;
use futures_util::StreamExt as _;

use super::{Egress, EgressError, EgressStream, Inference};
use crate::{
    answer_channel::AnswerSender, answer_channel::ReaderStalled, answer_channel::UNREAD_TIMEOUT,
    answer_channel::answer_channel,
};
use cynode_resources::secrets::RedactedRequest;

const NOT_READ: &str = "the client stopped reading";
const STOPPING: &str = "the orchestrator is shutting down";
const LOST: &str = "the stream was interrupted";

impl Egress {
    /// Like [`Egress::stream`], for clients that may stop reading: a background task reads the
    /// chunks, so a stalled client occupies the provider's concurrency slot only briefly longer
    /// than the answer takes.
    pub async fn stream_detached(
        &self,
        inference: &Inference,
        request: impl Into<RedactedRequest>,
    ) -> Result<EgressStream, EgressError> {
        let chunks = self.stream(inference, request).await?;
        let (reader, taken) = answer_channel(UNREAD_TIMEOUT, || EgressError::Aborted(LOST));
        let tasks = self.tasks.clone();
        self.tasks.spawn("answer of a model", async move {
            forward_chunks(chunks, reader, tasks.finishing()).await;
        });
        Ok(taken.into_stream().boxed())
    }
}

/// Forwards chunks until either side ends or the orchestrator shuts down.
async fn forward_chunks(
    mut chunks: EgressStream,
    mut reader: AnswerSender<ChatChunk, EgressError>,
    ending: impl Future<Output = ()>,
) {
    let gone = reader.closed();
    let passing = async {
        while let Some(chunk) = chunks.next().await {
            reader.send(chunk?).await.map_err(|ReaderStalled| EgressError::Aborted(NOT_READ))?;
        }
        Ok(())
    };
    let outcome = tokio::select! {
        outcome = passing => outcome,
        () = gone => Err(EgressError::Aborted(NOT_READ)),
        () = ending => Err(EgressError::Aborted(STOPPING)),
    };
    // Record the call before the client sees the end.
    drop(chunks);
    reader.end(outcome);
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn an_answer_that_its_agent_does_not_read_is_given_up_and_says_so() {
        let (reader, taken) =
            answer_channel(Duration::from_millis(5), || EgressError::Aborted(LOST));
        let endless = stream::repeat_with(|| Ok(ChatChunk::default())).boxed();

        forward_chunks(endless, reader, pending()).await;

        let mut read: Vec<_> = taken.into_stream().collect().await;
        let last = read.pop().unwrap();
        assert!(matches!(last, Err(EgressError::Aborted(NOT_READ))), "{last:?}");
        assert!(!read.is_empty() && read.iter().all(Result::is_ok));
    }
}
