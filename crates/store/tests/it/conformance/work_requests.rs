//! Tests of when a request can be claimed.

use cynode_domain::ids::TaskId;
use cynode_domain::request::{RequestOrigin, RequestSettings, RequestSource, RequestState};
use cynode_domain::status::RequestPhase;
use cynode_store::{ClaimScope, RequestClaim, Store, WorkRequest};

use crate::world::{World, at};

/// Longer than a test runs.
const LONG_MS: i64 = 3_600_000;

async fn add_request(world: &World) -> TaskId {
    let task = world.task("t").await;
    let request = WorkRequest {
        task,
        phase: RequestPhase::InReview,
        source: RequestSource {
            origin: RequestOrigin::Webhook,
            reference: None,
            labels: vec![],
            is_brief: false,
        },
        settings: RequestSettings::default(),
        state: RequestState::default(),
        question: None,
        asked_at: None,
        text_sha256: "00".to_owned(),
        failures: 0,
        created_at: at(0),
        updated_at: at(0),
    };
    write_tx!(world.store, tx => tx.request_insert(&request).await);
    task
}

async fn claim(world: &World) -> Option<RequestClaim> {
    let claimed = write_tx!(world.store, tx => tx.request_claim(LONG_MS, ClaimScope::All).await);
    claimed.map(|claimed| claimed.claim)
}

async fn notify(world: &World, task: TaskId) {
    write_tx!(world.store, tx => tx.request_notify(task).await);
}

/// Makes the request due, as an answer of a person does, and claims it.
async fn wake_and_claim(world: &World, task: TaskId) -> RequestClaim {
    write_tx!(world.store, tx => tx.request_wake(task).await);
    claim(world).await.unwrap()
}

/// Releases a claim after so many failures.
async fn release(world: &World, claim: RequestClaim, failures: u32, due_ms: Option<i64>) {
    let is_released = write_tx!(world.store, tx => {
        let request = tx.request_get(claim.task).await?.unwrap();
        tx.request_update(&WorkRequest { failures, ..request }).await?;
        tx.request_release(claim, due_ms).await
    });
    assert!(is_released);
}

pub(crate) async fn a_hint_shortens_no_delay_after_a_failure(store: Store) {
    let world = World::new(store).await;
    let task = add_request(&world).await;

    let first = claim(&world).await.unwrap();
    release(&world, first, 1, Some(LONG_MS)).await;
    notify(&world, task).await;
    assert_eq!(claim(&world).await, None, "the hint arrived during the delay");

    let second = wake_and_claim(&world, task).await;
    notify(&world, task).await;
    release(&world, second, 2, Some(LONG_MS)).await;
    assert_eq!(claim(&world).await, None, "the hint arrived before the failure");

    // The delay is over.
    let third = wake_and_claim(&world, task).await;
    release(&world, third, 3, Some(-1)).await;
    notify(&world, task).await;
    assert!(claim(&world).await.is_some());
}

pub(crate) async fn a_hint_is_kept_where_no_delay_follows(store: Store) {
    let world = World::new(store).await;
    let task = add_request(&world).await;

    // The step succeeded.
    let mut claimed = claim(&world).await.unwrap();
    notify(&world, task).await;
    release(&world, claimed, 0, Some(LONG_MS)).await;
    claimed = claim(&world).await.unwrap();
    // It waits for an event, with failures of an earlier step.
    notify(&world, task).await;
    release(&world, claimed, 1, None).await;
    claimed = claim(&world).await.unwrap();
    release(&world, claimed, 1, None).await;
    assert_eq!(claim(&world).await, None, "a hint counts once");

    notify(&world, task).await;

    assert!(claim(&world).await.is_some());
}
