//! Databases of older versions keep all their data in an upgrade.
//!
//! Each `upgrade/<version>.sql` holds a row of every kind in its schema. A new migration needs no change here;
//! a released version of the schema adds its file.

use std::collections::BTreeMap;

use cynode_domain::ids::{JobId, ServerId, TaskId, UserId};
use cynode_domain::status::TaskStatus;
use cynode_store::{AccessChangeFilter, AuditFilter, EventCursor, EventFilter, Store};
use cynode_testkit::{postgres_database, sqlite_database};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;
use uuid::Uuid;

use crate::conformance::audit::{keys, verify};
use crate::opening::execute;
use crate::world::eventually;

/// A version of the schema in one dialect, and the rows that it added.
struct SchemaVersion {
    sqlite: &'static str,
    postgres: &'static str,
    rows: &'static str,
}

const VERSIONS: [SchemaVersion; 2] = [
    SchemaVersion {
        sqlite: include_str!("../../migrations/sqlite/0001_init.sql"),
        postgres: include_str!("../../migrations/postgres/0001_init.sql"),
        rows: include_str!("upgrade/0001.sql"),
    },
    SchemaVersion {
        sqlite: include_str!("../../migrations/sqlite/0002_gateway.sql"),
        postgres: include_str!("../../migrations/postgres/0002_gateway.sql"),
        rows: include_str!("upgrade/0002.sql"),
    },
];

/// Every row of every table, with its columns by name.
type DatabaseContents = BTreeMap<String, Vec<Map<String, Value>>>;

#[tokio::test]
async fn a_database_of_the_first_version_keeps_everything_when_it_is_upgraded() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = upgraded(&database.url, 1).await;

        assert_work_is_there(&store).await;
    }
}

#[tokio::test]
async fn a_database_of_the_second_version_keeps_everything_when_it_is_upgraded() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = upgraded(&database.url, 2).await;

        assert_work_is_there(&store).await;
        assert_gateway_is_there(&store).await;
    }
}

#[tokio::test]
async fn rules_that_named_a_server_are_about_that_server_after_the_upgrade() {
    for database in [sqlite_database(), postgres_database().await] {
        let store = upgraded_with(&database.url, 2, include_str!("upgrade/servers.sql")).await;

        let (servers, rules) = read_tx!(store, tx => {
            Ok::<_, cynode_store::Error>((tx.server_list().await?, tx.rule_list().await?))
        });

        let of_system = servers.iter().filter(|server| server.is_system);
        assert_eq!(of_system.map(|server| &*server.slug).collect::<Vec<_>>(), ["shared"]);
        let found: Vec<_> = rules
            .iter()
            .map(|stored| (stored.rule.resource.as_str(), stored.rule.server))
            .collect();
        let server = |number| Some(ServerId::from(id(number)));
        let expected = [
            ("files.*", server(21)),
            ("web.get", server(61)),
            // A deny rule is still about every server of the name.
            ("web.*", None),
            // A host.
            ("web.example", None),
            ("shared.*", server(62)),
            ("open.*", server(63)),
            ("website.*", None),
        ];
        assert_eq!(found, expected);
    }
}

/// Creates a database of `version`, opens it, and compares every row.
async fn upgraded(url: &str, version: usize) -> Store {
    upgraded_with(url, version, "").await
}

async fn upgraded_with(url: &str, version: usize, more: &str) -> Store {
    execute(url, "CREATE TABLE schema_version (version bigint NOT NULL)").await;
    for (number, made) in (1..=version).zip(&VERSIONS) {
        let is_sqlite = url.starts_with("sqlite:");
        execute(url, if is_sqlite { made.sqlite } else { made.postgres }).await;
        execute(url, &for_engine(made.rows, is_sqlite)).await;
        execute(url, &format!("INSERT INTO schema_version VALUES ({number})")).await;
    }
    execute(url, &for_engine(more, url.starts_with("sqlite:"))).await;
    let before = contents(url).await;
    let empty: Vec<_> = before.iter().filter(|(_, rows)| rows.is_empty()).collect();
    assert!(empty.is_empty(), "no row of these was tried: {empty:?}");

    let store = Store::open(url).await.unwrap();

    let after = contents(url).await;
    for (table, rows) in before.iter().filter(|(table, _)| *table != "schema_version") {
        for row in rows {
            let is_same = |now: &Map<String, Value>| {
                row.iter().all(|(column, value)| now.get(column) == Some(value))
            };
            assert!(after[table].iter().any(is_same), "{table} lost or changed {row:?}");
        }
    }
    store
}

/// The rows in the dialect of an engine.
fn for_engine(rows: &str, is_sqlite: bool) -> String {
    let (now, begin) =
        if is_sqlite { ("1767225600000000", "x'") } else { ("'2026-01-01T00:00:00Z'", "'\\x") };
    let mut rows = rows.replace("<now>", now).replace("<b:", begin);
    for number in 1..100 {
        let written = format!("'{}'", id(number));
        rows = rows.replace(&format!("<id:{number}>"), &written);
    }
    // The rest terminates byte literals.
    rows.replace('>', "'")
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0000 + number)
}

async fn contents(url: &str) -> DatabaseContents {
    match url.strip_prefix("sqlite:") {
        Some(path) => contents_of_sqlite(path),
        None => contents_of_postgres(url).await,
    }
}

