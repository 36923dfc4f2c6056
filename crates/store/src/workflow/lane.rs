//! The one writer of transitions on PostgreSQL: those that wait while a commit is on its way to the
//! disk share the next one, in one statement and one round trip.
//!
//! What it cannot write at once, because somebody else has locked the row, its caller writes the slow
//! way, alone. Leases of which a third is over are extended by a statement of their own, which most
//! moves need not. Invariant: a batch holds at most one move of a task.

mod alone;
mod many;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use cynode_domain::changes::StateRecord;
use cynode_domain::ids::TaskId;
use deadpool_postgres::{Object, Pool};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::Row;
use uuid::Uuid;

use super::moves::{Move, Moved};
use crate::Error;

/// Waiting moves; more than this and callers wait for room.
const QUEUE: usize = 1024;
/// Moves that share one statement at most.
const BATCH: usize = 64;
/// Nobody's locked row keeps the moves of others waiting for longer.
const PATIENCE: &str = "SET lock_timeout = '50ms'";

/// The queue of moves. The writer ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct MoveLane {
    queue: mpsc::Sender<Waiting>,
}

struct Waiting {
    wanted: Arc<Move>,
    reply: oneshot::Sender<Result<Option<Moved>, Error>>,
}

impl MoveLane {
    /// Moves through a connection of `pool`, which plans each statement once.
    #[expect(clippy::disallowed_methods, reason = "ends by itself when the store is dropped")]
    pub(crate) fn open(pool: Pool) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let writer = Writer { pool, connection: None };
        tokio::spawn(writer.run(waiting));
        Self { queue }
    }

    /// As [`super::moves::MoveStore::run_move`], together with others. `None` may also mean that
    /// somebody else has locked the task.
    pub(crate) async fn submit(&self, wanted: Arc<Move>) -> Result<Option<Moved>, Error> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Waiting { wanted, reply }).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

struct Writer {
    pool: Pool,
    /// Kept, because it has the statements prepared.
    connection: Option<Object>,
}

impl Writer {
    async fn run(mut self, mut queue: mpsc::Receiver<Waiting>) {
        let mut waiting = VecDeque::new();
        loop {
            if waiting.is_empty() {
                match queue.recv().await {
                    Some(first) => waiting.push_back(first),
                    None => return,
                }
            }
            while waiting.len() < BATCH
                && let Ok(next) = queue.try_recv()
            {
                waiting.push_back(next);
            }
            self.write(distinct(&mut waiting)).await;
        }
    }

    /// Writes a batch and answers everybody in it.
    async fn write(&mut self, batch: Vec<Waiting>) {
        let moves: Vec<&Move> = batch.iter().map(|waiting| &*waiting.wanted).collect();
        let outcome = self.execute(&moves).await;
        if outcome.is_err()
            && let Some(connection) = self.connection.take()
        {
            // In whatever state it is, nobody else shall have it.
            drop(Object::take(connection));
        }
        match outcome {
            Ok(written) => {
                for Waiting { wanted, reply } in batch {
                    let found = written.iter().find(|(task, _)| *task == wanted.held.task);
                    // A caller that went away sends the same move again, and is told then.
                    let _ = reply.send(Ok(found.map(|(_, how)| *how)));
                }
            }
            // One of them cannot be written: on the slow way it fails alone.
            Err(error @ (Error::Statement(_) | Error::Duplicate { .. })) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a batch is taken apart");
                for waiting in batch {
                    let _ = waiting.reply.send(Ok(None));
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for waiting in batch {
                    let _ = waiting.reply.send(Err(Error::unavailable(Arc::clone(&error))));
                }
            }
        }
    }

