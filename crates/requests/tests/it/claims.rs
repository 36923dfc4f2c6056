//! Which request a driver claims, and that forges that do not answer stop no other request.

use std::time::Duration;

use cynode_domain::forge::ForgeApiKind;
use cynode_domain::ids::TaskId;
use cynode_domain::request::RequestSettings;
use cynode_domain::status::RequestPhase;
use cynode_forge_fixture::{FaultKind, ScriptedFault, ScriptedForgeApi};
use cynode_requests::{DriverOptions, RequestDriver};
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{ClaimScope, ClaimedRequest, Error, RequestClaim};

use crate::forges::{BRANCH, PATH, allow, set_forge, start_forge, until_pushed_to};
use crate::world::{RequestFixture, submission};

const LEASE_MS: i64 = 60_000;

impl RequestFixture {
    async fn claim(&self) -> ClaimedRequest {
        let claimed = self.store.write(move |tx| {
            Box::pin(async move { tx.request_claim(LEASE_MS, ClaimScope::All).await })
        });
        let claimed: Result<_, Error> = claimed.await;
        claimed.unwrap().unwrap()
    }

    async fn release(&self, claim: RequestClaim, due_ms: i64) {
        let released = self.store.write(move |tx| {
            Box::pin(async move { tx.request_release(claim, Some(due_ms)).await })
        });
        let released: Result<bool, Error> = released.await;
        assert!(released.unwrap());
    }

    async fn has_work(&self, scope: ClaimScope) -> bool {
        let found =
            self.store.read(move |tx| Box::pin(async move { tx.request_has_work(scope).await }));
        let found: Result<bool, Error> = found.await;
        found.unwrap()
    }

    async fn make_due(&self, task: TaskId) {
        let woken =
            self.store.write(move |tx| Box::pin(async move { tx.request_wake(task).await }));
        let woken: Result<(), Error> = woken.await;
        woken.unwrap();
    }

    async fn notify(&self, task: TaskId) {
        let notified =
            self.store.write(move |tx| Box::pin(async move { tx.request_notify(task).await }));
        let notified: Result<(), Error> = notified.await;
        notified.unwrap();
    }
}

#[tokio::test]
async fn the_request_that_is_due_for_the_longest_time_is_claimed_first() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        world.add_provider().await;
        let mut tasks = vec![];
        for _ in 0..3 {
            let mut body = submission(RequestSettings::default());
            body.force = true;
            tasks.push(world.requests.submit(&world.bob, body).await.unwrap().id);
            world.clock.advance(Duration::from_mins(1));
        }
        let mut claims = vec![];
        for _ in &tasks {
            claims.push(world.claim().await.claim);
        }
        // The newest one has waited longest.
        for claim in claims {
            let place = tasks.iter().position(|task| *task == claim.task).unwrap();
            world.release(claim, -1000 * i64::try_from(place + 1).unwrap()).await;
        }

        let mut order = vec![];
        for _ in &tasks {
            order.push(world.claim().await.claim.task);
        }

        tasks.reverse();
        assert_eq!(order, tasks);
    }
}

#[tokio::test]
async fn a_hint_takes_no_claim_away_and_is_looked_at_after_it() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        world.add_provider().await;
        let body = submission(RequestSettings::default());
        let task = world.requests.submit(&world.bob, body).await.unwrap().id;
        let claimed = world.claim().await;

        world.notify(task).await;
        assert!(!world.has_work(ClaimScope::All).await, "it is claimed");
        world.release(claimed.claim, LEASE_MS).await;
        let again = world.claim().await;
        world.release(again.claim, LEASE_MS).await;

        assert_eq!(again.claim.epoch, claimed.claim.epoch + 1, "the claim was not fenced");
        assert!(!world.has_work(ClaimScope::All).await, "a hint counts once");
    }
}

#[tokio::test]
async fn requests_in_review_can_be_left_out() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        world.add_provider().await;
        let body = submission(RequestSettings::default());
        let task = world.requests.submit(&world.bob, body).await.unwrap().id;
        let changed = world.store.write(move |tx| {
            Box::pin(async move {
                let mut request = tx.request_get(task).await?.unwrap();
                request.phase = RequestPhase::InReview;
                tx.request_update(&request).await
            })
        });
        let changed: Result<(), Error> = changed.await;
        changed.unwrap();

        assert!(!world.has_work(ClaimScope::ExceptInReview).await);
        assert!(world.claim().await.is_in_review);
    }
}

#[tokio::test]
async fn a_forge_that_does_not_answer_stops_no_other_request() {
    let world = RequestFixture::sqlite().await;
    let server = start_forge(ScriptedForgeApi::Github);
    let forge = set_forge(&world, &server, ForgeApiKind::Github).await;
    allow(&world, &forge).await;
    server.push_branch(PATH, "cynode/y", 'd');
    for branch in [BRANCH, "cynode/y"] {
        let view = until_pushed_to(&world, branch).await;
        assert_eq!(world.get(&view).await.phase, RequestPhase::InReview);
        world.make_due(view.id).await;
    }
    server.fail(ScriptedFault::always("GET", "", FaultKind::Hang));
    let mut body = submission(RequestSettings::default());
    body.force = true;
    let other = world.requests.submit(&world.bob, body).await.unwrap();
    let options = DriverOptions { max_concurrent: 2, ..DriverOptions::default() };
    let (stop, driver) =
        (Shutdown::new(), RequestDriver::new(world.requests.clone()).with_options(options));
    let is_started = async {
        while world.open_children(other.id).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };

    let started = tokio::time::timeout(Duration::from_secs(20), async {
        tokio::select! {
            () = driver.run(stop.clone()) => panic!("the driver ended"),
            () = is_started => {}
        }
    });

    assert!(started.await.is_ok(), "it waits for the forge of the others");
}
