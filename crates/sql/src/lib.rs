//! The two SQL engines behind one set of types: connections, parameters, columns and errors.
//!
//! A statement is written once, with `$1` parameters; [`Transaction`] translates it for SQLite. Tables are in
//! `cynode-store`.

mod column;
mod connection;
mod error;
mod multi_insert;
mod notifications;
mod param;
mod postgres_address;
pub mod sqlite_file;
mod transaction;

pub use column::{Column, Row};
pub use connection::for_postgres;
pub use error::Error;
pub use multi_insert::InsertStatements;
pub use notifications::NotificationChannel;
pub use param::Param;
pub use postgres_address::PostgresAddress;
pub use transaction::{Transaction, TransactionStage, check_params};
