//! Full-text search over all tables of a test database.

use tokio_postgres::{Client, NoTls};

use crate::TestDatabase;

impl TestDatabase {
    /// Tables whose rows contain `text` in any column, as text or as bytes.
    ///
    /// # Panics
    ///
    /// When the database cannot be read.
    pub async fn tables_containing(&self, text: &str) -> Vec<String> {
        let found = match self.url.strip_prefix("sqlite:") {
            Some(path) => search_sqlite(path, text).map_err(|error| error.to_string()),
            None => search_postgres(&self.url, text).await.map_err(|error| error.to_string()),
        };
        match found {
            Ok(tables) => tables,
            Err(error) => panic!("the test database cannot be read: {error}"),
        }
    }
}

fn search_sqlite(path: &str, text: &str) -> Result<Vec<String>, rusqlite::Error> {
    let connection = rusqlite::Connection::open(path)?;
    let mut statement =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = statement.query_map([], |row| row.get(0))?;
    let mut found = vec![];
    for name in names {
        let name: String = name?;
        let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\""))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut is_there = false;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                let value = row.get_ref(column)?;
                let bytes = value.as_bytes_or_null().ok().flatten().unwrap_or_default();
                is_there |= bytes.windows(text.len()).any(|part| part == text.as_bytes());
            }
        }
        if is_there {
            found.push(name);
        }
    }
    Ok(found)
}

async fn search_postgres(url: &str, text: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::select! {
        found = search_tables(&client, text) => found,
        Err(error) = connection => Err(error),
    }
}

/// A row cast to text contains every column, bytes as hexadecimal digits.
async fn search_tables(client: &Client, text: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    let mut found = vec![];
    for table in client.query(tables, &[]).await? {
        let table: String = table.try_get(0)?;
        let sql = format!(
            "SELECT count(*) FROM \"{table}\" t
             WHERE strpos(t::text, $1) > 0
             OR strpos(t::text, encode(convert_to($1, 'UTF8'), 'hex')) > 0"
        );
        let count: i64 = client.query_one(&sql, &[&text]).await?.try_get(0)?;
        if count > 0 {
            found.push(table);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::{postgres_database, sqlite_database};

    /// Tables that contain `needle` as text, as bytes, and not at all.
    const MADE: [&str; 4] = [
        "CREATE TABLE texts (a text, b text); INSERT INTO texts VALUES (NULL, 'a needle, here');",
        "CREATE TABLE others (a text, n bigint); INSERT INTO others VALUES ('hay', 7);",
        "CREATE TABLE bytes (a blob); INSERT INTO bytes VALUES (x'006e6565646c6500');",
        "CREATE TABLE bytes (a bytea); INSERT INTO bytes VALUES ('\\x006e6565646c6500');",
    ];

    #[tokio::test]
    async fn a_text_is_found_in_every_column_of_either_engine() {
        let (sqlite, postgres) = (sqlite_database(), postgres_database().await);
        let connection =
            rusqlite::Connection::open(sqlite.url.strip_prefix("sqlite:").unwrap()).unwrap();
        connection.execute_batch(&MADE[..3].concat()).unwrap();
        let (client, connection) =
            tokio_postgres::connect(&postgres.url, tokio_postgres::NoTls).await.unwrap();
        let made = [MADE[0], MADE[1], MADE[3]].concat();
        tokio::select! {
            done = client.batch_execute(&made) => done.unwrap(),
            ended = connection => panic!("the connection ended: {ended:?}"),
        }

        for database in [sqlite, postgres] {
            let mut found = database.tables_containing("needle").await;
            found.sort();
            assert_eq!(found, ["bytes", "texts"]);
            assert_eq!(database.tables_containing("pin").await, Vec::<String>::new());
        }
    }
}
