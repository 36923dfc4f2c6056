//! Deliveries of webhooks: issues that become requests.

use std::time::Duration;

use cynode_domain::forge::ForgeApiKind;
use cynode_forge_fixture::{
    FaultKind, ScriptedFault, ScriptedForge, ScriptedForgeApi, ScriptedForgeEvent, ScriptedItem,
};
use cynode_requests::WebhookOutcome;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::forges::{ForgeView, SetForge};
use cynode_wire::requests::{RequestQuery, RequestView};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::forges::{BRANCH, PATH, allow, forge_body, set_forge_to, start_forge, until_pushed_to};
use crate::world::RequestFixture;

const SECRET: &str = "a-secret-of-sixteen-bytes-or-more";

async fn set_intake(world: &RequestFixture, server: &ScriptedForge) -> ForgeView {
    let body = SetForge {
        issue_label: Some("bug".to_owned()),
        webhook_secret: Some(GivenSecret(SECRET.to_owned())),
        ..forge_body(server, ForgeApiKind::Github)
    };
    set_forge_to(world, body).await
}

fn opened(server: &ScriptedForge, number: u64) -> (HeaderMap, Vec<u8>) {
    deliver(server, &ScriptedForgeEvent::IssueOpened { repository: PATH.to_owned(), number })
}

/// The headers and the body of a delivery.
fn deliver(server: &ScriptedForge, event: &ScriptedForgeEvent) -> (HeaderMap, Vec<u8>) {
    let delivery = server.delivery(event, SECRET);
    let header = |(name, value): &(String, String)| {
        (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
    };
    (delivery.headers.iter().map(header).collect(), delivery.body)
}

async fn submitted(world: &RequestFixture) -> Vec<RequestView> {
    world.requests.list(&world.admin, RequestQuery::default()).await.unwrap().items
}

#[tokio::test]
async fn an_issue_that_was_not_submitted_is_delivered_again() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let server = start_forge(ScriptedForgeApi::Github);
        let forge = set_intake(&world, &server).await;
        let number = server.add_issue(PATH, "ada", "Login fails", "On every page");
        let (headers, body) = opened(&server, number);
        let receive = async || world.requests.receive_webhook(forge.id, &headers, &body).await;

        // The forge does not tell who may push.
        let message = "Resource not accessible by integration".to_owned();
        server.fail(ScriptedFault::once("GET", "/permission", FaultKind::Forbidden { message }));
        assert_eq!(receive().await.unwrap(), WebhookOutcome::Ignored);
        server.fail(ScriptedFault::once("GET", "/issues", FaultKind::Status(503)));
        assert!(receive().await.is_err());
        assert_eq!(submitted(&world).await.len(), 0);

        assert_eq!(receive().await.unwrap(), WebhookOutcome::Accepted);
        assert_eq!(receive().await.unwrap(), WebhookOutcome::Repeated);
        assert_eq!(submitted(&world).await.len(), 1);
    }
}

#[tokio::test]
async fn an_issue_is_submitted_though_its_sender_hangs_up() {
    let world = RequestFixture::sqlite().await;
    let server = start_forge(ScriptedForgeApi::Github);
    let forge = set_intake(&world, &server).await;
    let number = server.add_issue(PATH, "ada", "Login fails", "On every page");
    let (headers, body) = opened(&server, number);
    let background = BackgroundTasks::new();
    let service = world.requests.clone().with_background(background.clone());
    let before = server.requests().len();
    let is_asked = async {
        while server.requests().len() == before {
            tokio::task::yield_now().await;
        }
    };

    tokio::select! {
        biased;
        () = is_asked => {}
        done = service.receive_webhook(forge.id, &headers, &body) => panic!("{done:?}"),
    }
    assert!(background.finish(Duration::from_secs(30)).await);

    assert_eq!(submitted(&world).await.len(), 1);
}

#[tokio::test]
async fn an_issue_is_read_without_its_comments() {
    let world = RequestFixture::sqlite().await;
    let server = start_forge(ScriptedForgeApi::Github);
    let forge = set_intake(&world, &server).await;
    let number = server.add_issue(PATH, "ada", "Login fails", "On every page");
    for index in 0..10 {
        let name = format!("guest-{index}");
        server.add_comment(PATH, ScriptedItem::Issue(number), &name, "me too");
    }
    let (headers, body) = opened(&server, number);
    let before = server.requests().len();

    let outcome = world.requests.receive_webhook(forge.id, &headers, &body).await.unwrap();

    assert_eq!(outcome, WebhookOutcome::Accepted);
    assert_eq!(server.requests().len() - before, 2, "who sent it, and the issue");
}

#[tokio::test]
async fn deliveries_do_not_shorten_the_time_that_a_forge_asks_to_wait() {
    for world in [RequestFixture::sqlite().await, RequestFixture::postgres().await] {
        let server = start_forge(ScriptedForgeApi::Github);
        let forge = set_intake(&world, &server).await;
        allow(&world, &forge).await;
        let view = until_pushed_to(&world, BRANCH).await;
        let number = world.get(&view).await.delivery.unwrap().pull_request_number.unwrap();
        let limit = FaultKind::RateLimit { retry_after_s: 600 };
        server.fail(ScriptedFault::always("GET", "/pulls", limit));
        world.wake(view.id).await;
        let before = server.requests().len();

        let repository = || PATH.to_owned();
        for event in [
            ScriptedForgeEvent::PullOpened { repository: repository(), number },
            ScriptedForgeEvent::PullPushed { repository: repository(), number },
        ] {
            let (headers, body) = deliver(&server, &event);
            let received = world.requests.receive_webhook(forge.id, &headers, &body).await;
            assert_eq!(received.unwrap(), WebhookOutcome::Accepted);
            world.advance().await;
        }

        assert_eq!(server.requests().len(), before, "the forge is left alone");
        let id = view.id;
        let read = world.store.read(move |tx| Box::pin(async move { tx.request_get(id).await }));
        let read: Result<_, cynode_store::Error> = read.await;
        assert_eq!(read.unwrap().unwrap().failures, 1);
    }
}
