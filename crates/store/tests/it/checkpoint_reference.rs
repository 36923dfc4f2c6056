//! The tables of checkpoints are those that `docs/reference/checkpoints.md` defines.

use std::collections::BTreeSet;

use cynode_store::Store;
use cynode_testkit::{postgres_database, query, sqlite_database};

const REFERENCE: &str = include_str!("../../../../docs/reference/checkpoints.md");

/// The columns of `table` that the reference names.
fn documented(table: &str) -> BTreeSet<String> {
    let (_, section) = REFERENCE.split_once(&format!("\n## Table `{table}`\n")).unwrap();
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    section.lines().filter_map(name).collect()
}

/// The columns of `table` in the database at `url`.
async fn stored(url: &str, table: &str) -> BTreeSet<String> {
    let sql = if url.starts_with("sqlite:") {
        format!("SELECT name FROM pragma_table_info('{table}')")
    } else {
        format!("SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'")
    };
    query(url, &sql).await.into_iter().flatten().collect()
}

#[tokio::test]
async fn the_reference_names_every_column_of_checkpoints_history_and_effects() {
    for database in [sqlite_database(), postgres_database().await] {
        let _store = Store::open(&database.url).await.unwrap();
        for table in ["workflow_checkpoints", "workflow_history", "workflow_effects"] {
            assert_eq!(documented(table), stored(&database.url, table).await, "{table}");
        }
    }
}
