//! The file of the embedded engine, and connections to it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::functions::FunctionFlags;

use crate::Error;

/// Creates the database file readable by its owner only; SQLite gives its other files the same mode. An error
/// here is ignored, because SQLite reports it next.
pub fn create(path: &Path) {
    let _ = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
}

/// Opens the database file.
pub fn connect(path: &Path) -> Result<Connection, Error> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    // Full sync: a committed row survives a power cut, not only a killed process.
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY;
         PRAGMA wal_autocheckpoint = 4000;",
    )?;
    // Statements are planned once: without this, each new value of a parameter may cause a new plan.
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

/// The file of a `sqlite:` URL. In-memory databases are not supported: every connection would open its own.
pub fn path_of_url(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    (!path.is_empty() && path != ":memory:").then(|| PathBuf::from(path))
}
