//! Commits batch writes on PostgreSQL: what callers submit while a commit waits for the disk shares the next one.
//!
//! A batch is one transaction whose statements are sent in one round trip; writes of one kind are one statement. Several connections take batches from
//! one queue, so the server executes one batch while it flushes another. A batch that fails is committed again write
//! by write, so that only the failing write fails.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::merged::MergedStatements;
use super::{BatchStatements, ReturnedRow};
use crate::{Error, Tx};

/// Waiting writes; further callers wait for room.
const QUEUE: usize = 1024;
/// The most writes in one commit.
const MAX_WRITES: usize = 128;
/// The most text in one commit, approximately: a few long chat answers fill a batch.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Connections that commit batches.
pub(crate) const WRITERS: usize = 2;
/// How long a commit may take, so that a silent server does not block the queue.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The queue of batch writes. The writers end when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct BatchCommitter {
    queue: mpsc::Sender<BatchSubmission>,
}

struct BatchSubmission {
    statements: BatchStatements,
    reply: oneshot::Sender<Result<ReturnedRow, Error>>,
}

impl BatchCommitter {
    /// Writes through connections of `pool`.
    #[expect(clippy::disallowed_methods, reason = "ends by itself when the store is dropped")]
    pub(crate) fn start(pool: &Pool) -> Self {
        let (queue, submissions) = mpsc::channel(QUEUE);
        let submissions = Arc::new(Mutex::new(submissions));
        for _ in 0..WRITERS {
            let writer = CommitWorker { pool: pool.clone(), connection: None, timeout: TIMEOUT };
            tokio::spawn(writer.run(Arc::clone(&submissions)));
        }
        Self { queue }
    }

    /// Returns the row of the write's item once the write is durable.
    pub(crate) async fn submit(&self, statements: BatchStatements) -> Result<ReturnedRow, Error> {
        if statements.is_empty() {
            return Ok(ReturnedRow::default());
        }
        let (reply, answer) = oneshot::channel();
        let submission = BatchSubmission { statements, reply };
        self.queue.send(submission).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

struct CommitWorker {
    pool: Pool,
    /// Kept between batches, because its statements are prepared.
    connection: Option<Tx>,
    timeout: Duration,
}

impl CommitWorker {
    async fn run(mut self, queue: Arc<Mutex<mpsc::Receiver<BatchSubmission>>>) {
        loop {
            let batch = {
                let mut queue = queue.lock().await;
                let Some(first) = queue.recv().await else { return };
                take_batch(first, &mut queue)
            };
            self.write(batch).await;
        }
    }

    /// Commits a batch and replies to its callers; a caller that went away gets no reply.
    async fn write(&mut self, mut batch: Vec<BatchSubmission>) {
        if batch.len() == 1
            && let Some(only) = batch.pop()
        {
            let written = self.commit_one(&only.statements).await;
            let _ = only.reply.send(written);
            return;
        }
        let writes = batch.iter().map(|submission| &submission.statements);
        match self.commit(&MergedStatements::new(writes)).await {
            Ok(returned) => {
                for (submission, row) in batch.into_iter().zip(returned) {
                    let _ = submission.reply.send(Ok(row));
                }
            }
            Err(Error::Unavailable(cause)) => {
                let cause: Arc<dyn std::error::Error + Send + Sync> = cause.into();
                for submission in batch {
                    let _ = submission.reply.send(Err(Error::unavailable(Arc::clone(&cause))));
                }
            }
            Err(error) => {
                log_split(&error, batch.len());
                for submission in batch {
                    let written = self.commit_one(&submission.statements).await;
                    let _ = submission.reply.send(written);
                }
            }
        }
    }

    async fn commit_one(&mut self, write: &BatchStatements) -> Result<ReturnedRow, Error> {
        let returned = self.commit(&MergedStatements::new([write])).await?;
        Ok(returned.into_iter().next().unwrap_or_default())
    }

    /// Commits writes; returns the row of each.
    async fn commit(&mut self, writes: &MergedStatements) -> Result<Vec<ReturnedRow>, Error> {
        let mut connection = match self.connection.take().filter(|known| !known.is_lost()) {
            Some(known) => known,
            None => Tx::postgres(self.pool.get().await?),
        };
        // If this future is dropped in the middle, the connection must not return to the pool.
        connection.set_open(true);
        let inserts = writes.inserts.inserts(false);
        let commit = connection.commit_all(&writes.queries, &inserts);
        let written = match tokio::time::timeout(self.timeout, commit).await {
            Ok(written) => written,
            Err(late) => Err(Error::unavailable(late)),
        };
        if !matches!(written, Err(Error::Unavailable(_))) {
            connection.set_open(false);
            self.connection = Some(connection);
        }
        writes.distribute(written?)
    }
}

fn log_split(error: &Error, writes: usize) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(error, writes, "batch failed, committing its writes one by one");
}

/// The first write and those that wait behind it, within the limits of one commit.
fn take_batch(
    first: BatchSubmission,
    queue: &mut mpsc::Receiver<BatchSubmission>,
) -> Vec<BatchSubmission> {
    let mut bytes = first.statements.bytes();
    let mut batch = vec![first];
    while batch.len() < MAX_WRITES
        && bytes < MAX_BYTES
        && let Ok(next) = queue.try_recv()
    {
        bytes += next.statements.bytes();
        batch.push(next);
    }
    batch
}

#[cfg(test)]
mod tests;
