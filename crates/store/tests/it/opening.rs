//! Opening a database: URLs, schema states and error messages.

use cynode_store::{DatabaseEngine, Error, Store};
use cynode_testkit::{TestDatabase, postgres_database, sqlite_database};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use crate::world::{chain, user};

/// Runs a statement without the store.
pub(crate) async fn execute(url: &str, sql: &str) {
    if let Some(path) = url.strip_prefix("sqlite:") {
        rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
        return;
    }
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let mut background = JoinSet::new();
    background.spawn(connection);
    client.batch_execute(sql).await.unwrap();
}

/// Counts the tables of a database.
async fn tables(url: &str) -> i64 {
    if let Some(path) = url.strip_prefix("sqlite:") {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
        let connection = rusqlite::Connection::open(path).unwrap();
        return connection.query_row(sql, [], |row| row.get(0)).unwrap();
    }
    let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let mut background = JoinSet::new();
    background.spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn refusal(url: &str) -> Error {
    match Store::open(url).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

async fn databases() -> [(TestDatabase, DatabaseEngine); 2] {
    [
        (sqlite_database(), DatabaseEngine::Sqlite),
        (postgres_database().await, DatabaseEngine::Postgres),
    ]
}

#[tokio::test]
async fn a_database_is_migrated_once_and_opened_often() {
    for (database, engine) in databases().await {
        let first = Store::open(&database.url).await.unwrap();
        let after_first = tables(&database.url).await;
        write_tx!(first, tx => tx.user_insert(&user("ada")).await);

        let second = Store::open(&database.url).await.unwrap();

        assert_eq!(second.engine(), engine);
        assert_eq!(tables(&database.url).await, after_first);
        assert!(read_tx!(second, tx => tx.user_by_handle("ada").await).is_some());
    }
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    for (database, _) in databases().await {
        let made = "CREATE TABLE schema_version (version bigint NOT NULL);
                    INSERT INTO schema_version VALUES (1), (999);";
        execute(&database.url, made).await;

        let refused = refusal(&database.url).await;

        assert!(matches!(refused, Error::Newer { found: 999, known } if known < 999));
        assert!(refused.to_string().contains("use the newer program"));
        assert_eq!(tables(&database.url).await, 1);
    }
}

#[tokio::test]
async fn an_unknown_url_is_refused_without_showing_a_password() {
    for url in [
        "mysql://ada:sesame@localhost/cynode",
        "mysql://ada:ses@me:sesame@localhost/cynode",
        "mysql://localhost/cynode?user=ada&password=sesame",
        "ada:sesame@localhost",
        "host=localhost user=ada password=sesame",
    ] {
        let refused = refusal(url).await;

        assert!(matches!(refused, Error::UnknownEngine { .. }), "{url}");
        assert!(!chain(&refused).contains("ses"), "{refused}");
        assert!(refused.to_string().contains("use postgres://… or sqlite:PATH"));
    }
    let shown = refusal("mysql://ada:sesame@localhost/cynode").await.to_string();
    assert!(shown.starts_with("\"mysql://…@localhost/cynode\" is not a database URL"));
}

#[tokio::test]
async fn a_postgres_that_cannot_be_reached_is_unavailable_without_showing_a_password() {
    // Nothing listens on the port that is never assigned.
    let unreachable = refusal("postgres://ada:sesame@127.0.0.1:1/cynode").await;
    assert!(matches!(unreachable, Error::Unavailable(_)), "{unreachable:?}");
    assert!(!chain(&unreachable).contains("sesame"), "{}", chain(&unreachable));
    for url in [
        "postgres://ada:sesame@127.0.0.1:noport/cynode",
        "postgres://ada:sesame@127.0.0.1/cynode?nonsense=sesame",
    ] {
        let invalid = refusal(url).await;

        assert!(matches!(invalid, Error::InvalidUrl { .. }), "{url}: {invalid:?}");
        assert!(!chain(&invalid).contains("sesame"), "{}", chain(&invalid));
    }
}

#[tokio::test]
async fn a_sqlite_file_that_cannot_be_made_is_unavailable_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing").join("cynode.db");
    for path in [missing.as_path(), directory.path()] {
        let refused = refusal(&format!("sqlite:{}", path.display())).await;

        assert!(matches!(refused, Error::Unavailable(_)), "{refused:?}");
        assert!(chain(&refused).contains(&path.display().to_string()), "{}", chain(&refused));
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("letter.txt");
    std::fs::write(&path, "Dear Ada, ".repeat(100)).unwrap();

    let refused = refusal(&format!("sqlite:{}", path.display())).await;

    assert!(matches!(refused, Error::Unavailable(_)), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "Dear Ada, ".repeat(100));
}

#[tokio::test]
async fn a_database_in_memory_is_refused() {
    for url in ["sqlite:", "sqlite::memory:", "sqlite://"] {
        assert!(matches!(refusal(url).await, Error::UnknownEngine { .. }), "{url}");
    }
}

#[tokio::test]
async fn a_missing_postgres_database_is_named_without_the_words_of_the_driver() {
    let database = postgres_database().await;
    let (_, name) = database.url.rsplit_once('/').unwrap();
    let name = name.split('?').next().unwrap();

    let message = chain(&refusal(&database.url.replace(name, "nope")).await);

    assert_eq!(
        message,
        "the database is unavailable: cannot connect to PostgreSQL: database \"nope\" does not exist"
    );
}
