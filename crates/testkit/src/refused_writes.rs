//! Makes a database reject every write, as if its disk were full.

use rusqlite::Connection;

use crate::query;

/// Guard: every write to the database fails until [`WriteRejection::end`].
pub struct WriteRejection {
    url: String,
    /// Holds SQLite's write lock; `None` for PostgreSQL, which is set read-only.
    sqlite: Option<Connection>,
}

/// Makes every write to the database at `url` fail.
///
/// # Panics
///
/// When the database does not answer.
pub async fn reject_writes(url: &str) -> WriteRejection {
    let sqlite = url.strip_prefix("sqlite:").map(|path| {
        let begun = Connection::open(path).and_then(|connection| {
            connection.busy_timeout(std::time::Duration::from_secs(20))?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            Ok(connection)
        });
        match begun {
            Ok(connection) => connection,
            Err(error) => panic!("{path}: {error}"),
        }
    });
    if sqlite.is_none() {
        set_read_only(url, "SET default_transaction_read_only = on").await;
    }
    WriteRejection { url: url.to_owned(), sqlite }
}

impl WriteRejection {
    /// Allows writes again.
    pub async fn end(self) {
        if self.sqlite.is_none() {
            set_read_only(&self.url, "RESET default_transaction_read_only").await;
        }
    }
}

/// Changes a PostgreSQL database for all clients: open connections are terminated.
async fn set_read_only(url: &str, change: &str) {
    let sql = format!(
        "BEGIN READ WRITE;
         DO $$ BEGIN EXECUTE format('ALTER DATABASE %I {change}', current_database()); END $$;
         COMMIT;
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()"
    );
    query(url, &sql).await;
}
