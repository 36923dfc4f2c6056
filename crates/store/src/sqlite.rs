//! The embedded engine: one writer thread with group commit, and a few reader threads.
//!
//! Operations that arrive during a commit share the next one, each in its own savepoint: durability costs one
//! sync per batch, not one per operation.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use cynode_sql::sqlite_file;
use futures_util::FutureExt;
use tokio::sync::mpsc;

use crate::operation::Queued;
use crate::quarantine::Quarantine;
use crate::{Error, Tx};

/// Capacity of the queue; further callers wait.
const QUEUE: usize = 1024;
/// The most operations in one commit.
const BATCH: usize = 256;
const READERS: usize = 2;

/// The queues of an open SQLite database. The threads end when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Sqlite {
    writes: mpsc::Sender<Queued>,
    reads: mpsc::Sender<Queued>,
    pub(crate) quarantine: Arc<Quarantine>,
}

impl Sqlite {
    /// Opens or creates the database at `path`, and starts its threads.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        sqlite_file::create(path);
        let connection = sqlite_file::connect(path)?;
        let (writes, write_queue) = mpsc::channel(QUEUE);
        let quarantine = Arc::<Quarantine>::default();
        let tx = Tx::sqlite(connection).with_quarantine(&quarantine);
        start_thread("store-writer", move || serve_writes(tx, write_queue))?;
        let (reads, read_queue) = mpsc::channel(QUEUE);
        let read_queue = Arc::new(Mutex::new(read_queue));
        for _ in 0..READERS {
            let (connection, queue) = (sqlite_file::connect(path)?, Arc::clone(&read_queue));
            connection.execute_batch("PRAGMA query_only = ON")?;
            let tx = Tx::sqlite(connection).with_quarantine(&quarantine);
            start_thread("store-reader", move || serve_reads(tx, &queue))?;
        }
        Ok(Self { writes, reads, quarantine })
    }

    pub(crate) async fn write(&self, operation: Queued) -> Result<(), Error> {
        self.writes.send(operation).await.map_err(|_| Error::Closed)
    }

    /// Reserves a slot in the queue of writes.
    pub(crate) async fn reserve_write(&self) -> Result<mpsc::Permit<'_, Queued>, Error> {
        self.writes.reserve().await.map_err(|_| Error::Closed)
    }

    pub(crate) async fn read(&self, operation: Queued) -> Result<(), Error> {
        self.reads.send(operation).await.map_err(|_| Error::Closed)
    }
}

fn start_thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop).map_err(Error::unavailable)
}

fn serve_writes(mut tx: Tx, mut queue: mpsc::Receiver<Queued>) {
    let mut more = VecDeque::new();
    while let Some(first) = more.pop_front().or_else(|| queue.blocking_recv()) {
        more.push_front(first);
        write_batch(&mut tx, &mut more, &mut queue);
    }
}

/// Runs due and queued operations; the operations that they return are due next.
fn write_batch(tx: &mut Tx, due: &mut VecDeque<Queued>, queue: &mut mpsc::Receiver<Queued>) {
    if let Err(error) = poll_once(tx.statement("BEGIN IMMEDIATE")) {
        let failure = Arc::new(error);
        for operation in std::mem::take(due) {
            due.extend(operation.reply(Err(Error::unavailable(Arc::clone(&failure)))));
        }
        return;
    }
    let mut done = vec![];
    let mut next = due.pop_front();
    while let Some(mut operation) = next {
        // The first operation needs no savepoint: there is nothing to protect, and a savepoint copies changed
        // pages.
        let kept = if done.is_empty() {
            run_first(tx, &mut operation)
        } else {
            run_in_savepoint(tx, &mut operation)
        };
        done.push((operation, kept));
        let is_full = done.len() == BATCH || tx.was_rolled_back();
        next = if is_full { None } else { due.pop_front().or_else(|| queue.try_recv().ok()) };
    }
    // Fails if SQLite rolled the transaction back itself, so that no caller is told that its changes were
    // committed.
    let commit = poll_once(tx.statement("COMMIT"));
    if let Err(error) = &commit {
        let _ = poll_once(tx.statement("ROLLBACK"));
        let undone = done.len();
        let error = error as &dyn std::error::Error;
        tracing::error!(error, undone, "the database could not be written: is its disk full?");
    }
    let failure = commit.err().map(Arc::new);
    for (operation, kept) in done {
        due.extend(operation.reply(match (&failure, kept) {
            (Some(failure), _) => Err(Error::unavailable(Arc::clone(failure))),
            (None, kept) => kept,
        }));
    }
}

/// Runs one operation at the start of a transaction; its failure starts another.
fn run_first(tx: &mut Tx, operation: &mut Queued) -> Result<(), Error> {
    let outcome = operation.run(tx).now_or_never();
    if outcome == Some(true) {
        return Ok(());
    }
    poll_once(tx.batch("ROLLBACK; BEGIN IMMEDIATE"))?;
    if outcome.is_none() { Err(Error::Closed) } else { Ok(()) }
}

/// Runs one operation so that its failure undoes its own changes only.
fn run_in_savepoint(tx: &mut Tx, operation: &mut Queued) -> Result<(), Error> {
    poll_once(tx.statement("SAVEPOINT operation"))?;
    // An operation that awaits anything but the store would block every other writer: it is rolled back, and
    // fails.
    let outcome = operation.run(tx).now_or_never();
    if outcome == Some(true) {
        return poll_once(tx.statement("RELEASE operation"));
    }
    poll_once(tx.batch("ROLLBACK TO operation; RELEASE operation"))?;
    if outcome.is_none() { Err(Error::Closed) } else { Ok(()) }
}

fn serve_reads(mut tx: Tx, queue: &Mutex<mpsc::Receiver<Queued>>) {
    loop {
        let next = match queue.lock() {
            Ok(mut queue) => queue.blocking_recv(),
            Err(_) => None,
        };
        let Some(mut operation) = next else {
            return;
        };
        let begun = poll_once(tx.statement("BEGIN"));
        let answer = begun.and_then(|()| match operation.run(&mut tx).now_or_never() {
            Some(_) => Ok(()),
            None => Err(Error::Closed),
        });
        let _ = poll_once(tx.statement("ROLLBACK"));
        // Readers return no further operation.
        let _ = operation.reply(answer);
    }
}

/// Statements on SQLite never wait, so their futures are ready at the first poll.
fn poll_once<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    future.now_or_never().unwrap_or(Err(Error::Closed))
}
