//! The schema of a new database, which is created at once, is the schema that the migrations make step by step.

use std::path::Path;

use cynode_store::Store;
use cynode_testkit::{migrated_postgres_database, postgres_database, query, sqlite_database};

use crate::opening::execute;

/// The tables of a full-text index are created with it.
const OBJECTS: &str = "SELECT type, name, tbl_name, sql FROM sqlite_schema
    WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT IN
    (SELECT shadow.name FROM sqlite_schema shadow, sqlite_schema index_table
     WHERE index_table.sql LIKE 'CREATE VIRTUAL TABLE%'
       AND shadow.name LIKE index_table.name || '\\_%' ESCAPE '\\')
    ORDER BY rowid";
/// Rows with which an installation starts. Clock and identity differ between installations.
const FIRST_ROWS: &str = "
INSERT INTO policy_revision VALUES (1, 1);
INSERT INTO write_probe VALUES (1, cynode_now(), x'');
INSERT INTO blob_groups
WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 255)
SELECT printf('%02x', n) FROM numbers;
INSERT INTO blob_directory VALUES (lower(hex(randomblob(16))));
INSERT INTO notice_cursor VALUES (1, 0, 0);
";

/// A SQLite database to which each migration was applied.
async fn migrated_step_by_step(url: &str) {
    execute(url, "CREATE TABLE schema_version (version bigint NOT NULL)").await;
    execute(url, include_str!("../../migrations/sqlite/0001_init.sql")).await;
    execute(url, "INSERT INTO schema_version VALUES (1)").await;
    Store::open(url).await.unwrap();
}

/// The names of tables that have rows, with how many.
async fn filled_tables(url: &str) -> Vec<(String, String)> {
    let mut filled = vec![];
    for row in query(url, OBJECTS).await.into_iter().filter(|row| row[0] == "table") {
        let table = row[1].clone();
        let count = query(url, &format!("SELECT count(*) FROM {table}")).await[0][0].clone();
        if count != "0" {
            filled.push((table, count));
        }
    }
    filled
}

#[tokio::test]
async fn a_new_sqlite_database_has_the_schema_and_the_rows_that_the_migrations_make() {
    let (new, migrated) = (sqlite_database(), sqlite_database());
    migrated_step_by_step(&migrated.url).await;
    Store::open(&new.url).await.unwrap();

    let expected = query(&migrated.url, OBJECTS).await;
    if sorted(query(&new.url, OBJECTS).await) != sorted(expected.clone()) {
        let objects = expected.iter().filter(|row| row[1] != "schema_version");
        let script = objects.flat_map(|row| [row[3].as_str(), ";\n"]).collect::<String>();
        let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sqlite_baseline.sql");
        std::fs::write(&written, script + FIRST_ROWS).unwrap();
        panic!(
            "the baseline differs from the migrations: copy {} to crates/store/migrations/sqlite_baseline.sql, and \
             set SQLITE_BASELINE_VERSION to the newest migration",
            written.display()
        );
    }
    assert_eq!(filled_tables(&new.url).await, filled_tables(&migrated.url).await);
    for table in ["policy_revision", "notice_cursor", "blob_groups", "schema_version"] {
        let rows = format!("SELECT * FROM {table} ORDER BY 1");
        assert_eq!(query(&new.url, &rows).await, query(&migrated.url, &rows).await);
    }
}

fn sorted(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

#[tokio::test]
async fn a_copied_postgres_database_of_the_tests_has_the_schema_that_the_store_makes() {
    let (copied, migrated) = (migrated_postgres_database().await, postgres_database().await);
    Store::open(&migrated.url).await.unwrap();

    for sql in [
        "SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type
         FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 3",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1, 2",
        "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
        "SELECT * FROM schema_version ORDER BY 1",
    ] {
        let expected = query(&migrated.url, sql).await;
        assert!(!expected.is_empty(), "{sql}");
        assert_eq!(query(&copied.url, sql).await, expected, "{sql}");
    }
}