fn contents_of_sqlite(path: &str) -> DatabaseContents {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(sql).unwrap();
    let tables: Vec<String> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let rows_of = |table: &String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let names: Vec<String> = statement.column_names().map(ToString::to_string).collect();
        let rows = statement.query_map([], |row| {
            let value = |index| {
                Ok::<_, rusqlite::Error>(format!(
                    "{:?}",
                    row.get::<_, rusqlite::types::Value>(index)?
                ))
            };
            names
                .iter()
                .enumerate()
                .map(|(index, name)| Ok((name.clone(), value(index)?.into())))
                .collect()
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    tables.iter().map(|table| (table.clone(), rows_of(table))).collect()
}

async fn contents_of_postgres(url: &str) -> DatabaseContents {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let mut background = JoinSet::new();
    background.spawn(connection);
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
    let mut contents = DatabaseContents::new();
    for table in client.query(sql, &[]).await.unwrap() {
        let table: String = table.get(0);
        let sql = format!("SELECT row_to_json(t)::text FROM {table} t");
        let rows = client.query(&sql, &[]).await.unwrap();
        let parsed = |text: &str| serde_json::from_str(text).unwrap();
        contents.insert(table, rows.iter().map(|row| parsed(row.get(0))).collect());
    }
    contents
}

/// The rows of the first version, as this version reads them.
async fn assert_work_is_there(store: &Store) {
    let (user, task, job) = (UserId::from(id(1)), TaskId::from(id(6)), JobId::from(id(14)));
    read_tx!(store, tx => {
        assert!(tx.user_by_handle("ada").await?.unwrap().is_admin);
        assert!(tx.password_get(user).await?.is_some());
        assert!(tx.session_with_user(&[0x0b]).await.map(|found| found.map(|(session, _)| session))?.is_some());
        assert!(tx.session_by_spent_refresh(&[0x0c]).await?.is_some());
        assert_eq!(tx.token_with_user(&[0x0d]).await.map(|found| found.map(|(token, _)| token))?.unwrap().name, "laptop");
        assert_eq!(tx.auth_event_list(10).await?.len(), 1);
        assert_eq!(tx.project_default(user).await?.unwrap().slug, "engine");
        let done = tx.task_get(task).await?.unwrap();
        assert_eq!((done.status, done.spec.options.max_attempts), (TaskStatus::Completed, Some(3)));
        let ship = tx.task_by_name(user, "ship").await?.unwrap();
        assert_eq!(ship.spec.prompt, "Ship it: \"now\" – 日本");
        assert_eq!(tx.dependency_list(ship.spec.id).await?.len(), 1);
        let run = tx.run_of_task(task).await?.unwrap();
        assert_eq!(tx.lease_get(task).await?.unwrap().epoch, 4);
        assert_eq!(tx.checkpoint_get(task).await?.unwrap().sequence, 3);
        assert_eq!(tx.history_list(run.id).await?.len(), 1);
        assert_eq!(tx.node_by_token(&[0x0e]).await?.unwrap().slug, "anvil");
        assert_eq!(tx.job_get(job).await?.unwrap().spec.task, task);
        assert_eq!(tx.log_read(job, "stdout").await?, b"ok\0\xff");
        assert_eq!(tx.artifact_list(task).await?.len(), 1);
        assert_eq!(tx.output_list(job).await?.len(), 1);
        Ok::<_, cynode_store::Error>(())
    });
    // PostgreSQL shows an event once no older operation of another test is open.
    let reported = || async {
        let (start, filter) = (EventCursor::default(), EventFilter::default());
        let events = read_tx!(store, tx => tx.event_list(start, filter, 10).await);
        Some(events.len()).filter(|count| *count > 0)
    };
    assert_eq!(eventually(reported).await, 1);
    write_tx!(store, tx => tx.policy_bump_revision().await);
}

/// The rows of the second version, as this version reads them.
async fn assert_gateway_is_there(store: &Store) {
    read_tx!(store, tx => {
        let token = tx.agent_token_by_hash(&[0x1a]).await?.unwrap();
        assert_eq!(token.binding.task, Some(TaskId::from(id(6))));
        let files = tx.server_get(ServerId::from(id(21))).await?.unwrap();
        assert!(files.enabled && !files.is_system);
        let tool = tx.tool_by_name(Some(files.id), "files.read").await?.unwrap();
        assert_eq!(tool.definition.description, "reads");
        assert_eq!(tx.rule_list().await?.len(), 1);
        assert_eq!(tx.access_changes(&AccessChangeFilter::default(), None, 10).await?.len(), 1);
        assert_eq!(tx.setting_list("mcp.", None, 10).await?[0].version, 2);
        let calls = tx.call_list(&AuditFilter::default(), 10).await?;
        assert_eq!(calls.len(), 2);
        assert_eq!(calls.iter().filter(|call| call.outcome.is_some()).count(), 1);
        Ok::<_, cynode_store::Error>(())
    });
    // The first start with signatures signs what it finds.
    write_tx!(store, tx => tx.chain_sign_all(&keys()).await);
    let reports = verify(store).await;
    let faults: Vec<_> = reports.iter().flat_map(|report| &report.faults).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(reports.iter().map(|report| report.records).collect::<Vec<_>>(), [3, 0]);
}
