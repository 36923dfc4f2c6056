//! One transaction, on either engine.

use std::sync::Arc;

use deadpool_postgres::Object;
use futures_util::future::{join_all, join3, try_join_all};
use tokio_postgres::types::ToSql;

use crate::Error;
use crate::column::Row;
use crate::param::Param;
use crate::quarantine::Quarantine;

/// One transaction. What it can do is the sum of the store traits; it is committed by [`crate::Store`]
/// when the operation succeeds, and rolled back otherwise.
pub struct Tx {
    connection: Connection,
    /// Whether a statement failed. PostgreSQL then refuses all that follow and forgets all that
    /// came before; SQLite would not, so the operation is refused as a whole on both.
    failed: bool,
    stage: Stage,
    /// Where rows are noted that cannot be decoded.
    quarantine: Arc<Quarantine>,
}

/// How far a transaction is on PostgreSQL: whether a statement that did nothing may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Each statement is a transaction of its own.
    Bare,
    /// Begun with this statement, and nothing was done since.
    Begun(&'static str),
    /// What was done would be lost.
    UnderWay,
}

impl Drop for Tx {
    /// A caller that went away leaves its transaction half done. That connection must not go back
    /// to the pool: closing it makes the server roll back.
    fn drop(&mut self) {
        if let Connection::Postgres { client, open: true } = &mut self.connection {
            drop(client.take().map(Object::take));
        }
    }
}

/// The SQLite connection is owned so that a transaction may move between threads; its futures
/// never wait, so the writer thread drives a whole operation in one poll.
enum Connection {
    Postgres { client: Option<Object>, open: bool },
    Sqlite(rusqlite::Connection),
}

impl Tx {
    pub(crate) fn postgres(client: Object) -> Self {
        Self::over(Connection::Postgres { client: Some(client), open: false })
    }

    /// Notes whether a transaction is open, for [`Drop`].
    pub(crate) fn set_open(&mut self, is_open: bool) {
        if let Connection::Postgres { open, .. } = &mut self.connection {
            *open = is_open;
        }
    }

