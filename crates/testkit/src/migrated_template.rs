//! The database that migrated test databases are copied from.
//!
//! A copy takes a fraction of the time of the migrations, which most tests are not about. The template belongs to the
//! shared server; its name holds a hash of the migrations, so that a changed schema has a new one.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;

use tokio::sync::OnceCell;

use crate::database::run_sql;
use crate::postgres_server::SharedPostgresServer;

/// One file for each migration, named by its number.
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../store/migrations/postgres");

/// The name of the template; creates it if no other process did.
///
/// # Panics
///
/// When the migrations cannot be read or executed.
pub(crate) async fn ensure_template(server: &'static SharedPostgresServer) -> &'static str {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    TEMPLATE
        .get_or_init(async || match create_if_missing(server).await {
            Ok(name) => name,
            Err(error) => panic!("the migrated test database cannot be created: {error}"),
        })
        .await
}

async fn create_if_missing(server: &'static SharedPostgresServer) -> io::Result<String> {
    let script = migration_script(Path::new(MIGRATIONS))?;
    let mut hash = DefaultHasher::new();
    script.hash(&mut hash);
    let name = format!("template_{:016x}", hash.finish());
    // Copies are made only of a database to which no process is connected, and by its final name it is complete.
    let _creating = tokio::task::spawn_blocking(|| server.lock_template()).await??;
    let found = format!("SELECT 1 / count(*) FROM pg_database WHERE datname = '{name}'");
    if run_sql(server, "postgres", &found).await.is_ok() {
        return Ok(name);
    }
    let unfinished = format!("{name}_unfinished");
    let refused = |error: tokio_postgres::Error| io::Error::other(format!("{error:?}"));
    for sql in [
        format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)"),
        format!("CREATE DATABASE {unfinished}"),
    ] {
        run_sql(server, "postgres", &sql).await.map_err(refused)?;
    }
    run_sql(server, &unfinished, &script).await.map_err(refused)?;
    let rename = format!("ALTER DATABASE {unfinished} RENAME TO {name}");
    while_connected(async || run_sql(server, "postgres", &rename).await).await.map_err(refused)?;
    Ok(name)
}

/// Repeats a statement for which no process may be connected: the server notices the end of a connection a moment
/// after the client.
async fn while_connected<T, E>(attempt: impl AsyncFn() -> Result<T, E>) -> Result<T, E> {
    for _ in 0..100 {
        if let Ok(done) = attempt().await {
            return Ok(done);
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    attempt().await
}

/// The migrations as the store executes them, in one transaction.
fn migration_script(directory: &Path) -> io::Result<String> {
    let mut files =
        fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    let mut script = "BEGIN; CREATE TABLE schema_version (version bigint NOT NULL);\n".to_owned();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let version: u32 = name.split('_').next().unwrap_or_default().parse().map_err(
            |error: std::num::ParseIntError| io::Error::other(format!("{name}: {error}")),
        )?;
        script += &fs::read_to_string(&file)?;
        script += ";\nINSERT INTO schema_version VALUES (";
        script += &version.to_string();
        script += ");\n";
    }
    Ok(script + "COMMIT")
}
