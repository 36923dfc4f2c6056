//! Tests of the outbox.
//!
//! On PostgreSQL an event is visible once every older transaction of the whole server has ended, so these tests
//! wait for it: other tests write at the same time.

use cynode_domain::ids::{TaskId, UserId};
use cynode_store::{Error, EventCursor, EventFilter, NewEvent, OutboxEvent, Store};
use proptest::prelude::*;
use serde_json::json;
use tokio::task::JoinSet;

use crate::world::eventually;

const ALL: EventFilter = EventFilter { owner: None, task: None };

pub(crate) fn event(number: i64) -> NewEvent {
    NewEvent {
        kind: "task.created",
        owner: None,
        project: None,
        task: None,
        run: None,
        job: None,
        data: json!({ "number": number }),
    }
}

pub(crate) async fn append(store: &Store, event: NewEvent) {
    write_tx!(store, tx => tx.event_append(&event).await);
}

pub(crate) fn numbers(events: &[OutboxEvent]) -> Vec<i64> {
    events.iter().filter_map(|event| event.data["number"].as_i64()).collect()
}

/// The events after `cursor`, as soon as there are `count` of them.
async fn listed(
    store: &Store,
    cursor: EventCursor,
    filter: EventFilter,
    count: usize,
) -> Vec<OutboxEvent> {
    eventually(|| async {
        let events = read_tx!(store, tx => tx.event_list(cursor, filter, 1000).await);
        (events.len() >= count).then_some(events)
    })
    .await
}

pub(crate) async fn events_are_read_in_the_order_they_were_written(store: Store) {
    append(&store, event(1)).await;
    write_tx!(store, tx => {
        tx.event_append(&event(2)).await?;
        tx.event_append(&event(3)).await
    });
    append(&store, event(4)).await;

    let events = listed(&store, EventCursor::default(), ALL, 4).await;

    assert_eq!(numbers(&events), [1, 2, 3, 4]);
    assert!(events.is_sorted_by(|earlier, later| earlier.cursor < later.cursor));
    let limited = read_tx!(store, tx => tx.event_list(EventCursor::default(), ALL, 2).await);
    assert_eq!(numbers(&limited), [1, 2]);
}

pub(crate) async fn events_are_filtered_by_owner_and_by_task(store: Store) {
    let (ada, bob) = (UserId::generate(), UserId::generate());
    let (one, two) = (TaskId::generate(), TaskId::generate());
    for (number, owner, task) in [
        (1, Some(ada), Some(one)),
        (2, Some(bob), Some(one)),
        (3, Some(ada), Some(two)),
        (4, None, None),
    ] {
        append(&store, NewEvent { owner, task, ..event(number) }).await;
    }
    listed(&store, EventCursor::default(), ALL, 4).await;

    for (owner, task, expected) in [
        (None, None, vec![1, 2, 3, 4]),
        (Some(ada), None, vec![1, 3]),
        (None, Some(one), vec![1, 2]),
        (Some(ada), Some(one), vec![1]),
        (Some(bob), Some(two), vec![]),
    ] {
        let filter = EventFilter { owner, task };
        let events = read_tx!(store, tx => tx.event_list(EventCursor::default(), filter, 10).await);
        assert_eq!(numbers(&events), expected, "{filter:?}");
    }
}

pub(crate) async fn a_reader_that_goes_on_by_cursor_sees_every_event_once(store: Store) {
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let store = store.clone();
        writers.spawn(async move {
            for number in 0..25 {
                append(&store, event(writer * 25 + number)).await;
            }
        });
    }
    let mut cursor = EventCursor::default();
    let mut seen = vec![];
    while seen.len() < 200 {
        let events = listed(&store, cursor, ALL, 1).await;
        cursor = events.last().unwrap().cursor.to_string().parse().unwrap();
        seen.extend(numbers(&events));
    }
    writers.join_all().await;

    seen.sort_unstable();
    assert_eq!(seen, (0..200).collect::<Vec<_>>());
    assert!(read_tx!(store, tx => tx.event_list(cursor, ALL, 10).await).is_empty());
}

pub(crate) async fn the_latest_cursor_is_past_everything_written(store: Store) {
    assert_eq!(read_tx!(store, tx => tx.event_latest().await), EventCursor::default());
    append(&store, event(1)).await;
    append(&store, event(2)).await;
    let last = listed(&store, EventCursor::default(), ALL, 2).await[1].cursor;

    assert_eq!(read_tx!(store, tx => tx.event_latest().await), last);
    append(&store, event(3)).await;

    assert_eq!(numbers(&listed(&store, last, ALL, 1).await), [3]);
}

pub(crate) async fn events_of_a_failed_operation_are_never_seen(store: Store) {
    let failed: Result<(), Error> = try_write_tx!(store, tx => {
        tx.event_append(&event(1)).await?;
        Err(Error::Closed)
    });
    assert!(failed.is_err());
    append(&store, event(2)).await;

    assert_eq!(numbers(&listed(&store, EventCursor::default(), ALL, 1).await), [2]);
}

proptest! {
    #[test]
    fn a_cursor_reads_back_as_it_was_written(transaction in 0..i64::MAX, sequence in 0..i64::MAX) {
        let text = format!("{transaction}-{sequence}");

        prop_assert_eq!(text.parse::<EventCursor>().unwrap().to_string(), text);
    }

    #[test]
    fn what_is_no_cursor_is_refused_and_named(text in "[a-z ]{0,8}-?[0-9]{0,3}[a-z]") {
        let refusal = text.parse::<EventCursor>().unwrap_err();

        prop_assert_eq!(refusal.to_string(), format!("\"{text}\" is not an event id"));
    }
}

#[test]
fn zero_is_the_cursor_of_the_beginning() {
    assert_eq!("0".parse(), Ok(EventCursor::default()));
    assert_eq!(EventCursor::default().to_string(), "0-0");
}

pub(crate) async fn a_reader_advances_over_events_of_others_and_misses_none_of_its_own(
    store: Store,
) {
    let (start, bob) = (EventCursor::default(), UserId::generate());
    let filter = EventFilter { owner: Some(bob), task: None };
    for number in 1..=3 {
        append(&store, NewEvent { owner: Some(UserId::generate()), ..event(number) }).await;
    }
    let newest = listed(&store, start, ALL, 3).await[2].cursor;

    let page = read_tx!(store, tx => tx.event_page(start, filter, 2).await);

    // None of them is bob's, and none of them is read again.
    assert_eq!((page.events.len(), page.cursor), (0, newest));
    for number in 4..=6 {
        append(&store, NewEvent { owner: Some(bob), ..event(number) }).await;
    }
    listed(&store, newest, ALL, 3).await;
    let full = read_tx!(store, tx => tx.event_page(page.cursor, filter, 2).await);
    assert_eq!((numbers(&full.events), full.cursor), (vec![4, 5], full.events[1].cursor));
    let last = read_tx!(store, tx => tx.event_page(full.cursor, filter, 2).await);
    assert_eq!((numbers(&last.events), last.cursor), (vec![6], last.events[0].cursor));
}
