//! The embedded engine: one writer thread with group commit, a few reader threads.
//!
//! Operations that queue up while a commit waits for the disk share the next one, each behind its
//! own savepoint: durability costs one sync per batch, not one per operation.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::FutureExt;
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;
use tokio::sync::mpsc;

use crate::operation::Queued;
use crate::quarantine::Quarantine;
use crate::{Error, Tx};

/// Waiting operations; more than this and callers wait for room.
const QUEUE: usize = 1024;
/// Operations that share one commit at most.
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
        create(path);
        let connection = connect(path)?;
        let (writes, write_queue) = mpsc::channel(QUEUE);
        let quarantine = Arc::<Quarantine>::default();
        let tx = Tx::sqlite(connection).noting_in(&quarantine);
        start_thread("store-writer", move || serve_writes(tx, write_queue))?;
        let (reads, read_queue) = mpsc::channel(QUEUE);
        let read_queue = Arc::new(Mutex::new(read_queue));
        for _ in 0..READERS {
            let (connection, queue) = (connect(path)?, Arc::clone(&read_queue));
            connection.execute_batch("PRAGMA query_only = ON")?;
            let tx = Tx::sqlite(connection).noting_in(&quarantine);
            start_thread("store-reader", move || serve_reads(tx, &queue))?;
        }
        Ok(Self { writes, reads, quarantine })
    }

    pub(crate) async fn write(&self, operation: Queued) -> Result<(), Error> {
        self.writes.send(operation).await.map_err(|_| Error::Closed)
    }

    /// A place in the queue of writes.
    pub(crate) async fn room_to_write(&self) -> Result<mpsc::Permit<'_, Queued>, Error> {
        self.writes.reserve().await.map_err(|_| Error::Closed)
    }

    pub(crate) async fn read(&self, operation: Queued) -> Result<(), Error> {
        self.reads.send(operation).await.map_err(|_| Error::Closed)
    }
}

fn start_thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop).map_err(Error::unavailable)
}

/// A new database belongs to its owner alone; what SQLite puts beside it takes the same mode. What
/// cannot be made is named by SQLite a moment later.
fn create(path: &Path) {
    let _ = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
}

fn connect(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // Full sync: a committed row survives a power cut, not only a killed process.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 4000;",
    )?;
    // Statements are planned once: without this, each new value of a parameter may plan them anew.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(256);
    let flags = FunctionFlags::SQLITE_UTF8;
    connection.create_scalar_function("cynode_now", 0, flags, |_| Ok(now_micros()))?;
    connection.create_scalar_function("cynode_after", 1, flags, |context| {
        Ok(now_micros() + context.get::<i64>(0)? * 1000)
    })?;
    Ok(connection)
}

#[expect(clippy::disallowed_methods, reason = "this is the database's own clock")]
fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

fn serve_writes(mut tx: Tx, mut queue: mpsc::Receiver<Queued>) {
    let mut more = VecDeque::new();
    while let Some(first) = more.pop_front().or_else(|| queue.blocking_recv()) {
        more.push_front(first);
        write_batch(&mut tx, &mut more, &mut queue);
    }
}

/// Runs what is due and what waits; what they have left to do is due next.
fn write_batch(tx: &mut Tx, due: &mut VecDeque<Queued>, queue: &mut mpsc::Receiver<Queued>) {
    if let Err(error) = at_once(tx.statement("BEGIN IMMEDIATE")) {
        let failure = Arc::new(error);
        for operation in std::mem::take(due) {
            due.extend(operation.answer(Err(Error::unavailable(Arc::clone(&failure)))));
        }
        return;
    }
    let mut done = vec![];
    let mut next = due.pop_front();
    while let Some(mut operation) = next {
        // There is nothing to protect from the first, and a savepoint keeps copies of what changes.
        let kept = if done.is_empty() {
            run_first(tx, &mut operation)
        } else {
            run_in_savepoint(tx, &mut operation)
        };
        done.push((operation, kept));
        let is_full = done.len() == BATCH || tx.was_undone();
        next = if is_full { None } else { due.pop_front().or_else(|| queue.try_recv().ok()) };
    }
    // Fails if SQLite undid the transaction itself, so nobody is told that their work was kept.
    let commit = at_once(tx.statement("COMMIT"));
    if let Err(error) = &commit {
        let _ = at_once(tx.statement("ROLLBACK"));
        let undone = done.len();
        let error = error as &dyn std::error::Error;
        tracing::error!(error, undone, "the database could not be written: is its disk full?");
    }
    let failure = commit.err().map(Arc::new);
    for (operation, kept) in done {
        due.extend(operation.answer(match (&failure, kept) {
            (Some(failure), _) => Err(Error::unavailable(Arc::clone(failure))),
            (None, kept) => kept,
        }));
    }
}

/// Runs one operation at the beginning of a transaction; its failure begins another.
fn run_first(tx: &mut Tx, operation: &mut Queued) -> Result<(), Error> {
    let outcome = operation.run(tx).now_or_never();
    if outcome == Some(true) {
        return Ok(());
    }
    at_once(tx.batch("ROLLBACK; BEGIN IMMEDIATE"))?;
    if outcome.is_none() { Err(Error::Closed) } else { Ok(()) }
}

/// Runs one operation so that its failure undoes its own changes and nobody else's.
fn run_in_savepoint(tx: &mut Tx, operation: &mut Queued) -> Result<(), Error> {
    at_once(tx.statement("SAVEPOINT operation"))?;
    // An operation that waits for anything but the store would stop every other writer: it is
    // undone, and its caller told.
    let outcome = operation.run(tx).now_or_never();
    if outcome == Some(true) {
        return at_once(tx.statement("RELEASE operation"));
    }
    at_once(tx.batch("ROLLBACK TO operation; RELEASE operation"))?;
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
        let begun = at_once(tx.statement("BEGIN"));
        let answer = begun.and_then(|()| match operation.run(&mut tx).now_or_never() {
            Some(_) => Ok(()),
            None => Err(Error::Closed),
        });
        let _ = at_once(tx.statement("ROLLBACK"));
        // Readers have nothing left to do.
        let _ = operation.answer(answer);
    }
}

/// Statements on SQLite never wait, so their futures are ready at the first poll.
fn at_once<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    future.now_or_never().unwrap_or(Err(Error::Closed))
}

/// The file named by a `sqlite:` URL. A database in memory is none: every connection would see
/// another one.
pub(crate) fn path_of(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    (!path.is_empty() && path != ":memory:").then(|| PathBuf::from(path))
}
