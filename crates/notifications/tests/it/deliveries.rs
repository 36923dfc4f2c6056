//! What is delivered, signed and retried.

use cynode_domain::notice::{DeliveryStatus, NoticeKind};
use cynode_notifications::NotifierOptions;
use cynode_store::NewEvent;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::{ChannelTarget, PurgeDeliveries, UpdateChannel};
use http::StatusCode;
use serde_json::json;

use crate::engines::on_each_engine;
use crate::receiver::{Receiver, ReceiverAnswer};
use crate::world::{NotifierWorld, OPTIONS, channel};

on_each_engine! {
    a_question_is_delivered_once_and_signed,
    every_kind_of_event_says_what_it_is,
    what_happened_before_a_channel_is_not_delivered,
    a_receiver_that_was_down_gets_everything_once_it_is_up,
    a_delivery_that_fails_too_often_is_dead_until_it_is_retried,
    two_notifiers_deliver_each_event_once,
    a_slack_message_mentions_and_formats_nothing_of_others,
    a_channel_delivers_only_what_it_wants,
}

async fn a_question_is_delivered_once_and_signed() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    let created = world.webhook(&world.alice, "phone", &receiver.url).await;
    let request = world.request(&world.alice, "add-toggle").await;

    world.ask(&world.alice, request, "which colour?\u{1b}[31m").await;
    for _ in 0..3 {
        world.notifier().run_until_idle().await.unwrap();
    }

    let arrived = receiver.received();
    assert_eq!(arrived.len(), 1);
    let secret = created.secret.unwrap().0;
    assert!(arrived[0].is_signed_with(&secret));
    assert!(!arrived[0].is_signed_with("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
    let body = arrived[0].json();
    assert_eq!(body["id"], arrived[0].id());
    assert_eq!(body["type"], "cynode.question");
    assert_eq!(body["data"]["task_name"], "add-toggle");
    assert_eq!(body["data"]["text"], "which colour?[31m");
    assert_eq!(body["data"]["command"], "cynork pm show add-toggle");
    let delivered = world.deliveries(&world.alice, Some(DeliveryStatus::Delivered)).await;
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].id.to_string(), arrived[0].id());
    let shown = world.channel(&world.alice, "phone").await;
    assert!(shown.last_delivered_at.is_some() && shown.failing_since.is_none(), "{shown:?}");
    // Neither the path nor the query of the address is shown.
    assert!(!shown.target.contains("hook") && !shown.target.contains("secret"), "{shown:?}");
}

async fn every_kind_of_event_says_what_it_is() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    world.webhook(&world.alice, "phone", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    let asked = |about: &str| {
        json!({ "question": { "subject": { "about": about, "unit": "u" },
            "question": { "kind": "approval", "text": "t", "about": ["line"], "accepts": ["yes"] } } })
    };
    let run = |kind: &str| json!({ "question": { "kind": kind, "text": "t", "about": [] } });
    let events = [
        ("run.asked", run("clarification"), Some(NoticeKind::Question)),
        ("run.asked", run("approval"), Some(NoticeKind::Approval)),
        ("request.waiting", asked("intake"), Some(NoticeKind::Question)),
        ("request.waiting", asked("budget"), Some(NoticeKind::BudgetStop)),
        ("request.waiting", asked("review"), Some(NoticeKind::Approval)),
        ("request.waiting", asked("review_cap"), Some(NoticeKind::Escalation)),
        ("request.waiting", asked("a later version"), Some(NoticeKind::Question)),
        ("agent.needs_person", json!({ "reason": "t" }), Some(NoticeKind::Question)),
        ("agent.report_given_up", json!({ "reason": "t" }), Some(NoticeKind::Escalation)),
        ("task.created", json!({}), None),
        (
            "task.closed",
            json!({ "status": "completed", "summary": "t" }),
            Some(NoticeKind::RequestEnded),
        ),
    ];

    for (kind, data, _) in &events {
        world.event(&world.alice, request, kind, data.clone()).await;
    }
    world.notifier().run_until_idle().await.unwrap();

    let arrived = receiver.received();
    let kinds: Vec<String> =
        arrived.iter().map(|one| one.json()["data"]["kind"].as_str().unwrap().to_owned()).collect();
    let expected: Vec<&str> =
        events.iter().filter_map(|(_, _, kind)| kind.map(NoticeKind::as_str)).collect();
    assert_eq!(kinds, expected);
    assert!(arrived.iter().all(|one| one.json()["data"]["text"] == "t"));
}

async fn what_happened_before_a_channel_is_not_delivered() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    let request = world.request(&world.alice, "r").await;
    world.ask(&world.alice, request, "before").await;
    world.webhook(&world.alice, "first", &receiver.url).await;
    world.ask(&world.alice, request, "between").await;
    world.webhook(&world.alice, "second", &receiver.url).await;
    world.ask(&world.alice, request, "after").await;

    world.notifier().run_until_idle().await.unwrap();

    let mut texts: Vec<String> = receiver
        .received()
        .iter()
        .map(|one| one.json()["data"]["text"].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    assert_eq!(texts, ["after", "after", "between"]);
}

