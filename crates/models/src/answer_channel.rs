//! A bounded channel for a streamed answer whose reader may be slow or may stall.
//!
//! Start at [`answer_channel`]: the producer sends chunks to the [`AnswerSender`] and ends it, the consumer reads
//! them from the [`AnswerReceiver`]. A full buffer blocks the producer, but only for a bounded total time,
//! so that an open connection that is not read holds no provider slot.
//!
//! Invariant: the reader sees a complete answer only if the producer ended it as complete.

use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Buffered chunks.
const BUFFERED_CHUNKS: usize = 64;
/// Total time that a producer waits for its reader.
pub const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The producer's end.
pub struct AnswerSender<T, E> {
    chunks: mpsc::Sender<T>,
    ending: oneshot::Sender<Result<(), E>>,
    /// Remaining time that the reader may block the producer.
    patience: Duration,
}

/// The consumer's end.
pub struct AnswerReceiver<T, E> {
    chunks: mpsc::Receiver<T>,
    /// The outcome; `None` once read.
    ending: Option<oneshot::Receiver<Result<(), E>>>,
    /// The error if the producer is dropped without an outcome.
    lost: fn() -> E,
}

/// The reader disconnected, or stopped reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderStalled;

/// Creates both ends. The reader may block the producer for `patience` in total; `lost` is the
/// error if the producer is dropped without an outcome.
pub fn answer_channel<T, E>(
    patience: Duration,
    lost: fn() -> E,
) -> (AnswerSender<T, E>, AnswerReceiver<T, E>) {
    let (chunks, taken) = mpsc::channel(BUFFERED_CHUNKS);
    let (ending, ended) = oneshot::channel();
    (
        AnswerSender { chunks, ending, patience },
        AnswerReceiver { chunks: taken, ending: Some(ended), lost },
    )
}

impl<T: Send, E> AnswerSender<T, E> {
    /// Sends a chunk, waiting for room in the buffer.
    pub async fn send(&mut self, chunk: T) -> Result<(), ReaderStalled> {
        use mpsc::error::TrySendError;
        let chunk = match self.chunks.try_send(chunk) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(ReaderStalled),
            Err(TrySendError::Full(chunk)) => chunk,
        };
        let began = Instant::now();
        let sent = tokio::time::timeout(self.patience, self.chunks.send(chunk)).await;
        self.patience = self.patience.saturating_sub(began.elapsed());
        sent.map_err(|_| ReaderStalled)?.map_err(|_| ReaderStalled)
    }

    /// Resolves when the reader disconnects. The future keeps the channel open.
    pub fn closed(&self) -> impl Future<Output = ()> + Send + use<T, E> {
        let chunks = self.chunks.clone();
        async move { chunks.closed().await }
    }

    /// Ends the answer with its outcome. Never blocks.
    pub fn end(self, outcome: Result<(), E>) {
        // A disconnected reader needs no outcome.
        let _ = self.ending.send(outcome);
    }
}

impl<T: Send, E: Send> AnswerReceiver<T, E> {
    /// Returns the next chunk or the error; `None` after the end.
    pub async fn next(&mut self) -> Option<Result<T, E>> {
        if let Some(chunk) = self.chunks.recv().await {
            return Some(Ok(chunk));
        }
        let ended = self.ending.as_mut()?.await;
        self.ending = None;
        ended.unwrap_or_else(|_| Err((self.lost)())).err().map(Err)
    }

    /// Returns the remaining chunks as a stream. Dropping it notifies the producer.
    pub fn into_stream(self) -> impl Stream<Item = Result<T, E>> + Send + use<T, E> {
        stream::unfold(self, |mut intake| async move {
            let chunk = intake.next().await?;
            Some((chunk, intake))
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    fn lost() -> &'static str {
        "lost"
    }

    #[tokio::test]
    async fn an_answer_is_whole_only_if_it_was_ended_so() {
        for (outcome, last) in
            [(Some(Ok(())), Ok(1)), (Some(Err("broke")), Err("broke")), (None, Err("lost"))]
        {
            let (mut outlet, intake) = answer_channel(PATIENCE, lost);
            outlet.send(1).await.unwrap();
            match outcome {
                Some(outcome) => outlet.end(outcome),
                None => drop(outlet),
            }

            let read: Vec<_> = intake.into_stream().collect().await;

            assert_eq!((read[0], read[read.len() - 1]), (Ok(1), last));
        }
    }

    #[tokio::test]
    async fn a_reader_that_does_not_read_is_waited_for_once() {
        let (mut outlet, mut intake) = answer_channel(Duration::from_millis(20), lost);
        for n in 0..BUFFERED_CHUNKS {
            outlet.send(n).await.unwrap();
        }

        assert_eq!(outlet.send(64).await, Err(ReaderStalled));
        assert_eq!(outlet.patience, Duration::ZERO);
        assert_eq!(intake.next().await, Some(Ok(0)));
        outlet.send(65).await.unwrap();
        assert_eq!(outlet.send(66).await, Err(ReaderStalled));

        outlet.end(Err("not read"));
        let rest: Vec<_> = intake.into_stream().collect().await;
        assert_eq!((rest.len(), rest[BUFFERED_CHUNKS]), (BUFFERED_CHUNKS + 1, Err("not read")));
    }

    #[tokio::test]
    async fn whoever_answers_hears_that_the_reader_went_away() {
        let (mut outlet, intake) = answer_channel::<u8, _>(PATIENCE, lost);
        let gone = outlet.closed();

        drop(intake);

        gone.await;
        assert_eq!(outlet.send(1).await, Err(ReaderStalled));
    }
}
