//! Runs SQL directly against a test database, bypassing the store.

use rusqlite::types::ValueRef;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Runs SQL in the database at `url` and returns the rows of the last statement as text; NULL is an
/// empty string.
///
/// # Panics
///
/// When the SQL fails.
pub async fn query(url: &str, sql: &str) -> Vec<Vec<String>> {
    let found = match url.strip_prefix("sqlite:") {
        Some(path) => query_sqlite(path, sql).map_err(|error| error.to_string()),
        None => query_postgres(url, sql).await.map_err(|error| format!("{error:?}")),
    };
    match found {
        Ok(rows) => rows,
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn query_sqlite(path: &str, sql: &str) -> Result<Vec<Vec<String>>, rusqlite::Error> {
    let connection = rusqlite::Connection::open(path)?;
    connection.busy_timeout(std::time::Duration::from_secs(20))?;
    let (before, last) = sql.trim_end().rsplit_once(';').unwrap_or(("", sql));
    connection.execute_batch(before)?;
    if last.trim().is_empty() {
        return Ok(vec![]);
    }
    let mut statement = connection.prepare(last)?;
    let columns = statement.column_count();
    let text = |row: &rusqlite::Row<'_>, column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => String::new(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                String::from_utf8_lossy(text).into_owned()
            }
        })
    };
    let rows = statement.query_map([], |row| (0..columns).map(|c| text(row, c)).collect())?;
    rows.collect()
}

async fn query_postgres(url: &str, sql: &str) -> Result<Vec<Vec<String>>, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let answer = tokio::select! {
        answer = client.simple_query(sql) => answer?,
        Err(error) = connection => return Err(error),
    };
    let row = |message: &SimpleQueryMessage| {
        let SimpleQueryMessage::Row(row) = message else {
            return None;
        };
        let text = |column| row.get(column).unwrap_or_default().to_owned();
        Some((0..row.len()).map(text).collect())
    };
    Ok(answer.iter().filter_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{postgres_database, sqlite_database};

    #[tokio::test]
    async fn both_engines_give_rows_as_text() {
        for database in [sqlite_database(), postgres_database().await] {
            let sql = "CREATE TABLE kept (number bigint, word text);
                       INSERT INTO kept VALUES (7, 'seven'), (8, NULL);
                       SELECT number, word FROM kept ORDER BY number";

            assert_eq!(query(&database.url, sql).await, [["7", "seven"], ["8", ""]]);
        }
    }
}
