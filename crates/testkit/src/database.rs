//! A temporary database for one test.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::thread;

use nix::sys::statvfs::statvfs;
use tempfile::TempDir;
use tokio_postgres::{Config, NoTls};

use crate::migrated_template::ensure_template;
use crate::postgres_server::{self, SharedPostgresServer};

/// An empty database for one test, removed on drop.
#[derive(Debug)]
pub struct TestDatabase {
    /// `postgres://…` or `sqlite:PATH`.
    pub url: String,
    location: TestDatabaseLocation,
}

#[derive(Debug)]
enum TestDatabaseLocation {
    Directory(TempDir),
    Server { server: &'static SharedPostgresServer, name: String },
}

impl TestDatabase {
    /// The name of the database, or of its file.
    pub fn name(&self) -> String {
        match &self.location {
            TestDatabaseLocation::Directory(directory) => {
                directory.path().join(DATABASE_FILE).display().to_string()
            }
            TestDatabaseLocation::Server { name, .. } => name.clone(),
        }
    }
}

const DATABASE_FILE: &str = "cynode.db";
/// A memory file system, if there is one.
pub(crate) const MEMORY_DIR: &str = "/dev/shm";
/// Minimum free memory for all concurrent tests; a container often has less.
const MIN_MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Creates a SQLite database in its own directory: in memory if there is room, so that no commit waits
/// for a disk. Not for tests of durability.
///
/// # Panics
///
/// When no temporary directory can be created.
pub fn sqlite_database() -> TestDatabase {
    let directory = match create_directory(MEMORY_DIR) {
        Ok(directory) => directory,
        Err(error) => panic!("no temporary directory for a test database: {error}"),
    };
    let url = format!("sqlite:{}", directory.path().join(DATABASE_FILE).display());
    TestDatabase { url, location: TestDatabaseLocation::Directory(directory) }
}

/// Creates a directory in `memory` if there is room, else in the temporary directory.
fn create_directory(memory: &str) -> io::Result<TempDir> {
    let mut directory = tempfile::Builder::new();
    directory.prefix("cynode-test-");
    if has_room(memory)
        && let Ok(made) = directory.tempdir_in(memory)
    {
        return Ok(made);
    }
    directory.tempdir()
}

fn has_room(place: &str) -> bool {
    statvfs(place).is_ok_and(|found| {
        found.blocks_available().saturating_mul(found.fragment_size()) >= MIN_MEMORY_BYTES
    })
}

/// Creates an empty database on the private PostgreSQL server, which is started if necessary.
///
/// # Panics
///
/// When PostgreSQL is not installed or does not start, with instructions.
pub async fn postgres_database() -> TestDatabase {
    create_database(postgres_server::shared_server(), "template1").await
}

/// Creates a database with the newest schema on the private PostgreSQL server: for tests that are not about migrations.
///
/// # Panics
///
/// When PostgreSQL is not installed or does not start, with instructions.
pub async fn migrated_postgres_database() -> TestDatabase {
    let server = postgres_server::shared_server();
    create_database(server, ensure_template(server).await).await
}

async fn create_database(server: &'static SharedPostgresServer, template: &str) -> TestDatabase {
    let name = format!("test_{:016x}", RandomState::new().build_hasher().finish());
    let sql = format!("CREATE DATABASE {name} TEMPLATE {template}");
    if let Err(error) = run_sql(server, "postgres", &sql).await {
        panic!("the test server cannot create a database: {error}");
    }
    TestDatabase { url: server.url(&name), location: TestDatabaseLocation::Server { server, name } }
}

impl Drop for TestDatabase {
    /// Removes the database despite open connections, so that a long test run needs no more disk
    /// than a short one.
    fn drop(&mut self) {
        let TestDatabaseLocation::Server { server, name } = &self.location else {
            return;
        };
        let (server, sql) = (*server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        let dropped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(run_sql(server, "postgres", &sql)).map_err(std::io::Error::other)
        });
        // Leftovers are removed with the server's directory.
        let _ = dropped.join();
    }
}

/// Runs statements as the owner of the server.
pub(crate) async fn run_sql(
    server: &SharedPostgresServer,
    database: &str,
    sql: &str,
) -> Result<(), tokio_postgres::Error> {
    let mut config = Config::new();
    config.host_path(server.socket_dir()).user(postgres_server::USER).dbname(database);
    let (client, connection) = config.connect(NoTls).await?;
    tokio::select! {
        done = client.batch_execute(sql) => done,
        Err(error) = connection => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::NoTls;

    use super::*;

    async fn query_value(url: &str, sql: &str) -> String {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::select! {
            row = client.query_one(sql, &[]) => row.unwrap().get(0),
            closed = connection => panic!("the connection ended: {closed:?}"),
        }
    }

    #[tokio::test]
    async fn each_call_gives_a_postgres_database_of_its_own() {
        let (one, other) = (postgres_database().await, postgres_database().await);

        assert!(one.url.starts_with("postgres://"));
        assert_eq!(query_value(&one.url, "SELECT current_database()::text").await, one.name());
        assert_eq!(query_value(&other.url, "SELECT current_database()::text").await, other.name());
        assert_ne!(one.name(), other.name());
    }

    #[tokio::test]
    async fn a_dropped_postgres_database_is_gone() {
        let (kept, dropped) = (postgres_database().await, postgres_database().await);
        let count =
            format!("SELECT count(*)::text FROM pg_database WHERE datname = '{}'", dropped.name());
        assert_eq!(query_value(&kept.url, &count).await, "1");

        drop(dropped);

        assert_eq!(query_value(&kept.url, &count).await, "0");
    }

    #[tokio::test]
    async fn the_test_server_listens_on_no_network() {
        let database = postgres_database().await;

        assert_eq!(query_value(&database.url, "SHOW listen_addresses").await, "");
    }

    #[test]
    fn a_sqlite_database_goes_with_its_value() {
        let database = sqlite_database();
        let path = database.url.strip_prefix("sqlite:").unwrap().to_owned();
        std::fs::write(&path, "").unwrap();

        drop(database);

        assert!(!std::path::Path::new(&path).exists());
    }

    #[test]
    fn without_room_in_memory_a_sqlite_database_is_among_temporary_files() {
        let made = create_directory("/nowhere").unwrap();

        assert!(made.path().starts_with(std::env::temp_dir()));
    }
}
