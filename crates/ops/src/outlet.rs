//! An answer in pieces on its way to a reader who may be slow, or may not read at all.
//!
//! Start at [`outlet`]: whoever answers gives pieces to the [`Outlet`] and ends it, whoever asked takes
//! them from the [`Intake`]. A few pieces wait for a slow reader, and then whoever answers waits too;
//! but not for long, so that a connection that stays open and is not read holds nobody's turn.
//!
//! Invariant: an answer looks whole to its reader only if whoever gave it said that it is.

use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Pieces that wait for a slow reader.
const PIECES: usize = 64;
/// How long an answer waits for its reader in all.
pub(crate) const UNREAD: Duration = Duration::from_secs(30);

/// Where an answer is put.
pub(crate) struct Outlet<T, E> {
    pieces: mpsc::Sender<T>,
    ending: oneshot::Sender<Result<(), E>>,
    /// What is left of the time that the reader may keep the answer waiting.
    patience: Duration,
}

/// Where an answer is read.
pub(crate) struct Intake<T, E> {
    pieces: mpsc::Receiver<T>,
    /// How the answer ended; nothing once that was read.
    ending: Option<oneshot::Receiver<Result<(), E>>>,
    /// What is said if nobody ended it.
    lost: fn() -> E,
}

/// Nobody takes the pieces: the reader went away, or does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotRead;

/// The two ends. The reader may keep the answer waiting for `patience` in all; `lost` is what it
/// is told if the answer breaks off without an end.
pub(crate) fn outlet<T, E>(patience: Duration, lost: fn() -> E) -> (Outlet<T, E>, Intake<T, E>) {
    let (pieces, taken) = mpsc::channel(PIECES);
    let (ending, ended) = oneshot::channel();
    (Outlet { pieces, ending, patience }, Intake { pieces: taken, ending: Some(ended), lost })
}

impl<T: Send, E> Outlet<T, E> {
    /// Gives out a piece, as soon as there is room for it.
    pub(crate) async fn give(&mut self, piece: T) -> Result<(), NotRead> {
        use mpsc::error::TrySendError;
        let piece = match self.pieces.try_send(piece) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(NotRead),
            Err(TrySendError::Full(piece)) => piece,
        };
        let began = Instant::now();
        let sent = tokio::time::timeout(self.patience, self.pieces.send(piece)).await;
        self.patience = self.patience.saturating_sub(began.elapsed());
        sent.map_err(|_| NotRead)?.map_err(|_| NotRead)
    }

    /// Returns once the reader went away. Holding on to it keeps the answer open.
    pub(crate) fn gone(&self) -> impl Future<Output = ()> + Send + use<T, E> {
        let pieces = self.pieces.clone();
        async move { pieces.closed().await }
    }

    /// The answer is whole, or failed. Never waits for the reader.
    pub(crate) fn end(self, outcome: Result<(), E>) {
        // Whoever went away has no use for it.
        let _ = self.ending.send(outcome);
    }
}

impl<T: Send, E: Send> Intake<T, E> {
    /// The next piece, or why there are no more; nothing after the end.
    pub(crate) async fn next(&mut self) -> Option<Result<T, E>> {
        if let Some(piece) = self.pieces.recv().await {
            return Some(Ok(piece));
        }
        let ended = self.ending.as_mut()?.await;
        self.ending = None;
        ended.unwrap_or_else(|_| Err((self.lost)())).err().map(Err)
    }

    /// What is left of it. Dropping it tells whoever answers.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Result<T, E>> + Send + use<T, E> {
        stream::unfold(self, |mut intake| async move {
            let piece = intake.next().await?;
            Some((piece, intake))
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
            let (mut outlet, intake) = outlet(PATIENCE, lost);
            outlet.give(1).await.unwrap();
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
        let (mut outlet, mut intake) = outlet(Duration::from_millis(20), lost);
        for n in 0..PIECES {
            outlet.give(n).await.unwrap();
        }

        assert_eq!(outlet.give(64).await, Err(NotRead));
        assert_eq!(outlet.patience, Duration::ZERO);
        assert_eq!(intake.next().await, Some(Ok(0)));
        outlet.give(65).await.unwrap();
        assert_eq!(outlet.give(66).await, Err(NotRead));

        outlet.end(Err("not read"));
        let rest: Vec<_> = intake.into_stream().collect().await;
        assert_eq!((rest.len(), rest[PIECES]), (PIECES + 1, Err("not read")));
    }

    #[tokio::test]
    async fn whoever_answers_hears_that_the_reader_went_away() {
        let (mut outlet, intake) = outlet::<u8, _>(PATIENCE, lost);
        let gone = outlet.gone();

        drop(intake);

        gone.await;
        assert_eq!(outlet.give(1).await, Err(NotRead));
    }
}
