//! Locks of blob groups between transactions of several processes, which only PostgreSQL has.

use cynode_store::{Error, Store};
use cynode_testkit::postgres_database;
use tokio::sync::oneshot;

/// Whether a collector gets the group.
async fn is_free(store: &Store, group: &'static str) -> bool {
    write_tx!(store, tx => tx.blob_group_lock(group).await)
}

#[tokio::test]
async fn a_group_of_blobs_is_not_collected_while_files_are_added_to_it() {
    let database = postgres_database().await;
    let store = Store::open(&database.url).await.unwrap();
    let (has_lock, locked) = oneshot::channel();
    let (release, released) = oneshot::channel::<()>();
    let adding = store.write(|tx| {
        Box::pin(async move {
            tx.blob_group_share("ab").await?;
            has_lock.send(()).unwrap();
            released.await.unwrap();
            Ok::<_, Error>(())
        })
    });
    let collecting = async {
        locked.await.unwrap();
        // Other uploads do not wait for it.
        write_tx!(store, tx => tx.blob_group_share("ab").await);
        let free = (is_free(&store, "ab").await, is_free(&store, "cd").await);
        release.send(()).unwrap();
        free
    };

    let (added, free) = tokio::join!(adding, collecting);

    added.unwrap();
    assert_eq!(free, (false, true));
    assert!(is_free(&store, "ab").await);
}

#[tokio::test]
async fn a_file_is_added_to_a_group_once_its_collection_has_ended() {
    let database = postgres_database().await;
    let store = Store::open(&database.url).await.unwrap();
    let (has_lock, locked) = oneshot::channel();
    let (is_waiting, waiting) = oneshot::channel::<()>();
    let collecting = store.write(|tx| {
        Box::pin(async move {
            assert!(tx.blob_group_lock("ab").await?);
            has_lock.send(()).unwrap();
            waiting.await.unwrap();
            Ok::<_, Error>(())
        })
    });
    let adding = async {
        locked.await.unwrap();
        let mut add =
            Box::pin(store.write(|tx| Box::pin(async move { tx.blob_group_share("ab").await })));
        let blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
                       AND datname = current_database()";
        loop {
            tokio::select! {
                added = &mut add => panic!("it did not wait: {added:?}"),
                rows = cynode_testkit::query(&database.url, blocked) => if rows[0][0] == "1" { break },
            }
        }
        is_waiting.send(()).unwrap();
        add.await
    };

    let (collected, added) = tokio::join!(collecting, adding);

    collected.unwrap();
    added.unwrap();
}
