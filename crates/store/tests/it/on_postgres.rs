//! Tests that need an engine with concurrent transactions.

use cynode_domain::ids::{ChainId, JobId};
use cynode_store::{AppendRows, Entry, Error, EventCursor, EventFilter, Store};
use cynode_testkit::{DurableServer, TestDatabase, postgres_database};
use futures_util::future::join_all;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use crate::conformance::audit::{denied, open_writer};
use crate::conformance::chat::{insert_thread, record};
use crate::conformance::events::{append, event, numbers};
use crate::conformance::ledger::message;
use crate::conformance::moves::full_state_transition;
use crate::world::{World, eventually, user};

async fn opened() -> (TestDatabase, Store) {
    let database = postgres_database().await;
    let store = Store::open(&database.url).await.unwrap();
    (database, store)
}

/// An outbox reader: its cursor, and the events it read.
#[derive(Default)]
struct OutboxReader {
    cursor: EventCursor,
    seen: Vec<i64>,
}

impl OutboxReader {
    async fn read_next(&mut self, store: &Store) {
        let cursor = self.cursor;
        let filter = EventFilter::default();
        let events = read_tx!(store, tx => tx.event_list(cursor, filter, 100).await);
        self.cursor = events.last().map_or(cursor, |event| event.cursor);
        self.seen.extend(numbers(&events));
    }
}

#[tokio::test]
async fn an_event_of_a_slow_transaction_is_never_skipped() {
    let (_database, store) = opened().await;
    let (written, is_written) = oneshot::channel();
    let (finish, may_finish) = oneshot::channel::<()>();
    let mut slow = JoinSet::new();
    let writer = store.clone();
    slow.spawn(async move {
        try_write_tx!(writer, tx => {
            tx.event_append(&event(1)).await?;
            written.send(()).unwrap();
            may_finish.await.unwrap();
            Ok::<_, Error>(())
        })
    });
    is_written.await.unwrap();
    let mut reader = OutboxReader::default();

    append(&store, event(2)).await;
    for _ in 0..10 {
        reader.read_next(&store).await;
    }
    assert!(reader.seen.is_empty(), "a later event was shown while an earlier one was open");
    finish.send(()).unwrap();
    slow.join_next().await.unwrap().unwrap().unwrap();
    append(&store, event(3)).await;
    while reader.seen.len() < 3 {
        reader.read_next(&store).await;
    }

    assert_eq!(reader.seen, [1, 2, 3]);
}

