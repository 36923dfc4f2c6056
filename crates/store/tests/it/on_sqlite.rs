//! Tests that need an engine with a single writer.

use cynode_store::{Error, Store};
use cynode_testkit::sqlite_database;

use crate::world::user;

#[tokio::test]
async fn an_operation_that_waits_for_something_else_is_undone_and_told() {
    let database = sqlite_database();
    let store = Store::open(&database.url).await.unwrap();
    let waits: Result<(), Error> = try_write_tx!(store, tx => {
        tx.user_insert(&user("waits")).await?;
        std::future::pending().await
    });

    assert!(matches!(waits, Err(Error::Closed)));
    write_tx!(store, tx => tx.user_insert(&user("ada")).await);
    assert_eq!(read_tx!(store, tx => tx.user_by_handle("waits").await), None);
}

#[tokio::test]
async fn what_was_written_is_there_when_the_file_is_opened_again() {
    let database = sqlite_database();
    let store = Store::open(&database.url).await.unwrap();
    write_tx!(store, tx => tx.user_insert(&user("ada")).await);
    drop(store);

    let store = Store::open(&database.url).await.unwrap();

    assert!(read_tx!(store, tx => tx.user_by_handle("ada").await).is_some());
}

#[tokio::test]
async fn two_stores_on_one_file_wait_for_each_other() {
    let database = sqlite_database();
    let one = Store::open(&database.url).await.unwrap();
    let two = Store::open(&database.url).await.unwrap();

    for number in 0..20 {
        let (first, second) = (user(&format!("one-{number}")), user(&format!("two-{number}")));
        let writes = (
            one.write(move |tx| Box::pin(async move { tx.user_insert(&first).await })),
            two.write(move |tx| Box::pin(async move { tx.user_insert(&second).await })),
        );
        let (first, second) = tokio::join!(writes.0, writes.1);
        first.unwrap();
        second.unwrap();
    }

    assert!(read_tx!(one, tx => tx.user_by_handle("two-19").await).is_some());
}
