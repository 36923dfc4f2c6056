//! The event stream.

use std::time::Duration;

use cynode_client::EventStream;
use cynode_wire::auth::CreateToken;
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::workflow::Outcome;
use reqwest::Method;
use tokio::time::Instant;

use crate::harness::{HarnessResponse, OrchestratorHarness, create_commands_task};

fn from_the_beginning() -> EventQuery {
    EventQuery { task: None, after: Some("0".to_owned()) }
}

async fn next(events: &mut EventStream) -> Event {
    let event = tokio::time::timeout(Duration::from_mins(1), events.next()).await;
    event.unwrap().unwrap().unwrap()
}

async fn kinds(events: &mut EventStream, count: usize) -> Vec<String> {
    let mut kinds = vec![];
    for _ in 0..count {
        kinds.push(next(events).await.kind);
    }
    kinds
}

/// Drives a task through all that can happen to it.
async fn drive(harness: &OrchestratorHarness) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.checkpoint(lease, 1).await.unwrap();
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    node.end(job, 0).await.unwrap();
    runner.finish(lease, 2, Outcome::Completed).await.unwrap();
}

const LIFE: [&str; 8] = [
    "task.created",
    "task.started",
    "workflow.transition",
    "job.queued",
    "job.started",
    "job.ended",
    "workflow.transition",
    "task.closed",
];

pub(crate) async fn events_arrive_in_order_as_soon_as_they_happen(harness: OrchestratorHarness) {
    let mut live = harness.admin().events(&EventQuery::default(), None).await.unwrap();

    drive(&harness).await;

    assert_eq!(kinds(&mut live, 8).await, LIFE);
    let mut past = harness.admin().events(&from_the_beginning(), None).await.unwrap();
    assert_eq!(kinds(&mut past, 8).await, LIFE);
    // Live events are delivered by a signal: without one, an embedded database is polled only every ten
    // seconds.
    let mut waits = vec![];
    for _ in 0..4 {
        let start = Instant::now();
        harness.task().await;
        assert_eq!(next(&mut live).await.kind, "task.created");
        waits.push(start.elapsed());
    }
    assert!(waits[1..].iter().any(|wait| *wait < Duration::from_secs(8)), "{waits:?}");
}

pub(crate) async fn a_stream_goes_on_after_the_last_event_seen(harness: OrchestratorHarness) {
    drive(&harness).await;
    let admin = harness.admin();
    let mut seen = vec![];
    let mut last: Option<String> = None;
    while seen.len() < LIFE.len() {
        // Each connection breaks after three events; the header beats the query.
        let query = from_the_beginning();
        let mut events = admin.events(&query, last.as_deref()).await.unwrap();
        for _ in 0..3.min(LIFE.len() - seen.len()) {
            let event = next(&mut events).await;
            last = Some(event.id.clone());
            seen.push(event);
        }
    }

    assert_eq!(seen.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), LIFE);
    seen.dedup_by(|one, other| one.id == other.id);
    assert_eq!(seen.len(), LIFE.len());
    let mut events = admin.events(&EventQuery::default(), last.as_deref()).await.unwrap();
    let task = harness.task().await;
    assert_eq!(next(&mut events).await.task_id, Some(task.id));
}

pub(crate) async fn a_stream_shows_one_task_if_asked_to(harness: OrchestratorHarness) {
    harness.task().await;
    let followed = harness.task().await;
    harness.task().await;
    let query = EventQuery { task: Some(followed.task_name.clone()), after: Some("0".to_owned()) };

    let mut events = harness.admin().events(&query, None).await.unwrap();

    let first = next(&mut events).await;
    assert_eq!((first.task_id, first.project_id), (Some(followed.id), Some(followed.project_id)));
    harness.admin().task_cancel(&followed.task_name).await.unwrap();
    let second = next(&mut events).await;
    assert_eq!((second.task_id, second.kind.as_str()), (Some(followed.id), "task.closed"));
    assert_eq!(second.data["status"], "canceled");
}

pub(crate) async fn events_of_others_are_invisible(harness: OrchestratorHarness) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let mut seen = eve.events(&from_the_beginning(), None).await.unwrap();
    ada.task_create(&create_commands_task(&["true"])).await.unwrap();
    harness.task().await;

    let own = eve.task_create(&create_commands_task(&["true"])).await.unwrap();

    assert_eq!(next(&mut seen).await.task_id, Some(own.id));
    let mut all = harness.admin().events(&from_the_beginning(), None).await.unwrap();
    assert_eq!(kinds(&mut all, 3).await, ["task.created"; 3]);
}

pub(crate) async fn a_stream_ends_when_its_token_no_longer_counts(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let request = CreateToken {
        name: "watcher".to_owned(),
        expires_in_days: Some(1),
        ..CreateToken::default()
    };
    let revoked = admin.token_create(&request).await.unwrap();
    let expired = admin.token_create(&request).await.unwrap();
    let query = EventQuery::default();
    let mut of_revoked = harness.client(revoked.secret).events(&query, None).await.unwrap();
    let mut of_expired = harness.client(expired.secret).events(&query, None).await.unwrap();

    admin.token_revoke(revoked.token.id).await.unwrap();
    harness.task().await;

    assert!(of_revoked.next().await.unwrap().is_none());
    assert_eq!(next(&mut of_expired).await.kind, "task.created");
    harness.clock.advance(Duration::from_hours(24));
    harness.task().await;
    assert!(of_expired.next().await.unwrap().is_none());
}

pub(crate) async fn an_unknown_event_id_is_refused(harness: OrchestratorHarness) {
    for id in ["x", "-1", "1-", "1-x", "99999999999999999999-1", ""] {
        let path = format!("/v1/events?after={id}");
        HarnessResponse::send(harness.as_admin(Method::GET, &path)).await.assert_problem(400);
    }
    let request = harness.as_admin(Method::GET, "/v1/events").header("last-event-id", "x\u{fc}");
    let answer = HarnessResponse::send(request).await;
    assert!(answer.assert_problem(400).contains("use the id of an event"));
}
