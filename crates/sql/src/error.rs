//! Errors of database operations.

use std::error::Error as StdError;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};

/// Why a database operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database is unreachable, full, or refused the connection. A retry may succeed.
    #[error("the database is unavailable")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
    /// A row with the same unique value exists.
    #[error("a row with the same unique value exists ({constraint})")]
    Duplicate {
        /// The constraint, if the engine names it.
        constraint: String,
    },
    /// A text contains a NUL character, which PostgreSQL cannot store. Rejected on both engines; text inside
    /// JSON and bytes may contain it.
    #[error("text must not contain NUL characters")]
    NulCharacter,
    /// The statement failed: a bug in this program.
    #[error("a statement failed")]
    Statement(#[source] Box<dyn StdError + Send + Sync>),
    /// A stored value cannot be decoded by this version.
    #[error("column {column} has a value that this version cannot read: {reason}")]
    Unreadable { column: String, reason: String },
    /// A row cannot be decoded. It is recorded in `quarantined_rows`.
    #[error(
        "row {key} of table {table} cannot be read: column {column} has a value that this version \
         cannot read ({reason}). It is quarantined: repair or delete it in the database. \
         `cynork status` lists such rows"
    )]
    Quarantined { table: String, key: String, column: String, reason: String },
    /// The database was written by a newer version.
    #[error(
        "the database has schema version {found}, this program supports versions up to {known}: use \
         the newer program"
    )]
    Newer {
        /// The schema version of the database.
        found: i64,
        /// The newest schema version that this program supports.
        known: i64,
    },
    /// The URL has an unknown scheme.
    #[error("\"{url}\" is not a database URL: use postgres://… or sqlite:PATH")]
    UnknownEngine {
        /// The URL, without its password.
        url: String,
    },
    /// The URL cannot be used.
    #[error("the database URL cannot be used: {reason}")]
    InvalidUrl {
        /// Never contains the password.
        reason: String,
    },
    /// The store was closed while the operation waited.
    #[error("the store is closed")]
    Closed,
}

impl Classified for Error {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::Unavailable(_) | Self::Closed => Classification::new(
                ErrorClass::Outage,
                "the database is unavailable: try again shortly",
            ),
            Self::NulCharacter => Classification::new(ErrorClass::Invalid, self),
            // The reason may quote stored data: it is for the log and for administrators only.
            Self::Quarantined { table, key, column, .. } => Classification::new(
                ErrorClass::Internal,
                &format!(
                    "row {key} of table {table} is quarantined: column {column} has a value that this \
                     version cannot read. An administrator must repair or delete the row in the \
                     database. `cynork status` lists such rows"
                ),
            ),
            Self::Duplicate { .. }
            | Self::Statement(_)
            | Self::Unreadable { .. }
            | Self::Newer { .. }
            | Self::UnknownEngine { .. }
            | Self::InvalidUrl { .. } => Classification::internal(),
        }
    }
}

impl Error {
    /// Whether a row with the same unique value exists.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Duplicate { .. })
    }

    /// Whether stored data cannot be decoded. A retry fails until the data is repaired.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Quarantined { .. })
    }

    /// Whether the server rejected a prepared statement because the columns of its table changed, as after a
    /// migration by another process. It had no effect; prepared again it succeeds.
    pub fn is_outdated(&self) -> bool {
        let Self::Unavailable(cause) = self else { return false };
        let cause = cause.downcast_ref::<tokio_postgres::Error>();
        cause.and_then(tokio_postgres::Error::as_db_error).is_some_and(is_outdated)
    }

    pub fn unavailable(cause: impl StdError + Send + Sync + 'static) -> Self {
        Self::Unavailable(Box::new(cause))
    }

    pub fn invalid_url(reason: impl Into<String>) -> Self {
        Self::InvalidUrl { reason: reason.into() }
    }

    /// An operation broke the rules for operations.
    pub fn invalid_operation(what: &str) -> Self {
        Self::Statement(format!("the operation was rolled back: {what}").into())
    }

    pub fn unreadable(column: &str, reason: impl Into<String>) -> Self {
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

/// "cached plan must not change result type", independent of the server's language.
fn is_outdated(refusal: &tokio_postgres::error::DbError) -> bool {
    use tokio_postgres::error::SqlState;
    *refusal.code() == SqlState::FEATURE_NOT_SUPPORTED
        && refusal.routine() == Some("RevalidateCachedQuery")
}

impl From<deadpool_postgres::PoolError> for Error {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        let reason = match &error {
            deadpool_postgres::PoolError::Backend(cause) => connect_failure(cause),
            deadpool_postgres::PoolError::Timeout(_) => {
                "no connection was free in time: the server is overloaded or does not answer"
                    .to_owned()
            }
            deadpool_postgres::PoolError::Closed
            | deadpool_postgres::PoolError::NoRuntimeSpecified
            | deadpool_postgres::PoolError::PostCreateHook(_) => error.to_string(),
        };
        Self::Unavailable(format!("cannot connect to PostgreSQL: {reason}").into())
    }
}

/// What the server replied, or why it could not be reached.
fn connect_failure(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), StdError::source(error)) {
        (Some(reply), _) => reply.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}
