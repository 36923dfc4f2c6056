//! One transaction, on either engine.

use deadpool_postgres::Object;
use futures_util::FutureExt as _;

use crate::connection::EngineConnection;
use crate::{Error, Param, Row};

/// One transaction on a connection. Its owner begins and ends it.
pub struct Transaction {
    connection: EngineConnection,
    /// Whether a statement failed. PostgreSQL then rejects all later statements and discards all earlier ones;
    /// SQLite would not, so the whole operation fails on both.
    failed: bool,
    stage: TransactionStage,
    statements: u64,
}

/// The progress of a transaction on PostgreSQL. It decides whether a failed statement may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStage {
    /// The first statement sends this one before itself, in the same round trip.
    NotBegun(&'static str),
    /// Begun with this statement, and nothing was written since.
    Begun(&'static str),
    /// A repeated statement would lose earlier writes.
    Written,
}

impl Drop for Transaction {
    /// A caller that was cancelled leaves its transaction open. That connection must not return to the pool:
    /// closing it makes the server roll back.
    fn drop(&mut self) {
        if let EngineConnection::Postgres { client, open: true } = &mut self.connection {
            drop(client.take().map(Object::take));
        }
    }
}

impl Transaction {
    pub fn postgres(client: Object) -> Self {
        Self::from_connection(EngineConnection::Postgres { client: Some(client), open: false })
    }

    /// Records whether a transaction is open, for [`Drop`].
    pub fn set_open(&mut self, is_open: bool) {
        if let EngineConnection::Postgres { open, .. } = &mut self.connection {
            *open = is_open;
        }
    }

    /// Records the progress of the transaction.
    pub fn set_stage(&mut self, stage: TransactionStage) {
        self.stage = stage;
    }

    /// The statement that begins the transaction, if the next statement has to send it.
    fn begin(&mut self) -> Option<&'static str> {
        let TransactionStage::NotBegun(begin) = self.stage else { return None };
        self.stage = TransactionStage::Begun(begin);
        Some(begin)
    }

    /// Begins the transaction, if no statement has done so.
    async fn ensure_begun(&mut self) -> Result<(), Error> {
        match self.begin() {
            Some(begin) => self.connection.batch(begin).await,
            None => Ok(()),
        }
    }

    /// Commits or rolls back. Does nothing if no statement was sent.
    pub async fn end(&mut self, is_kept: bool) -> Result<(), Error> {
        if matches!(self.stage, TransactionStage::NotBegun(_)) {
            self.set_open(false);
            return Ok(());
        }
        let ended = self.connection.batch(if is_kept { "COMMIT" } else { "ROLLBACK" }).await;
        self.set_open(ended.is_err());
        ended
    }

    /// Ends a transaction that wrote nothing, without waiting for the server.
    pub fn end_read(&mut self) {
        let is_sent = match (&self.connection, self.stage) {
            (
                EngineConnection::Postgres { client: Some(client), .. },
                TransactionStage::Begun(_) | TransactionStage::Written,
            ) => {
                // The first poll sends it; the next user of the connection is served after it.
                !matches!(client.batch_execute("ROLLBACK").now_or_never(), Some(Err(_)))
            }
            (EngineConnection::Postgres { .. } | EngineConnection::Sqlite(_), _) => true,
        };
        self.set_open(!is_sent);
    }

    /// Whether a statement is to be sent again after this reply. The server rejects a statement that was
    /// prepared before a column was added to its table. Then every statement of the pool is prepared anew, and
    /// this one is repeated if that loses no writes. Otherwise the caller repeats the operation.
    async fn must_repeat<T>(&mut self, answer: &Result<T, Error>) -> bool {
        let stage = self.stage;
        if !answer.as_ref().is_err_and(Error::is_outdated) {
            self.stage = TransactionStage::Written;
            return false;
        }
        self.connection.clear_statements();
        match stage {
            TransactionStage::NotBegun(_) | TransactionStage::Written => false,
            TransactionStage::Begun(begin) => {
                self.connection.batch("ROLLBACK").await.is_ok()
                    && self.connection.batch(begin).await.is_ok()
            }
        }
    }

    pub fn sqlite(connection: rusqlite::Connection) -> Self {
        Self::from_connection(EngineConnection::Sqlite(connection))
    }

    fn from_connection(connection: EngineConnection) -> Self {
        Self { connection, failed: false, stage: TransactionStage::Written, statements: 0 }
    }

    /// Whether a statement failed since [`Transaction::clear_failure`].
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Starts a new operation.
    pub fn clear_failure(&mut self) {
        self.failed = false;
    }

    /// Whether SQLite rolled back the whole transaction by itself, as it does when the disk is full.
    pub fn was_rolled_back(&self) -> bool {
        match &self.connection {
            EngineConnection::Postgres { .. } => false,
            EngineConnection::Sqlite(connection) => connection.is_autocommit(),
        }
    }

    /// Whether this is the embedded engine.
    pub fn is_sqlite(&self) -> bool {
        matches!(self.connection, EngineConnection::Sqlite(_))
    }

    /// How many single statements it has sent.
    pub fn statement_count(&self) -> u64 {
        self.statements
    }

    /// Returns all rows of a query.
    pub async fn rows(&mut self, sql: &str, params: &[Param]) -> Result<Vec<Row>, Error> {
        self.statements += 1;
        let mut answer = match check_params(params) {
            Ok(()) => {
                let begin = self.begin();
                self.connection.rows(begin, sql, params).await
            }
            Err(error) => Err(error),
        };
        if self.must_repeat(&answer).await {
            answer = self.connection.rows(None, sql, params).await;
        }
        self.failed |= answer.is_err();
        answer
    }

    /// Returns the first row of a query, if there is one.
    pub async fn row(&mut self, sql: &str, params: &[Param]) -> Result<Option<Row>, Error> {
        Ok(self.rows(sql, params).await?.into_iter().next())
    }

    /// Returns the query plan of a statement, as the engine prints it.
    pub async fn plan(&mut self, sql: &str, params: &[Param]) -> Result<String, Error> {
        let (explain, column) = if self.is_sqlite() {
            ("EXPLAIN QUERY PLAN", "detail")
        } else {
            ("EXPLAIN", "QUERY PLAN")
        };
        let rows = self.rows(&format!("{explain} {sql}"), params).await?;
        let lines: Result<Vec<String>, Error> = rows.iter().map(|row| row.get(column)).collect();
        Ok(lines?.join("\n"))
    }

    /// Executes a statement; returns how many rows it changed.
    pub async fn execute(&mut self, sql: &str, params: &[Param]) -> Result<u64, Error> {
        self.statements += 1;
        let mut answer = match check_params(params) {
            Ok(()) => {
                let begin = self.begin();
                self.connection.execute(begin, sql, params).await
            }
            Err(error) => Err(error),
        };
        if self.must_repeat(&answer).await {
            answer = self.connection.execute(None, sql, params).await;
        }
        self.failed |= answer.is_err();
        answer
    }

    /// Executes one statement without parameters and rows; it stays prepared.
    pub async fn statement(&mut self, sql: &'static str) -> Result<(), Error> {
        match &self.connection {
            EngineConnection::Sqlite(_) => self.execute_untranslated(sql, &[]).await.map(drop),
            EngineConnection::Postgres { .. } => self.batch(sql).await,
        }
    }

    /// Executes statements that need no translation, because every parameter occurs once and in order. They are pipelined, in
    /// no particular order. Returns how many rows each changed.
    pub async fn execute_all(
        &mut self,
        statements: &[(&str, &[Param])],
    ) -> Result<Vec<u64>, Error> {
        let answer = match statements.iter().try_for_each(|(_, params)| check_params(params)) {
            Ok(()) => match self.ensure_begun().await {
                Ok(()) => self.connection.execute_all(statements).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        // Some of them may have been executed.
        self.stage = TransactionStage::Written;
        self.failed |= answer.is_err();
        answer
    }

    /// Runs statements in a transaction of their own that is begun and committed in the same round trip, on
    /// PostgreSQL. Returns the rows of each query.
    pub async fn commit_all(
        &mut self,
        queries: &[(&'static str, Vec<Param>)],
        inserts: &[(&str, &[Param])],
    ) -> Result<Vec<Vec<Row>>, Error> {
        let mut written = self.connection.commit_all(queries, inserts).await;
        if written.as_ref().is_err_and(Error::is_outdated) {
            // Nothing was written.
            self.connection.clear_statements();
            written = self.connection.commit_all(queries, inserts).await;
        }
        written
    }

    /// Whether the connection is unusable.
    pub fn is_lost(&self) -> bool {
        match &self.connection {
            EngineConnection::Postgres { client, .. } => {
                client.as_ref().is_none_or(|client| client.is_closed())
            }
            EngineConnection::Sqlite(_) => false,
        }
    }

    /// As [`Transaction::execute`], for a statement in which every parameter occurs once and in order: both engines read
    /// that alike, so it needs no translation.
    async fn execute_untranslated(&mut self, sql: &str, params: &[Param]) -> Result<u64, Error> {
        let answer = match check_params(params) {
            Ok(()) => self.connection.execute_untranslated(None, sql, params).await,
            Err(error) => Err(error),
        };
        self.failed |= answer.is_err();
        answer
    }

    /// Runs statements that take no parameters and return no rows.
    pub async fn batch(&mut self, sql: &str) -> Result<(), Error> {
        let answer = match self.ensure_begun().await {
            Ok(()) => self.connection.batch(sql).await,
            Err(error) => Err(error),
        };
        self.stage = TransactionStage::Written;
        self.failed |= answer.is_err();
        answer
    }
}

/// Rejects on both engines values that only one of them could store.
pub fn check_params(params: &[Param]) -> Result<(), Error> {
    if params.iter().any(Param::contains_nul) { Err(Error::NulCharacter) } else { Ok(()) }
}
