//! A database that answers readers and refuses every write, as one whose disk is full.

use rusqlite::Connection;

use crate::query;

/// Every write to a database fails while this is there.
pub struct RefusedWrites {
    url: String,
    /// Holds the only right to write; PostgreSQL is told.
    sqlite: Option<Connection>,
}

/// Makes every write to the database at `url` fail.
///
/// # Panics
///
/// When the database does not answer.
pub async fn refuse_writes(url: &str) -> RefusedWrites {
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
    RefusedWrites { url: url.to_owned(), sqlite }
}

impl RefusedWrites {
    /// Lets writes succeed again.
    pub async fn end(self) {
        if self.sqlite.is_none() {
            set_read_only(&self.url, "RESET default_transaction_read_only").await;
        }
    }
}

/// Changes a PostgreSQL database for everybody: who is connected has to connect again.
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
