//! The connection of a transaction, and the SQL that each engine reads.

use std::sync::Arc;

use deadpool_postgres::Object;
use futures_util::future::{join, join_all, join3, try_join_all};
use tokio_postgres::types::ToSql;

use crate::Error;
use crate::column::Row;
use crate::param::Param;

/// The SQLite connection is owned so that a transaction may move between threads; its futures never wait, so
/// the writer thread runs a whole operation in one poll.
pub(crate) enum EngineConnection {
    Postgres { client: Option<Object>, open: bool },
    Sqlite(rusqlite::Connection),
}

impl EngineConnection {
    /// Has every statement prepared anew, here and on the other connections of the pool.
    pub(crate) fn clear_statements(&self) {
        if let Self::Postgres { client: Some(client), .. } = self {
            client.statement_cache.clear();
            if let Some(pool) = Object::pool(client) {
                pool.manager().statement_caches.clear();
            }
        }
    }

    pub(crate) async fn rows(
        &mut self,
        begin: Option<&str>,
        sql: &str,
        params: &[Param],
    ) -> Result<Vec<Row>, Error> {
        match self {
            Self::Postgres { client, .. } => {
                let client = client.as_ref().ok_or(Error::Closed)?;
                let statement = client.prepare_cached(&for_postgres(sql)).await?;
                let params = as_sql_params(params);
                let rows =
                    send_after_begin(client, begin, client.query(&statement, &params)).await?;
                Ok(rows.into_iter().map(Row::Postgres).collect())
            }
            Self::Sqlite(connection) => sqlite_rows(connection, sql, params),
        }
    }

    pub(crate) async fn execute(
        &mut self,
        begin: Option<&str>,
        sql: &str,
        params: &[Param],
    ) -> Result<u64, Error> {
        let sql = match self {
            Self::Postgres { .. } => for_postgres(sql),
            Self::Sqlite(_) => for_sqlite(sql),
        };
        self.execute_untranslated(begin, &sql, params).await
    }

    pub(crate) async fn execute_all(
        &mut self,
        statements: &[(&str, &[Param])],
    ) -> Result<Vec<u64>, Error> {
        if let Self::Postgres { client, .. } = self {
            let client = &**client.as_ref().ok_or(Error::Closed)?;
            let sent = statements.iter().map(|(sql, params)| async move {
                let statement = client.prepare_cached(sql).await?;
                Ok(client.execute(&statement, &as_sql_params(params)).await?)
            });
            return try_join_all(sent).await;
        }
        let mut changed = Vec::with_capacity(statements.len());
        for (sql, params) in statements {
            changed.push(self.execute_untranslated(None, sql, params).await?);
        }
        Ok(changed)
    }

    pub(crate) async fn commit_all(
        &mut self,
        queries: &[(&'static str, Vec<Param>)],
        inserts: &[(&str, &[Param])],
    ) -> Result<Vec<Vec<Row>>, Error> {
        let Self::Postgres { client, .. } = self else {
            return Err(Error::invalid_operation("only PostgreSQL commits batches this way"));
        };
        let client = &**client.as_ref().ok_or(Error::Closed)?;
        let mut prepared = Vec::with_capacity(queries.len() + inserts.len());
        for (sql, params) in queries {
            prepared.push((client.prepare_cached(sql).await?, as_sql_params(params)));
        }
        for (sql, params) in inserts {
            prepared.push((client.prepare_cached(sql).await?, as_sql_params(params)));
        }
        let is_alone = prepared.len() == 1;
        let sent = prepared.iter().map(|(statement, params)| client.query(statement, params));
        let returned = if is_alone {
            // A single statement is a transaction.
            try_join_all(sent).await?
        } else {
            // Sent in this order, before the first reply. After a failure the server rejects the rest, and
            // its commit is a rollback.
            let (begun, done, ended) = join3(
                client.batch_execute("BEGIN"),
                join_all(sent),
                client.batch_execute("COMMIT"),
            )
            .await;
            begun?;
            let returned = done.into_iter().collect::<Result<Vec<_>, _>>()?;
            ended?;
            returned
        };
        let rows = returned.into_iter().take(queries.len());
        Ok(rows.map(|rows| rows.into_iter().map(Row::Postgres).collect()).collect())
    }

    pub(crate) async fn execute_untranslated(
        &mut self,
        begin: Option<&str>,
        sql: &str,
        params: &[Param],
    ) -> Result<u64, Error> {
        match self {
            Self::Postgres { client, .. } => {
                let client = client.as_ref().ok_or(Error::Closed)?;
                let statement = client.prepare_cached(sql).await?;
                let params = as_sql_params(params);
                send_after_begin(client, begin, client.execute(&statement, &params)).await
            }
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                Ok(statement.execute(rusqlite::params_from_iter(params))? as u64)
            }
        }
    }

    pub(crate) async fn batch(&mut self, sql: &str) -> Result<(), Error> {
        match self {
            Self::Postgres { client, .. } => {
                let client = client.as_ref().ok_or(Error::Closed)?;
                Ok(client.batch_execute(sql).await?)
            }
            Self::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
        }
    }
}

/// Sends the statement that begins a transaction before another one, and waits for both replies at once.
async fn send_after_begin<T>(
    client: &Object,
    begin: Option<&str>,
    sent: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Error> {
    let Some(begin) = begin else { return Ok(sent.await?) };
    let (opened, answer) = join(client.batch_execute(begin), sent).await;
    opened?;
    Ok(answer?)
}

/// Text in `/*pg … */` is for PostgreSQL only; SQLite, which has one writer and needs no row locks, reads it as
/// a comment.
pub fn for_postgres(sql: &str) -> String {
    sql.replace("/*pg", "").replace("*/", "")
}

/// On SQLite `$2` is a name, numbered by its first occurrence; `?2` is the second parameter.
fn for_sqlite(sql: &str) -> String {
    sql.replace('$', "?")
}

fn as_sql_params(params: &[Param]) -> Vec<&(dyn ToSql + Sync)> {
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
        // Not earlier: the first step detects columns that another connection has added.
        let names = names.get_or_insert_with(|| {
            let statement: &rusqlite::Statement<'_> = row.as_ref();
            statement.column_names().map(ToOwned::to_owned).collect()
        });
        let values = (0..names.len()).map(|index| row.get(index)).collect::<Result<_, _>>()?;
        found.push(Row::Sqlite { names: Arc::clone(names), values });
    }
    Ok(found)
}
