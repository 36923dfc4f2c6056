//! The store: opens a database and runs operations on it.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::operation::{Body, Outcome, Queued, erased, queue, typed};
use crate::postgres::Postgres;
use crate::quarantine::{Finding, Quarantine};
use crate::sqlite::{self, Sqlite};
use crate::{Error, Move, MoveStore, Moved, Notices, Tx, migrate};

/// Every statement of a reader sees the same moment.
const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// An open, migrated database. Cheap to clone.
#[derive(Clone)]
pub struct Store(pub(crate) Backend);

#[derive(Clone)]
pub(crate) enum Backend {
    Postgres(Postgres),
    Sqlite(Sqlite),
}

/// Which engine keeps the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// A PostgreSQL server.
    Postgres,
    /// The embedded database.
    Sqlite,
}

/// What an operation needs around it.
#[derive(Clone, Copy)]
enum Manner {
    Write,
    Append,
    WriteAlone,
    ReadAlone,
    Read,
}

impl Engine {
    /// The engine's name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }
}

impl Store {
    /// Opens the database at `url` and brings its schema up to date. A database written by a
    /// newer version is refused and left as it is.
    pub async fn open(url: &str) -> Result<Self, Error> {
        let backend = if let Some(path) = sqlite::path_of(url) {
            Backend::Sqlite(Sqlite::open(&path)?)
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Backend::Postgres(Postgres::open(url)?)
        } else {
            return Err(Error::UnknownEngine { url: without_password(url) });
        };
        let store = Self(backend);
        migrate::migrate(&store).await?;
        Ok(store)
    }

    /// The file that a URL of the embedded database names.
    pub fn file_of(url: &str) -> Option<PathBuf> {
        sqlite::path_of(url)
    }

    /// Which engine keeps the state.
    pub fn engine(&self) -> Engine {
        match self.0 {
            Backend::Postgres(_) => Engine::Postgres,
            Backend::Sqlite(_) => Engine::Sqlite,
        }
    }

    /// Runs `body` in one transaction: all of it is kept, or nothing is. It must not go on after
    /// a statement failed: then nothing is kept, whatever it answers.
    ///
    /// The body awaits nothing but `tx`; on SQLite all writers wait for it.
    pub async fn write<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        typed(self.run(Manner::Write, erased(body)).await)
    }

    /// As [`Store::write`], for small rows that many callers append at once: on PostgreSQL too they
    /// share commits. The body takes no locks that other operations wait for.
    pub async fn append<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        typed(self.run(Manner::Append, erased(body)).await)
    }

    /// Runs an operation that answers for itself, in a transaction. `make` is asked when there is
    /// room for it, and may have changed its mind: whoever stops waiting before that leaves
    /// nothing behind.
    pub(crate) async fn hand_over(
        &self,
        make: impl FnOnce() -> Option<Queued>,
    ) -> Result<(), Error> {
        match &self.0 {
            Backend::Postgres(postgres) => {
                if let Some(operation) = make() {
                    postgres.run_beside(operation);
                }
            }
            Backend::Sqlite(sqlite) => {
                let room = sqlite.room_to_write().await?;
                if let Some(operation) = make() {
                    room.send(operation);
                }
            }
        }
        Ok(())
    }

    /// Runs `body`, of which a single statement writes. On PostgreSQL nothing is put around it, which
    /// saves two round trips; statements after it see what others wrote meanwhile.
    pub async fn write_alone<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        typed(self.run(Manner::WriteAlone, erased(body)).await)
    }

    /// Runs `body`, which reads rows by their keys and must not write. On PostgreSQL nothing is put around
    /// its statements, which saves two round trips; each sees what others wrote meanwhile.
    pub async fn read_alone<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        typed(self.run(Manner::ReadAlone, erased(body)).await)
    }

    /// Writes a move as [`MoveStore::run_move`] does, sharing its commit with others. `None` may
    /// also mean that somebody else was busy with the task: [`Store::write`] waits for them.
    pub async fn transit(&self, wanted: Arc<Move>) -> Result<Option<Moved>, Error> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.transit(wanted).await,
            Backend::Sqlite(_) => {
                self.write(move |tx| Box::pin(async move { tx.run_move(&wanted).await })).await
            }
        }
    }

    /// A connection for notices between processes; nothing on SQLite, which has one process.
    pub async fn notices(&self) -> Result<Option<Notices>, Error> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.notices().await.map(Some),
            Backend::Sqlite(_) => Ok(None),
        }
    }

    /// Runs `body` over one consistent view of the data; it must not write.
    pub async fn read<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        typed(self.run(Manner::Read, erased(body)).await)
    }

    /// Boxed, so that it is compiled here and not wherever it is awaited.
    fn run(&self, manner: Manner, body: Body) -> BoxFuture<'_, Outcome> {
        Box::pin(async move {
            let outcome = self.run_alone(manner, body).await;
            if self.quarantine().is_pending() {
                self.record_quarantine().await;
            }
            outcome
        })
    }

    async fn run_alone(&self, manner: Manner, body: Body) -> Outcome {
        match &self.0 {
            Backend::Postgres(postgres) => on_postgres(postgres, manner, body).await,
            Backend::Sqlite(sqlite) => on_sqlite(sqlite, manner, body).await,
        }
    }

    fn quarantine(&self) -> &Quarantine {
        match &self.0 {
            Backend::Postgres(postgres) => &postgres.quarantine,
            Backend::Sqlite(sqlite) => &sqlite.quarantine,
        }
    }

    /// Records rows that could not be decoded, in a transaction of their own: whoever found them may
    /// have been reading only.
    async fn record_quarantine(&self) {
        let found = self.quarantine().take();
        let places: Vec<_> = found.iter().map(Finding::place).collect();
        let body = erased(move |tx| Box::pin(async move { tx.record_quarantine(found).await }));
        if let Err(error) = typed::<(), Error>(self.run_alone(Manner::Write, body).await) {
            self.quarantine().forget(&places);
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, rows = places.len(), "quarantined rows not recorded");
        }
    }
}

async fn on_postgres(postgres: &Postgres, manner: Manner, body: Body) -> Outcome {
    match manner {
        Manner::Write => postgres.run("BEGIN", body).await,
        Manner::Read => postgres.run(READ, body).await,
        Manner::WriteAlone | Manner::ReadAlone => postgres.run_bare(body).await,
        Manner::Append => {
            let (operation, answer) = queue(body);
            postgres.append(operation).await?;
            answer.await.map_err(|_| Error::Closed)?
        }
    }
}

async fn on_sqlite(sqlite: &Sqlite, manner: Manner, body: Body) -> Outcome {
    let (operation, answer) = queue(body);
    match manner {
        Manner::Write | Manner::Append | Manner::WriteAlone => sqlite.write(operation).await?,
        Manner::Read | Manner::ReadAlone => sqlite.read(operation).await?,
    }
    answer.await.map_err(|_| Error::Closed)?
}

/// As much of what we were given as can hold no password: that stands before an `@`, after a `?`,
/// or in `password=…`.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("…@{host}"));
    let rest = rest.split_once('?').map_or(rest.clone(), |(place, _)| format!("{place}?…"));
    let rest = if rest.contains("password") { "…" } else { rest.as_str() };
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}
