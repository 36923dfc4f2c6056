//! Columns are added to tables while other processes have prepared statements.

use cynode_store::{Error, Store};
use cynode_testkit::{TestDatabase, postgres_database};
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use crate::world::user;

/// Migrates the table of users as a newer version would.
async fn add_column(database: &TestDatabase, column: &str) {
    let (newer, connection) = tokio_postgres::connect(&database.url, NoTls).await.unwrap();
    let mut background = JoinSet::new();
    background.spawn(connection);
    let sql = format!("ALTER TABLE users ADD COLUMN {column} TEXT");
    newer.batch_execute(&sql).await.unwrap();
}

#[tokio::test]
async fn readers_and_writers_go_on_when_another_process_adds_a_column() {
    let database = postgres_database().await;
    let store = Store::open(&database.url).await.unwrap();
    write_tx!(store, tx => tx.user_insert(&user("ada")).await);

    for column in ["one", "two", "three"] {
        let reads = read_tx!(store, tx => tx.user_by_handle("ada").await);
        let alone = store.read(|tx| Box::pin(async { tx.user_by_handle("ada").await }));
        let alone: Result<_, Error> = alone.await;
        let writes = write_tx!(store, tx => tx.user_by_handle("ada").await);

        assert!(reads.is_some() && alone.unwrap().is_some() && writes.is_some(), "before {column}");
        add_column(&database, column).await;
    }
}

#[tokio::test]
async fn an_operation_under_way_is_to_be_repeated_when_another_process_adds_a_column() {
    let database = postgres_database().await;
    let store = Store::open(&database.url).await.unwrap();
    let add = |handle: &'static str| {
        let store = store.clone();
        async move {
            try_write_tx!(store, tx => {
                tx.user_insert(&user(handle)).await?;
                tx.user_by_handle(handle).await
            })
        }
    };
    assert!(add("ada").await.unwrap().is_some());
    add_column(&database, "one").await;

    let refused = add("bob").await;

    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    assert_eq!(read_tx!(store, tx => tx.user_by_handle("bob").await), None);
    assert!(add("bob").await.unwrap().is_some());
}