    async fn execute(&mut self, moves: &[&Move]) -> Result<Vec<(TaskId, Moved)>, Error> {
        if self.connection.as_ref().is_none_or(|connection| connection.is_closed()) {
            let connection = self.pool.get().await?;
            connection.batch_execute(PATIENCE).await?;
            self.connection = Some(connection);
        }
        let connection = self.connection.as_ref().ok_or(Error::Closed)?;
        let written = match moves {
            [wanted] => write_one(connection, wanted).await?,
            moves => write_many(connection, moves).await?,
        };
        extend(connection, moves, &written).await?;
        Ok(written.into_iter().map(|written| (written.task, written.moved)).collect())
    }
}

/// A move that was written.
struct Written {
    task: TaskId,
    /// Whether a third of the lease is over.
    is_due: bool,
    moved: Moved,
}

impl Written {
    fn of(task: TaskId, row: &Row) -> Result<Self, tokio_postgres::Error> {
        let moved =
            Moved { is_paused: row.try_get("is_paused")?, is_awaited: row.try_get("is_awaited")? };
        Ok(Self { task, is_due: row.try_get("is_due")?, moved })
    }
}

async fn write_one(connection: &Object, wanted: &Move) -> Result<Vec<Written>, Error> {
    let values = alone::Values::of(wanted)?;
    let statement = connection.prepare_cached(values.sql()).await?;
    let answer = connection.query_opt(&statement, &values.params()).await?;
    let written = answer.map(|row| Written::of(wanted.held.task, &row)).transpose()?;
    Ok(written.into_iter().collect())
}

async fn write_many(connection: &Object, moves: &[&Move]) -> Result<Vec<Written>, Error> {
    let is_closing = moves.iter().any(|wanted| wanted.close.is_some());
    let sql = if is_closing { many::CLOSING } else { many::PLAIN };
    let statement = connection.prepare_cached(sql).await?;
    let rows = many::Columns::of(moves)?;
    let answer = connection.query(&statement, &rows.params(is_closing)).await?;
    let written = answer.iter().map(|row| {
        let task: Uuid = row.try_get("task_id")?;
        Written::of(TaskId::from(task), row)
    });
    written.collect::<Result<_, tokio_postgres::Error>>().map_err(Error::from)
}

/// Extends the leases of which a third is over. Who has locked one extends it, or ends it.
async fn extend(connection: &Object, moves: &[&Move], written: &[Written]) -> Result<(), Error> {
    let due = written.iter().filter(|written| written.is_due);
    let due = due.filter_map(|due| moves.iter().find(|wanted| wanted.held.task == due.task));
    for Move { held, lease_ms, .. } in due {
        let sql = "WITH due AS MATERIALIZED (
                SELECT id FROM task_workflow_leases WHERE task_id = $1 AND lease_id = $2
                AND epoch = $3 AND holder_id IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE task_workflow_leases l SET expires_at = cynode_after($4),
                updated_at = cynode_now() FROM due d WHERE l.id = d.id";
        let statement = connection.prepare_cached(sql).await?;
        let (task, lease) = (held.task.as_uuid(), held.lease.as_uuid());
        let lease_ms = lease_ms.map(i64::from);
        connection.execute(&statement, &[&task, &lease, &held.epoch, &lease_ms]).await?;
    }
    Ok(())
}

/// A record as text for the columns `state` and `changes`.
fn text(record: &StateRecord) -> Result<(Option<String>, Option<String>), Error> {
    match record {
        StateRecord::Whole(state) => Ok((Some(state.to_string()), None)),
        StateRecord::Changes(changes) => {
            let text = serde_json::to_string(changes);
            let fault = |e: serde_json::Error| Error::unreadable("changes", e.to_string());
            Ok((None, Some(text.map_err(fault)?)))
        }
    }
}

/// Takes the first move of each task; the rest wait for the next batch.
fn distinct(waiting: &mut VecDeque<Waiting>) -> Vec<Waiting> {
    let mut tasks = HashSet::new();
    let (batch, rest) =
        waiting.drain(..).partition(|waiting: &Waiting| tasks.insert(waiting.wanted.held.task));
    *waiting = rest;
    let batch: VecDeque<_> = batch;
    batch.into()
}
