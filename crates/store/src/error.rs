//! Why a database operation did not succeed.

use std::error::Error as StdError;

/// Why a database operation did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database does not answer, is full, or refused the connection. Trying later may help.
    #[error("the database is unavailable")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
    /// A row with the same unique value exists.
    #[error("a row with the same unique value exists ({constraint})")]
    Duplicate {
        /// Which rule, as far as the engine says.
        constraint: String,
    },
    /// A text holds a NUL character, which PostgreSQL cannot keep: change the text. Refused on both
    /// engines alike; text inside JSON and bytes may hold it.
    #[error("text must not hold NUL characters")]
    NulCharacter,
    /// The statement itself failed: a defect of ours.
    #[error("a statement failed")]
    Statement(#[source] Box<dyn StdError + Send + Sync>),
    /// A stored value is not what this version expects.
    #[error("column {column} holds something this version does not understand: {reason}")]
    Unreadable {
        /// The column.
        column: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A row cannot be decoded. It is on record in `quarantined_rows`.
    #[error(
        "row {key} of table {table} cannot be read: column {column} holds something this version does \
         not understand ({reason}). It is quarantined: repair or delete it in the database. \
         `cynork status` lists such rows"
    )]
    Quarantined {
        /// The table.
        table: String,
        /// The row's key.
        key: String,
        /// The column.
        column: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database was written by a newer version.
    #[error(
        "the database has schema version {found}, this program knows up to {known}: use the newer program"
    )]
    Newer {
        /// The version of the database.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The URL names no database we know.
    #[error("\"{url}\" is no database: use postgres://… or sqlite:PATH")]
    UnknownEngine {
        /// The URL, without its password.
        url: String,
    },
    /// The store was closed while the operation waited.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// Whether a row with the same unique value exists.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Duplicate { .. })
    }

    /// Whether stored data cannot be decoded: it stays so until somebody repairs it.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Quarantined { .. })
    }

    /// Whether the server refused a prepared statement because its table has other columns by now, as
    /// after a migration by another process. It did nothing; prepared anew it works.
    pub(crate) fn is_outdated(&self) -> bool {
        let Self::Unavailable(cause) = self else { return false };
        let cause = cause.downcast_ref::<tokio_postgres::Error>();
        cause.and_then(tokio_postgres::Error::as_db_error).is_some_and(is_outdated)
    }

    pub(crate) fn unavailable(cause: impl StdError + Send + Sync + 'static) -> Self {
        Self::Unavailable(Box::new(cause))
    }

    /// An operation did what operations must not do.
    pub(crate) fn misused(what: &str) -> Self {
        Self::Statement(format!("the operation was undone: {what}").into())
    }

    pub(crate) fn unreadable(column: &str, reason: impl Into<String>) -> Self {
        Self::Unreadable { column: column.to_owned(), reason: reason.into() }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
        let Some(failure) = error.sqlite_error() else {
            return Self::Statement(Box::new(error));
        };
        let duplicate = [SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_PRIMARYKEY];
        if duplicate.contains(&failure.extended_code) {
            return Self::Duplicate { constraint: error.to_string() };
        }
        let away = [
            Code::DatabaseBusy,
            Code::DatabaseLocked,
            Code::DiskFull,
            Code::SystemIoFailure,
            Code::CannotOpen,
            Code::ReadOnly,
            Code::DatabaseCorrupt,
            Code::NotADatabase,
        ];
        if away.contains(&failure.code) {
            Self::unavailable(error)
        } else {
            Self::Statement(Box::new(error))
        }
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let Some(refusal) = error.as_db_error() else {
            return Self::unavailable(error);
        };
        if *refusal.code() == SqlState::UNIQUE_VIOLATION {
            let constraint = refusal.constraint().unwrap_or("unique").to_owned();
            return Self::Duplicate { constraint };
        }
        // Classes: 08 connection, 40 deadlock or serialisation, 53 resources, 57 shutdown, 58 system.
        let away = ["08", "40", "53", "57", "58"];
        let is_away = away.iter().any(|class| refusal.code().code().starts_with(class));
        if is_away || is_outdated(refusal) {
            Self::unavailable(error)
        } else {
            Self::Statement(Box::new(error))
        }
    }
}

/// "cached plan must not change result type", in whatever language the server says it.
fn is_outdated(refusal: &tokio_postgres::error::DbError) -> bool {
    use tokio_postgres::error::SqlState;
    *refusal.code() == SqlState::FEATURE_NOT_SUPPORTED
        && refusal.routine() == Some("RevalidateCachedQuery")
}

impl From<deadpool_postgres::PoolError> for Error {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        Self::unavailable(error)
    }
}
