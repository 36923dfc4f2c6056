//! Test support: a fresh database per call, and a scripted model [`provider`].
//!
//! Start at [`postgres_database`] and [`sqlite_database`]. PostgreSQL runs as a private server shared
//! by all test processes of this workspace; the first process starts it, and it stops when no process
//! uses it. Without PostgreSQL the tests fail with instructions; nothing is skipped.
//!
//! For tests only: a failed set-up panics with the reason.

mod acp_agent;
mod certificates;
mod database;
mod durable_server;
pub mod engines;
mod git_server;
mod isolation;
mod migrated_template;
mod postgres_server;
mod postgres_tools;
pub mod provider;
mod query;
mod refused_writes;
mod secrets;
mod sync_log;
mod table_search;

pub use acp_agent::acp_agent_command;
pub use certificates::TestCertificate;
pub use database::{TestDatabase, migrated_postgres_database, postgres_database, sqlite_database};
pub use durable_server::DurableServer;
pub use git_server::{GitHttpServer, GitServerLog};
pub use isolation::{ProfileData, check_isolation};
pub use query::query;
pub use refused_writes::{WriteRejection, reject_writes};
pub use secrets::{PlantedSecret, planted_secrets};
pub use sync_log::SyncLog;
