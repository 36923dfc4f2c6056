//! Databases for tests, one fresh one per call, and a [`provider`] of models that answers as told.
//!
//! Start at [`postgres_database`] and [`sqlite_database`]. PostgreSQL comes from a private server
//! that all test processes of this workspace share; it is started by the first that needs it and
//! stops by itself when none does. A machine without PostgreSQL fails the tests with
//! instructions; nothing is skipped.
//!
//! For tests only: what cannot be set up is a panic that says why.

mod contents;
mod database;
mod durable;
pub mod provider;
mod query;
mod refused_writes;
mod secrets;
mod server;
mod tools;

pub use database::{TestDatabase, postgres_database, sqlite_database};
pub use durable::DurableServer;
pub use query::query;
pub use refused_writes::{RefusedWrites, refuse_writes};
pub use secrets::{PlantedSecret, planted_secrets};
