//! Decoding of column values.

use std::str::FromStr;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rusqlite::types::Value as SqliteValue;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::Error;

/// One row of a result, from either engine.
pub enum Row {
    Postgres(tokio_postgres::Row),
    Sqlite { names: Arc<[String]>, values: Vec<SqliteValue> },
}

/// A type that a column can be decoded as.
pub trait Column: for<'a> FromSql<'a> + Sized {
    fn from_sqlite(value: &SqliteValue) -> Result<Self, String>;
}

impl Row {
    pub fn get<T: Column>(&self, name: &str) -> Result<T, Error> {
        match self {
            Self::Postgres(row) => {
                row.try_get(name).map_err(|error| Error::unreadable(name, error.to_string()))
            }
            Self::Sqlite { names, values } => {
                let index = names.iter().position(|known| known == name);
                let value = index.and_then(|index| values.get(index));
                let value = value.ok_or_else(|| Error::unreadable(name, "no such column"))?;
                T::from_sqlite(value).map_err(|reason| Error::unreadable(name, reason))
            }
        }
    }

    /// Decodes a typed id.
    pub fn id<T: From<Uuid>>(&self, name: &str) -> Result<T, Error> {
        self.get::<Uuid>(name).map(T::from)
    }

    /// Decodes an id as text, also if it is not a valid id.
    pub fn id_text(&self, name: &str) -> String {
        let id = self.get::<Uuid>(name).map(|id| id.to_string());
        id.or_else(|_| self.get::<String>(name)).unwrap_or_else(|_| "?".to_owned())
    }

    /// Decodes an optional typed id.
    pub fn id_opt<T: From<Uuid>>(&self, name: &str) -> Result<Option<T>, Error> {
        Ok(self.get::<Option<Uuid>>(name)?.map(T::from))
    }

    /// Decodes one of a closed set of words.
    pub fn keyword<T>(&self, name: &str) -> Result<T, Error>
    where
        T: FromStr,
        T::Err: ToString,
    {
        self.get::<String>(name)?
            .parse()
            .map_err(|error: T::Err| Error::unreadable(name, error.to_string()))
    }

    /// Decodes an optional one of a closed set of words.
    pub fn keyword_opt<T>(&self, name: &str) -> Result<Option<T>, Error>
    where
        T: FromStr,
        T::Err: ToString,
    {
        let word = self.get::<Option<String>>(name)?;
        let parsed = word.map(|word| word.parse()).transpose();
        parsed.map_err(|error: T::Err| Error::unreadable(name, error.to_string()))
    }

    /// Decodes typed JSON.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        serde_json::from_value(self.get::<Json>(name)?)
            .map_err(|error| Error::unreadable(name, error.to_string()))
    }

    /// Decodes a non-negative integer.
    pub fn count(&self, name: &str) -> Result<u32, Error> {
        u32::try_from(self.get::<i64>(name)?)
            .map_err(|error| Error::unreadable(name, error.to_string()))
    }
}

macro_rules! columns {
    ($($ty:ty: $pattern:pat => $read:expr,)*) => {$(
        impl Column for $ty {
            fn from_sqlite(value: &SqliteValue) -> Result<Self, String> {
                match value {
                    $pattern => $read,
                    other => Err(format!("unexpected {:?}", other.data_type())),
                }
            }
        }
    )*};
}

columns! {
    i64: SqliteValue::Integer(number) => Ok(*number),
    bool: SqliteValue::Integer(number) => Ok(*number != 0),
    String: SqliteValue::Text(text) => Ok(text.clone()),
    Vec<u8>: SqliteValue::Blob(bytes) => Ok(bytes.clone()),
    Uuid: SqliteValue::Text(text) => Uuid::parse_str(text).map_err(|error| error.to_string()),
    Json: SqliteValue::Text(text) => serde_json::from_str(text).map_err(|error| error.to_string()),
    DateTime<Utc>: SqliteValue::Integer(micros) => DateTime::from_timestamp_micros(*micros)
        .ok_or_else(|| format!("{micros} is not a valid time")),
}

impl<T: Column> Column for Option<T> {
    fn from_sqlite(value: &SqliteValue) -> Result<Self, String> {
        match value {
            SqliteValue::Null => Ok(None),
            SqliteValue::Integer(_)
            | SqliteValue::Real(_)
            | SqliteValue::Text(_)
            | SqliteValue::Blob(_) => T::from_sqlite(value).map(Some),
        }
    }
}
