//! Answers in pieces that do not wait for their readers for long.

use cynode_wire::openai::ChatChunk;
use futures_util::StreamExt as _;

use super::{Egress, EgressError, EgressStream, Inference};
use crate::outlet::{NotRead, Outlet, UNREAD, outlet};
use crate::secrets::CleanRequest;

const NOT_READ: &str = "nobody read it";
const STOPPING: &str = "the orchestrator stops";
const LOST: &str = "it broke off";

impl Egress {
    /// The same as [`Egress::stream`] for readers that may stop reading: the pieces are fetched beside
    /// the reader, who holds the provider's turn no longer than the answer takes and a little more.
    pub async fn stream_apart(
        &self,
        inference: &Inference,
        request: impl Into<CleanRequest>,
    ) -> Result<EgressStream, EgressError> {
        let pieces = self.stream(inference, request).await?;
        let (reader, taken) = outlet(UNREAD, || EgressError::GivenUp(LOST));
        let tasks = self.tasks.clone();
        self.tasks.spawn("answer of a model", async move {
            pass_on(pieces, reader, tasks.ending()).await;
        });
        Ok(taken.into_stream().boxed())
    }
}

/// Passes pieces on until one of both sides, or everything, comes to its end.
async fn pass_on(
    mut pieces: EgressStream,
    mut reader: Outlet<ChatChunk, EgressError>,
    ending: impl Future<Output = ()>,
) {
    let gone = reader.gone();
    let passing = async {
        while let Some(piece) = pieces.next().await {
            reader.give(piece?).await.map_err(|NotRead| EgressError::GivenUp(NOT_READ))?;
        }
        Ok(())
    };
    let outcome = tokio::select! {
        outcome = passing => outcome,
        () = gone => Err(EgressError::GivenUp(NOT_READ)),
        () = ending => Err(EgressError::GivenUp(STOPPING)),
    };
    // The call is on record before its reader hears of the end.
    drop(pieces);
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
        let (reader, taken) = outlet(Duration::from_millis(5), || EgressError::GivenUp(LOST));
        let endless = stream::repeat_with(|| Ok(ChatChunk::default())).boxed();

        pass_on(endless, reader, pending()).await;

        let mut read: Vec<_> = taken.into_stream().collect().await;
        let last = read.pop().unwrap();
        assert!(matches!(last, Err(EgressError::GivenUp(NOT_READ))), "{last:?}");
        assert!(!read.is_empty() && read.iter().all(Result::is_ok));
    }
}