async fn a_receiver_that_was_down_gets_everything_once_it_is_up() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    receiver.answer(ReceiverAnswer::Status(StatusCode::SERVICE_UNAVAILABLE));
    world.webhook(&world.alice, "phone", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    for number in 0..5 {
        world.ask(&world.alice, request, &format!("question {number}")).await;
    }

    let stop = world.start(OPTIONS);
    receiver.wait_for(10).await;
    let failing = world.channel(&world.alice, "phone").await;
    receiver.answer(ReceiverAnswer::Status(StatusCode::OK));
    world
        .until(|| async {
            world.deliveries(&world.alice, Some(DeliveryStatus::Delivered)).await.len() == 5
        })
        .await;
    world.stop(&stop).await;

    assert!(failing.failing_since.is_some() && failing.failures > 0, "{failing:?}");
    assert_eq!(failing.last_error.unwrap(), "the receiver answered with status 503");
    let recovered = world.channel(&world.alice, "phone").await;
    assert_eq!((recovered.failures, recovered.last_error), (0, None));
    // Each attempt of a delivery has its id.
    let mut ids: Vec<String> = receiver.received().iter().map(|one| one.id().to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

async fn a_delivery_that_fails_too_often_is_dead_until_it_is_retried() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    receiver.answer(ReceiverAnswer::Status(StatusCode::GONE));
    world.webhook(&world.alice, "phone", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    world.ask(&world.alice, request, "one").await;
    world.ask(&world.alice, request, "two").await;

    let stop = world.start(NotifierOptions { max_attempts: 3, ..OPTIONS });
    let dead = || world.deliveries(&world.alice, Some(DeliveryStatus::Dead));
    world.until(|| async { dead().await.len() == 2 }).await;
    let found = dead().await;
    let attempts = receiver.received().len();
    receiver.answer(ReceiverAnswer::Status(StatusCode::OK));
    let refused = world.service.retry_delivery(&world.bob, found[0].id).await;
    world.service.retry_delivery(&world.alice, found[0].id).await.unwrap();
    world
        .until(|| async {
            world.deliveries(&world.alice, Some(DeliveryStatus::Delivered)).await.len() == 1
        })
        .await;
    world.stop(&stop).await;

    assert_eq!(attempts, 6);
    assert!(found.iter().all(|one| one.attempts == 3), "{found:?}");
    assert!(found[0].last_error.as_deref().unwrap().contains("410"));
    assert!(refused.unwrap_err().to_string().contains("there is no delivery"));
    assert_eq!(receiver.received().last().unwrap().id(), found[0].id.to_string());
    let again = world.service.retry_delivery(&world.alice, found[0].id).await;
    assert!(again.unwrap_err().to_string().contains("delivered"));
    let purged = world.service.purge_deliveries(&world.bob, PurgeDeliveries::default()).await;
    assert_eq!(purged.unwrap().deleted, 0);
    let purged = world.service.purge_deliveries(&world.alice, PurgeDeliveries::default()).await;
    assert_eq!(purged.unwrap().deleted, 1);
    assert!(dead().await.is_empty());
}

async fn two_notifiers_deliver_each_event_once() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    world.webhook(&world.alice, "a", &receiver.url).await;
    world.webhook(&world.alice, "b", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    for number in 0..30 {
        world.ask(&world.alice, request, &number.to_string()).await;
    }

    let long = NotifierOptions { lease: std::time::Duration::from_mins(1), ..OPTIONS };
    let stops = [world.start(long), world.start(long)];
    world
        .until(|| async {
            world.deliveries(&world.alice, Some(DeliveryStatus::Delivered)).await.len() == 60
        })
        .await;
    stops[0].trigger();
    world.stop(&stops[1]).await;

    let mut ids: Vec<String> = receiver.received().iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(ids.len(), 60);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 60);
}

async fn a_slack_message_mentions_and_formats_nothing_of_others() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    let target = ChannelTarget::Slack { url: GivenSecret(receiver.url.clone()) };
    world.service.create_channel(&world.alice, channel("team", target)).await.unwrap();
    let request = world.request(&world.alice, "<!channel> *r*").await;

    world.ask(&world.alice, request, "<!here> ``` <https://evil.example|click>").await;
    world.notifier().run_until_idle().await.unwrap();

    let body = receiver.received()[0].json();
    let text = body["text"].as_str().unwrap();
    assert!(!text.contains('<') && !text.contains('*'), "{text}");
    assert_eq!(text.matches("```").count(), 2, "{text}");
    assert!(text.contains("&lt;!here&gt; '''"), "{text}");
    assert_eq!(body["unfurl_links"], false);
    // A name that is no word for a shell is replaced by the id.
    assert!(text.contains(&format!("cynork pm show {}", request.0)), "{text}");
}

async fn a_channel_delivers_only_what_it_wants() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    let target = ChannelTarget::Webhook { url: GivenSecret(receiver.url.clone()), secret: None };
    let wanted = cynode_wire::notifications::CreateChannel {
        notices: vec![NoticeKind::RequestEnded],
        project: Some("default".to_owned()),
        ..channel("ends", target)
    };
    let request = world.request(&world.alice, "r").await;
    world.service.create_channel(&world.alice, wanted).await.unwrap();
    let elsewhere = (request.0, cynode_domain::ids::ProjectId::generate());
    let closed = || json!({ "status": "completed", "summary": "done" });

    world.ask(&world.alice, request, "?").await;
    world.event(&world.alice, elsewhere, "task.closed", closed()).await;
    world.event(&world.alice, request, "task.closed", closed()).await;
    world.notifier().run_until_idle().await.unwrap();
    let disabled = UpdateChannel { is_enabled: false };
    world.service.update_channel(&world.alice, "ends", disabled).await.unwrap();
    world.event(&world.alice, request, "task.closed", closed()).await;
    let tool = NewEvent {
        kind: "tool.changed",
        owner: Some(world.alice.user),
        project: None,
        task: None,
        run: None,
        job: None,
        data: json!({ "tool": "files.read", "server": "files", "change": "changed" }),
    };
    world.append(tool).await;
    world.notifier().run_until_idle().await.unwrap();

    let arrived = receiver.received();
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].json()["type"], "cynode.request_ended");
}