    /// Notes how far the transaction is.
    pub(crate) fn set_stage(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// After a statement: whether it is to be sent again. One that was prepared before its table got
    /// another column is refused; then every statement of the pool is prepared anew, and this one is
    /// repeated if nothing is lost by that. Otherwise the caller repeats the operation.
    async fn is_repeated<T>(&mut self, answer: &Result<T, Error>) -> bool {
        let stage = self.stage;
        if !answer.as_ref().is_err_and(Error::is_outdated) {
            if stage != Stage::Bare {
                self.stage = Stage::UnderWay;
            }
            return false;
        }
        self.connection.forget_statements();
        match stage {
            Stage::Bare => true,
            Stage::UnderWay => false,
            Stage::Begun(begin) => {
                self.connection.batch("ROLLBACK").await.is_ok()
                    && self.connection.batch(begin).await.is_ok()
            }
        }
    }

    pub(crate) fn sqlite(connection: rusqlite::Connection) -> Self {
        Self::over(Connection::Sqlite(connection))
    }

    fn over(connection: Connection) -> Self {
        let quarantine = Arc::default();
        Self { connection, failed: false, stage: Stage::UnderWay, quarantine }
    }

    /// The same transaction, with rows that cannot be decoded noted in `quarantine`.
    pub(crate) fn noting_in(mut self, quarantine: &Arc<Quarantine>) -> Self {
        self.quarantine = Arc::clone(quarantine);
        self
    }

    pub(crate) fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// Whether a statement failed since [`Tx::forget_failure`].
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Starts a new operation.
    pub(crate) fn forget_failure(&mut self) {
        self.failed = false;
    }

    /// Whether SQLite undid the whole transaction by itself, as it does when the disk is full.
    pub(crate) fn was_undone(&self) -> bool {
        match &self.connection {
            Connection::Postgres { .. } => false,
            Connection::Sqlite(connection) => connection.is_autocommit(),
        }
    }

    /// Whether the embedded engine answers.
    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self.connection, Connection::Sqlite(_))
    }

    /// Every row of the answer.
    pub(crate) async fn rows(&mut self, sql: &str, params: &[Param]) -> Result<Vec<Row>, Error> {
        let mut answer = match check(params) {
            Ok(()) => self.connection.rows(sql, params).await,
            Err(error) => Err(error),
        };
        if self.is_repeated(&answer).await {
            answer = self.connection.rows(sql, params).await;
        }
        self.failed |= answer.is_err();
        answer
    }

    /// The first row of the answer, if there is one.
    pub(crate) async fn row(&mut self, sql: &str, params: &[Param]) -> Result<Option<Row>, Error> {
        Ok(self.rows(sql, params).await?.into_iter().next())
    }

    /// How the engine would find the rows of a statement, in its own words.
    pub(crate) async fn plan(&mut self, sql: &str, params: &[Param]) -> Result<String, Error> {
        let (explain, column) = if self.is_sqlite() {
            ("EXPLAIN QUERY PLAN", "detail")
        } else {
            ("EXPLAIN", "QUERY PLAN")
        };
        let rows = self.rows(&format!("{explain} {sql}"), params).await?;
        let lines: Result<Vec<String>, Error> = rows.iter().map(|row| row.get(column)).collect();
        Ok(lines?.join("\n"))
    }

    /// How many rows a statement changed.
    pub(crate) async fn execute(&mut self, sql: &str, params: &[Param]) -> Result<u64, Error> {
        let mut answer = match check(params) {
            Ok(()) => self.connection.execute(sql, params).await,
            Err(error) => Err(error),
        };
        if self.is_repeated(&answer).await {
            answer = self.connection.execute(sql, params).await;
        }
        self.failed |= answer.is_err();
        answer
    }

    /// Runs one statement that takes no parameters and gives no rows; it is kept prepared.
    pub(crate) async fn statement(&mut self, sql: &'static str) -> Result<(), Error> {
        match &self.connection {
            Connection::Sqlite(_) => self.execute_as_is(sql, &[]).await.map(drop),
            Connection::Postgres { .. } => self.batch(sql).await,
        }
    }

    /// Runs statements that need no translation, as [`Tx::execute_as_is`], and in no order: the
    /// answer to one is not waited for before the next is sent. Gives how many rows each changed.
    pub(crate) async fn execute_all(
        &mut self,
        statements: &[(&str, &[Param])],
    ) -> Result<Vec<u64>, Error> {
        let answer = match statements.iter().try_for_each(|(_, params)| check(params)) {
            Ok(()) => self.connection.execute_all(statements).await,
            Err(error) => Err(error),
        };
        // Some of them may have been done.
        self.stage = Stage::UnderWay;
        self.failed |= answer.is_err();
        answer
    }

    /// As [`Tx::execute_all`], in a transaction of its own that is begun and committed in the same
    /// round trip. For PostgreSQL alone; whoever uses it has not begun a transaction.
    pub(crate) async fn commit_all(
        &mut self,
        statements: &[(&str, &[Param])],
    ) -> Result<Vec<u64>, Error> {
        match statements.iter().try_for_each(|(_, params)| check(params)) {
            Ok(()) => self.connection.commit_all(statements).await,
            Err(error) => Err(error),
        }
    }

    /// Whether the connection is of no more use.
    pub(crate) fn is_lost(&self) -> bool {
        match &self.connection {
            Connection::Postgres { client, .. } => {
                client.as_ref().is_none_or(|client| client.is_closed())
            }
            Connection::Sqlite(_) => false,
        }
    }

    /// As [`Tx::execute`], for a statement in which every parameter stands once and in order: both
    /// engines read that alike, so it needs no translation.
    async fn execute_as_is(&mut self, sql: &str, params: &[Param]) -> Result<u64, Error> {
        let answer = match check(params) {
            Ok(()) => self.connection.execute_as_is(sql, params).await,
            Err(error) => Err(error),
        };
        self.failed |= answer.is_err();
        answer
    }

    /// Runs statements that take no parameters and give no rows.
    pub(crate) async fn batch(&mut self, sql: &str) -> Result<(), Error> {
        let answer = self.connection.batch(sql).await;
        self.stage = Stage::UnderWay;
        self.failed |= answer.is_err();
        answer
    }
}

impl Connection {
    /// Has every statement prepared anew, here and on the other connections of the pool.
    fn forget_statements(&self) {
        if let Self::Postgres { client: Some(client), .. } = self {
            client.statement_cache.clear();
            if let Some(pool) = Object::pool(client) {
                pool.manager().statement_caches.clear();
            }
        }
    }

