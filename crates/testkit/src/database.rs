//! A database that lives as long as its test.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::thread;

use nix::sys::statvfs::statvfs;
use tempfile::TempDir;
use tokio_postgres::{Config, NoTls};

use crate::server::{self, Server};

/// An empty database of one test. It is removed when the value is dropped.
#[derive(Debug)]
pub struct TestDatabase {
    /// Where it is: `postgres://…` or `sqlite:PATH`.
    pub url: String,
    home: Home,
}

#[derive(Debug)]
enum Home {
    Directory(TempDir),
    Server { server: &'static Server, name: String },
}

impl TestDatabase {
    /// The name of the database, or of its file.
    pub fn name(&self) -> String {
        match &self.home {
            Home::Directory(directory) => directory.path().join(FILE).display().to_string(),
            Home::Server { name, .. } => name.clone(),
        }
    }
}

const FILE: &str = "cynode.db";
/// A file system in memory, where there is one.
const MEMORY: &str = "/dev/shm";
/// The least room in memory that is enough for every test that runs at once; a container often has less.
const ROOM: u64 = 4 * 1024 * 1024 * 1024;

/// A fresh SQLite database in a directory of its own: in memory if there is room, where no commit waits
/// for a disk. What has to outlive a power cut is not for it.
///
/// # Panics
///
/// When no temporary directory can be made.
pub fn sqlite_database() -> TestDatabase {
    let directory = match directory(MEMORY) {
        Ok(directory) => directory,
        Err(error) => panic!("no temporary directory for a test database: {error}"),
    };
    let url = format!("sqlite:{}", directory.path().join(FILE).display());
    TestDatabase { url, home: Home::Directory(directory) }
}

/// A new directory in `memory` if there is room, or else where temporary files are.
fn directory(memory: &str) -> io::Result<TempDir> {
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
    statvfs(place)
        .is_ok_and(|found| found.blocks_available().saturating_mul(found.fragment_size()) >= ROOM)
}

/// A fresh database on the private PostgreSQL server, which is started if it does not run.
///
/// # Panics
///
/// When PostgreSQL is not installed or does not start; the text says what to do.
pub async fn postgres_database() -> TestDatabase {
    let server = server::shared();
    let name = format!("test_{:016x}", RandomState::new().build_hasher().finish());
    if let Err(error) = administer(server, &format!("CREATE DATABASE {name}")).await {
        panic!("the test server made no database: {error}");
    }
    TestDatabase { url: server.url(&name), home: Home::Server { server, name } }
}

impl Drop for TestDatabase {
    /// Removes the database even under the feet of open connections, so that a long test run
    /// needs no more disk than a short one.
    fn drop(&mut self) {
        let Home::Server { server, name } = &self.home else {
            return;
        };
        let (server, sql) = (*server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
        let dropped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(administer(server, &sql)).map_err(std::io::Error::other)
        });
        // What is left behind goes with the server's directory.
        let _ = dropped.join();
    }
}

/// Runs one statement as the owner of the server.
async fn administer(server: &Server, sql: &str) -> Result<(), tokio_postgres::Error> {
    let mut config = Config::new();
    config.host_path(server.sockets()).user(server::USER).dbname("postgres");
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

    async fn value_of(url: &str, sql: &str) -> String {
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
        assert_eq!(value_of(&one.url, "SELECT current_database()::text").await, one.name());
        assert_eq!(value_of(&other.url, "SELECT current_database()::text").await, other.name());
        assert_ne!(one.name(), other.name());
    }

    #[tokio::test]
    async fn a_dropped_postgres_database_is_gone() {
        let (kept, dropped) = (postgres_database().await, postgres_database().await);
        let count =
            format!("SELECT count(*)::text FROM pg_database WHERE datname = '{}'", dropped.name());
        assert_eq!(value_of(&kept.url, &count).await, "1");

        drop(dropped);

        assert_eq!(value_of(&kept.url, &count).await, "0");
    }

    #[tokio::test]
    async fn the_test_server_listens_on_no_network() {
        let database = postgres_database().await;

        assert_eq!(value_of(&database.url, "SHOW listen_addresses").await, "");
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
        let made = directory("/nowhere").unwrap();

        assert!(made.path().starts_with(std::env::temp_dir()));
    }
}