#[tokio::test]
async fn a_run_that_somebody_has_locked_is_passed_over_and_keeps_no_other_waiting() {
    let (_database, store) = opened().await;
    let world = World::new(store.clone()).await;
    let (locked, free) =
        (world.claimed_lease("a", 60_000).await, world.claimed_lease("b", 60_000).await);
    let (fenced, is_fenced) = oneshot::channel();
    let (finish, may_finish) = oneshot::channel::<()>();
    let mut slow = JoinSet::new();
    slow.spawn(async move {
        try_write_tx!(store, tx => {
            tx.lease_fence(locked.task).await?;
            fenced.send(()).unwrap();
            may_finish.await.unwrap();
            Ok::<_, Error>(())
        })
    });
    is_fenced.await.unwrap();

    assert_eq!(world.write_transition(full_state_transition(&locked, 1)).await, None);
    assert!(world.write_transition(full_state_transition(&free, 1)).await.is_some());
    let both = tokio::join!(
        world.write_transition(full_state_transition(&locked, 1)),
        world.write_transition(full_state_transition(&free, 2))
    );
    assert!(both.0.is_none() && both.1.is_some(), "{both:?}");

    finish.send(()).unwrap();
    slow.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(
        world.write_transition(full_state_transition(&locked, 1)).await,
        None,
        "it was fenced"
    );
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_no_open_transaction() {
    let (database, store) = opened().await;
    // More often than the pool has connections, so that a leak would use them up.
    for number in 0..20 {
        let (begun, has_begun) = oneshot::channel();
        let new = user(&format!("gone-{number}"));
        let operation = store.write(move |tx| {
            Box::pin(async move {
                tx.user_insert(&new).await?;
                begun.send(()).unwrap();
                std::future::pending::<Result<(), Error>>().await
            })
        });
        tokio::select! {
            _ = operation => unreachable!("the operation never ends"),
            () = async { has_begun.await.unwrap() } => {}
        }
    }

    let (client, connection) = tokio_postgres::connect(&database.url, NoTls).await.unwrap();
    let mut background = JoinSet::new();
    background.spawn(connection);
    let idle = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    eventually(|| async {
        let open: i64 = client.query_one(idle, &[]).await.unwrap().get(0);
        (open == 0).then_some(())
    })
    .await;
    for number in 0..20 {
        let handle = format!("gone-{number}");
        assert_eq!(read_tx!(store, tx => tx.user_by_handle(&handle).await), None);
    }
    write_tx!(store, tx => tx.user_insert(&user("ada")).await);
}

#[tokio::test]
async fn a_reader_sees_one_moment_while_others_write() {
    let (_database, store) = opened().await;
    let writer = store.clone();

    let (before, after) = read_tx!(store, tx => {
        let before = tx.user_by_handle("ada").await?;
        write_tx!(writer, tx => tx.user_insert(&user("ada")).await);
        Ok::<_, Error>((before, tx.user_by_handle("ada").await?))
    });

    assert_eq!((before, after), (None, None));
    assert!(read_tx!(store, tx => tx.user_by_handle("ada").await).is_some());
}

#[tokio::test]
async fn a_run_that_is_being_claimed_is_skipped_by_others() {
    let (_database, store) = opened().await;
    let world = World::new(store).await;
    let (first, second) = (world.run("a").await, world.run("b").await);
    let other = world.store.clone();

    let (mine, theirs) = write_tx!(world.store, tx => {
        let mine = tx.run_next().await?;
        Ok::<_, Error>((mine, write_tx!(other, tx => tx.run_next().await)))
    });

    assert_eq!((mine, theirs), (Some(first), Some(second)));
}

#[tokio::test]
async fn looking_whether_a_run_waits_keeps_it_from_nobody() {
    let (_database, store) = opened().await;
    let world = World::new(store).await;
    let run = world.run("a").await;
    let other = world.store.clone();

    let (is_next, theirs) = write_tx!(world.store, tx => {
        let is_next = tx.run_has_next().await?;
        Ok::<_, Error>((is_next, write_tx!(other, tx => tx.run_next().await)))
    });

    assert_eq!((is_next, theirs), (true, Some(run)));
}

#[tokio::test]
async fn jobs_that_are_being_assigned_are_skipped_by_others() {
    let (_database, store) = opened().await;
    let world = World::new(store).await;
    let mut jobs = vec![];
    for name in ["a", "b", "c"] {
        jobs.push(world.job(&world.run(name).await, 0).await);
    }
    let (other, user) = (world.store.clone(), world.user);

    let (mine, theirs) = write_tx!(world.store, tx => {
        let mine = tx.job_list_unassigned(user, None, 2).await?;
        Ok::<_, Error>((mine, write_tx!(other, tx => tx.job_list_unassigned(user, None, 2).await)))
    });

    let ids = |jobs: Vec<cynode_store::Job>| -> Vec<JobId> {
        jobs.into_iter().map(|job| job.spec.id).collect()
    };
    assert_eq!((ids(mine), ids(theirs)), (jobs[..2].to_vec(), jobs[2..].to_vec()));
}

#[tokio::test]
async fn gathering_and_scattering_wait_for_nobody() {
    let (_database, store) = opened().await;
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let (locked, free) = (world.job(&run, 0).await, world.job(&run, 1).await);
    let other = world.store.clone();

    write_tx!(world.store, tx => {
        tx.job_lock(locked).await?;
        write_tx!(other, tx => tx.task_pin_jobs(run.task, node).await);
        Ok::<_, Error>(())
    });

    assert_eq!(world.job_now(locked).await.spec.pinned_node, None);
    assert_eq!(world.job_now(free).await.spec.pinned_node, Some(node));
    let other = world.store.clone();

    write_tx!(world.store, tx => {
        tx.job_lock(free).await?;
        write_tx!(other, tx => tx.task_unpin_jobs(run.task).await);
        Ok::<_, Error>(())
    });

    assert_eq!(world.job_now(free).await.spec.pinned_node, Some(node));
}

#[tokio::test]
async fn processes_that_migrate_the_same_database_at_once_all_succeed() {
    let database = postgres_database().await;

    let stores = join_all((0..8).map(|_| Store::open(&database.url))).await;

    for store in stores {
        let store = store.unwrap();
        assert_eq!(read_tx!(store, tx => tx.user_by_handle("ada").await), None);
    }
}

/// The server may still commit for a process that was killed: the next writer of its chain waits for that
/// commit.
#[tokio::test]
async fn a_chain_is_taken_over_behind_the_last_commit_to_it() {
    let (database, store) = opened().await;
    let chain = ChainId::generate();
    drop(open_writer(&store, chain).await);
    let (dead, connection) = tokio_postgres::connect(&database.url, NoTls).await.unwrap();
    let mut background = JoinSet::new();
    background.spawn(connection);
    dead.batch_execute("BEGIN; UPDATE mcp_audit_chains SET open_from = open_from").await.unwrap();
    let mut taking = JoinSet::new();
    taking.spawn(async move { open_writer(&store, chain).await.call(denied(1)).await });

    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN
                   (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    eventually(|| async {
        let waiting: i64 = dead.query_one(waiting, &[]).await.unwrap().get(0);
        (waiting > 0).then_some(())
    })
    .await;
    assert!(taking.try_join_next().is_none(), "it did not wait");
    dead.batch_execute("COMMIT").await.unwrap();

    taking.join_next().await.unwrap().unwrap().unwrap();
}

/// Acknowledged writes are durable, and a lost connection is replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_were_answered_for_survive_a_crash_of_the_server() {
    let server = DurableServer::start().unwrap();
    let world = World::new(Store::open(&server.url()).await.unwrap()).await;
    let (thread, _) = insert_thread(&world, 1).await;
    let enter = |text: String| {
        let (said, turn) = (message(thread, &text), record(world.user, world.project));
        world.store.batch(AppendRows(vec![Entry::ThreadMessage(said), Entry::ChatRecord(turn)]))
    };
    let answers = join_all((0..50).map(|number| enter(format!("m{number}")))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");

    server.crash_and_restart().unwrap();

    eventually(|| async { enter("after".to_owned()).await.ok() }).await;
    let kept = read_tx!(world.store, tx => tx.thread_messages(thread, None, 99).await);
    assert_eq!(kept.len(), 51);
    let user = world.user;
    assert_eq!(read_tx!(world.store, tx => tx.chat_record_list(user, None, 99).await).len(), 51);
}
