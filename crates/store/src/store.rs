//! The store: opens a database and runs operations on it.

use std::path::PathBuf;

use futures_util::future::BoxFuture;

use crate::operation::{
    OperationBody, OperationResult, Queued, erase_types, into_queued, restore_types,
};
use crate::postgres::Postgres;
use crate::quarantine::{Quarantine, UndecodableRow};
use crate::sqlite::Sqlite;
use crate::{Error, GrantedRun, NotificationChannel, RunClaim, Tx, migrate};
use cynode_sql::sqlite_file;

/// An open, migrated database. Cheap to clone.
#[derive(Clone)]
pub struct Store(pub(crate) StoreBackend);

#[derive(Clone)]
pub(crate) enum StoreBackend {
    Postgres(Postgres),
    Sqlite(Sqlite),
}

/// The database engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseEngine {
    /// A PostgreSQL server.
    Postgres,
    /// The embedded database.
    Sqlite,
}

/// The kind of transaction an operation needs.
#[derive(Clone, Copy)]
enum TransactionKind {
    Write,
    /// A write that claims rows: on PostgreSQL its statements are planned once.
    Claim,
    Read,
}

impl DatabaseEngine {
    /// The engine's name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
        }
    }
}

impl Store {
    /// Opens the database at `url` and migrates its schema. A database of a newer version is rejected and not
    /// changed.
    pub async fn open(url: &str) -> Result<Self, Error> {
        let backend = if let Some(path) = sqlite_file::path_of_url(url) {
            StoreBackend::Sqlite(Sqlite::open(&path)?)
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            StoreBackend::Postgres(Postgres::open(url)?)
        } else {
            return Err(Error::UnknownEngine { url: without_password(url) });
        };
        let store = Self(backend);
        migrate::migrate(&store).await?;
        Ok(store)
    }

    /// The file that a `sqlite:` URL names.
    pub fn sqlite_path(url: &str) -> Option<PathBuf> {
        sqlite_file::path_of_url(url)
    }

    /// Returns the database engine.
    pub fn engine(&self) -> DatabaseEngine {
        match self.0 {
            StoreBackend::Postgres(_) => DatabaseEngine::Postgres,
            StoreBackend::Sqlite(_) => DatabaseEngine::Sqlite,
        }
    }

    /// Runs `body` in one transaction: all of its changes are committed, or none. It must not continue after a
    /// failed statement: then it is rolled back, whatever it returns.
    ///
    /// The body awaits nothing but `tx`; on SQLite all writers wait for it.
    pub async fn write<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        restore_types(self.run(TransactionKind::Write, erase_types(body)).await)
    }

    /// Claims runs for a runner, oldest first; sets the status of task and run to running.
    pub async fn run_claim(&self, claim: RunClaim) -> Result<Vec<GrantedRun>, Error> {
        let body = erase_types(move |tx| Box::pin(async move { tx.run_claim(&claim).await }));
        restore_types(self.run(TransactionKind::Claim, body).await)
    }

    /// Enqueues an operation that replies by itself. `make` is called once the queue has room and may return
    /// nothing: a caller that is cancelled before that leaves nothing behind.
    pub(crate) async fn enqueue_operation(
        &self,
        make: impl FnOnce() -> Option<Queued>,
    ) -> Result<(), Error> {
        match &self.0 {
            StoreBackend::Postgres(postgres) => {
                if let Some(operation) = make() {
                    postgres.spawn_operation(operation);
                }
            }
            StoreBackend::Sqlite(sqlite) => {
                let room = sqlite.reserve_write().await?;
                if let Some(operation) = make() {
                    room.send(operation);
                }
            }
        }
        Ok(())
    }

    /// Opens a connection for notifications between processes; `None` on SQLite, which has one process.
    pub async fn open_notifications(&self) -> Result<Option<NotificationChannel>, Error> {
        match &self.0 {
            StoreBackend::Postgres(postgres) => postgres.open_notifications().await.map(Some),
            StoreBackend::Sqlite(_) => Ok(None),
        }
    }

    /// Runs `body` on one consistent snapshot; it must not write.
    pub async fn read<T, E, F>(&self, body: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
        F: for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        restore_types(self.run(TransactionKind::Read, erase_types(body)).await)
    }

    /// Boxed, so that it is compiled here and not at each call site.
    fn run(&self, kind: TransactionKind, body: OperationBody) -> BoxFuture<'_, OperationResult> {
        Box::pin(async move {
            let outcome = self.run_operation(kind, body).await;
            if self.quarantine().is_pending() {
                self.record_quarantine().await;
            }
            outcome
        })
    }

    async fn run_operation(&self, kind: TransactionKind, body: OperationBody) -> OperationResult {
        match &self.0 {
            StoreBackend::Postgres(postgres) => match kind {
                TransactionKind::Write => postgres.write(body).await,
                TransactionKind::Claim => postgres.claim(body).await,
                TransactionKind::Read => postgres.read(body).await,
            },
            StoreBackend::Sqlite(sqlite) => run_on_sqlite(sqlite, kind, body).await,
        }
    }

    fn quarantine(&self) -> &Quarantine {
        match &self.0 {
            StoreBackend::Postgres(postgres) => &postgres.quarantine,
            StoreBackend::Sqlite(sqlite) => &sqlite.quarantine,
        }
    }

    /// Records undecodable rows in a separate transaction, because the operation that found them may be
    /// read-only.
    async fn record_quarantine(&self) {
        let found = self.quarantine().take();
        let places: Vec<_> = found.iter().map(UndecodableRow::table_and_key).collect();
        let body =
            erase_types(move |tx| Box::pin(async move { tx.record_quarantine(found).await }));
        if let Err(error) =
            restore_types::<(), Error>(self.run_operation(TransactionKind::Write, body).await)
        {
            self.quarantine().discard(&places);
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, rows = places.len(), "quarantined rows not recorded");
        }
    }
}

async fn run_on_sqlite(
    sqlite: &Sqlite,
    kind: TransactionKind,
    body: OperationBody,
) -> OperationResult {
    let (operation, answer) = into_queued(body);
    match kind {
        TransactionKind::Write | TransactionKind::Claim => sqlite.write(operation).await?,
        TransactionKind::Read => sqlite.read(operation).await?,
    }
    answer.await.map_err(|_| Error::Closed)?
}

/// The part of a URL that cannot contain a password: without text before an `@`, after a `?`, or in
/// `password=…`.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit_once('@').map_or(rest.to_owned(), |(_, host)| format!("…@{host}"));
    let rest = rest.split_once('?').map_or(rest.clone(), |(place, _)| format!("{place}?…"));
    let rest = if rest.contains("password") { "…" } else { rest.as_str() };
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}