    async fn rows(&mut self, sql: &str, params: &[Param]) -> Result<Vec<Row>, Error> {
        match self {
            Self::Postgres { client, .. } => {
                let client = client.as_ref().ok_or(Error::Closed)?;
                let statement = client.prepare_cached(&for_postgres(sql)).await?;
                let rows = client.query(&statement, &borrowed(params)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
            Self::Sqlite(connection) => sqlite_rows(connection, sql, params),
        }
    }

    async fn execute(&mut self, sql: &str, params: &[Param]) -> Result<u64, Error> {
        let sql = match self {
            Self::Postgres { .. } => for_postgres(sql),
            Self::Sqlite(_) => for_sqlite(sql),
        };
        self.execute_as_is(&sql, params).await
    }

    async fn execute_all(&mut self, statements: &[(&str, &[Param])]) -> Result<Vec<u64>, Error> {
        if let Self::Postgres { client, .. } = self {
            let client = &**client.as_ref().ok_or(Error::Closed)?;
            let sent = statements.iter().map(|(sql, params)| async move {
                let statement = client.prepare_cached(sql).await?;
                Ok(client.execute(&statement, &borrowed(params)).await?)
            });
            return try_join_all(sent).await;
        }
        let mut changed = Vec::with_capacity(statements.len());
        for (sql, params) in statements {
            changed.push(self.execute_as_is(sql, params).await?);
        }
        Ok(changed)
    }

    async fn commit_all(&mut self, statements: &[(&str, &[Param])]) -> Result<Vec<u64>, Error> {
        let Self::Postgres { client, .. } = self else {
            return Err(Error::misused("only a server shares commits in this way"));
        };
        let client = &**client.as_ref().ok_or(Error::Closed)?;
        let mut prepared = Vec::with_capacity(statements.len());
        for (sql, params) in statements {
            prepared.push((client.prepare_cached(sql).await?, borrowed(params)));
        }
        let sent = prepared.iter().map(|(statement, params)| client.execute(statement, params));
        if let [_] = statements {
            // A statement alone is a transaction.
            return try_join_all(sent).await.map_err(Error::from);
        }
        // Sent in this order, before the first answer. After a failure the server refuses the rest, and
        // its commit is a rollback.
        let (begun, done, ended) =
            join3(client.batch_execute("BEGIN"), join_all(sent), client.batch_execute("COMMIT"))
                .await;
        begun?;
        let changed = done.into_iter().collect::<Result<Vec<u64>, _>>()?;
        ended?;
        Ok(changed)
    }

    async fn execute_as_is(&mut self, sql: &str, params: &[Param]) -> Result<u64, Error> {
        match self {
            Self::Postgres { client, .. } => {
                let client = client.as_ref().ok_or(Error::Closed)?;
                let statement = client.prepare_cached(sql).await?;
                Ok(client.execute(&statement, &borrowed(params)).await?)
            }
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.execute(rusqlite::params_from_iter(params))? as u64)
            }
        }
    }

    async fn batch(&mut self, sql: &str) -> Result<(), Error> {
        match self {
            Self::Postgres { client, .. } => {
                let client = client.as_ref().ok_or(Error::Closed)?;
                Ok(client.batch_execute(sql).await?)
            }
            Self::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
        }
    }
}

/// Refuses on either engine what only one of them could keep.
pub(crate) fn check(params: &[Param]) -> Result<(), Error> {
    let is_unfit = |param: &Param| matches!(param, Param::Text(text) if text.contains('\0'));
    if params.iter().any(is_unfit) { Err(Error::NulCharacter) } else { Ok(()) }
}

/// Text in `/*pg … */` is for PostgreSQL only; SQLite, which has one writer and needs no row
/// locks, reads it as a comment.
pub(crate) fn for_postgres(sql: &str) -> String {
    sql.replace("/*pg", "").replace("*/", "")
}

/// To SQLite `$2` is a name, numbered by where it first stands; `?2` is the second parameter.
fn for_sqlite(sql: &str) -> String {
    sql.replace('$', "?")
}

fn borrowed(params: &[Param]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

fn sqlite_rows(
    connection: &rusqlite::Connection,
    sql: &str,
    params: &[Param],
) -> Result<Vec<Row>, Error> {
    let mut statement = connection.prepare_cached(&for_sqlite(sql))?;
    let mut rows = statement.query(rusqlite::params_from_iter(params))?;
    let mut found = vec![];
    let mut names: Option<Arc<[String]>> = None;
    while let Some(row) = rows.next()? {
        // Only now: the first step finds out whether another connection has added columns.
        let names = names.get_or_insert_with(|| {
            let statement: &rusqlite::Statement<'_> = row.as_ref();
            statement.column_names().map(ToOwned::to_owned).collect()
        });
        let values = (0..names.len()).map(|index| row.get(index)).collect::<Result<_, _>>()?;
        found.push(Row::Sqlite { names: Arc::clone(names), values });
    }
    Ok(found)
}
