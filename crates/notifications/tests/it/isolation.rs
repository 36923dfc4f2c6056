//! Users, receivers and networks that are kept apart.

use std::time::Duration;

use cynode_domain::notice::DeliveryStatus;
use cynode_notifications::{NotificationError, NotifierOptions};
use cynode_store::NewEvent;
use cynode_testkit::query;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::{ChannelTarget, DeliveryQuery, UpdateChannel};
use serde_json::json;

use crate::engines::on_each_engine;
use crate::receiver::{Receiver, ReceiverAnswer};
use crate::world::{NotifierWorld, OPTIONS, channel};

on_each_engine! {
    channels_of_another_user_do_not_exist,
    an_internal_address_gets_nothing,
    a_redirect_is_not_followed,
    a_silent_receiver_delays_no_other_channel,
    ten_thousand_pending_deliveries_delay_no_other_channel,
    a_changed_tool_notifies_its_owner_and_the_administrators,
    a_stored_address_works_in_its_own_row_only,
    a_new_key_opens_the_addresses_of_all_channels,
}

async fn channels_of_another_user_do_not_exist() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    let created = world.webhook(&world.alice, "phone", &receiver.url).await;
    // Two users may have the same name for a channel.
    world.webhook(&world.bob, "mine", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    world.ask(&world.alice, request, "?").await;
    world.notifier().run_until_idle().await.unwrap();
    let id = created.channel.id.to_string();

    for other in [&world.bob, &world.admin] {
        for name in ["phone", &id] {
            let off = UpdateChannel { is_enabled: false };
            let query =
                DeliveryQuery { channel: Some(name.to_owned()), ..DeliveryQuery::default() };
            let refused = [
                world.service.update_channel(other, name, off).await.unwrap_err(),
                world.service.remove_channel(other, name).await.unwrap_err(),
                world.service.test_channel(other, name).await.unwrap_err(),
                world.service.list_deliveries(other, query).await.unwrap_err(),
            ];
            for error in refused {
                assert!(matches!(error, NotificationError::NoChannel(_)), "{error:?}");
            }
        }
        assert!(world.deliveries(other, None).await.is_empty());
    }
    assert_eq!(world.service.list_channels(&world.bob).await.unwrap().len(), 1);
    assert_eq!(world.deliveries(&world.alice, None).await.len(), 1);
    assert_eq!(receiver.received().len(), 1);
    let target = ChannelTarget::Slack { url: GivenSecret(receiver.url.clone()) };
    let twice = world.service.create_channel(&world.alice, channel("phone", target)).await;
    assert!(matches!(twice, Err(NotificationError::Duplicate(_))));
}

async fn an_internal_address_gets_nothing() {
    let (world, receiver) = (NotifierWorld::closed().await, Receiver::start().await);
    let target =
        |url: &str| ChannelTarget::Webhook { url: GivenSecret(url.to_owned()), secret: None };
    let port = receiver.url.split(':').nth(2).unwrap();

    let refused = world.service.create_channel(&world.alice, channel("a", target(&receiver.url)));
    let refused = refused.await.unwrap_err();
    // A name is judged when it is resolved, at every attempt.
    let by_name = format!("http://localhost:{port}");
    world.service.create_channel(&world.alice, channel("b", target(&by_name))).await.unwrap();
    let tried = world.service.test_channel(&world.alice, "b").await.unwrap_err();
    // An address that was allowed earlier is refused too.
    world.open_networks(json!(["127.0.0.0/8"])).await;
    world.webhook(&world.alice, "c", &receiver.url).await;
    world.open_networks(json!([])).await;
    let closed = world.service.test_channel(&world.alice, "c").await.unwrap_err();

    assert!(refused.to_string().contains("internal network"), "{refused}");
    assert!(tried.to_string().contains("internal network"), "{tried}");
    assert!(closed.to_string().contains("internal network"), "{closed}");
    assert!(receiver.received().is_empty());
}

async fn a_redirect_is_not_followed() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    let inside = Receiver::start().await;
    receiver.answer(ReceiverAnswer::Redirect(inside.url.clone()));
    world.webhook(&world.alice, "phone", &receiver.url).await;

    let refused = world.service.test_channel(&world.alice, "phone").await.unwrap_err();

    assert!(refused.to_string().contains("redirects"), "{refused}");
    assert!(!refused.to_string().contains("127.0.0.1"), "{refused}");
    assert!(inside.received().is_empty());
}

async fn a_silent_receiver_delays_no_other_channel() {
    let (world, silent, good) =
        (NotifierWorld::new().await, Receiver::start().await, Receiver::start().await);
    silent.answer(ReceiverAnswer::Silence);
    world.webhook(&world.bob, "silent", &silent.url).await;
    world.webhook(&world.alice, "good", &good.url).await;
    let (hers, his) =
        (world.request(&world.alice, "hers").await, world.request(&world.bob, "his").await);
    for number in 0..10 {
        world.ask(&world.bob, his, &number.to_string()).await;
    }
    // Its one attempt lasts for the whole test.
    let timeout = Duration::from_mins(10);
    let stop = world.start(NotifierOptions { send_timeout: timeout, lease: timeout, ..OPTIONS });
    silent.wait_for(1).await;

    for number in 0..5 {
        world.ask(&world.alice, hers, &number.to_string()).await;
    }
    good.wait_for(5).await;
    world.stop(&stop).await;

    assert_eq!(silent.received().len(), 1);
}

async fn ten_thousand_pending_deliveries_delay_no_other_channel() {
    let (world, busy, good) =
        (NotifierWorld::new().await, Receiver::start().await, Receiver::start().await);
    let full = world.webhook(&world.bob, "full", &busy.url).await.channel.id;
    world.webhook(&world.alice, "good", &good.url).await;
    let request = world.request(&world.alice, "r").await;
    let rows = if world.database.url.starts_with("sqlite:") {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
         INSERT INTO notice_deliveries (id, channel_id, event_txid, event_seq, message, status, due_at, created_at)
         SELECT printf('00000000-0000-7000-8000-%012d', i), '{full}', 9, i, '{message}', 'pending', 1, cynode_now() FROM n RETURNING 1"
    } else {
        "INSERT INTO notice_deliveries (id, channel_id, event_txid, event_seq, message, status, due_at, created_at)
         SELECT uuid('00000000-0000-7000-8000-' || lpad(i::text, 12, '0')), '{full}', 9, i, '{message}', 'pending',
         to_timestamp(1), clock_timestamp() FROM generate_series(1, 10000) i RETURNING 1"
    };
    let message = r#"{"kind":"question","title":"t","occurred_at":"2026-01-01T00:00:00Z"}"#;
    let rows = rows.replace("{full}", &full.to_string()).replace("{message}", message);
    insert_rows(&world, rows.replace("cynode_now()", "1893456000000000")).await;

    // One channel at a time: the other one has its turn after one batch.
    let stop = world.start(NotifierOptions { max_concurrent: 1, ..OPTIONS });
    busy.wait_for(1).await;
    world.ask(&world.alice, request, "?").await;
    good.wait_for(1).await;
    let before = busy.received().len();
    world.stop(&stop).await;

    assert!(before < 5_000, "{before}");
    assert!(!world.deliveries(&world.bob, Some(DeliveryStatus::Pending)).await.is_empty());
}

async fn insert_rows(world: &NotifierWorld, sql: String) {
    assert_eq!(query(&world.database.url, &sql).await.len(), 10_000);
}

async fn a_changed_tool_notifies_its_owner_and_the_administrators() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    for owner in [&world.alice, &world.bob, &world.admin] {
        world.webhook(owner, "phone", &receiver.url).await;
    }
    let event = NewEvent {
        kind: "tool.changed",
        owner: Some(world.alice.user),
        project: None,
        task: None,
        run: None,
        job: None,
        data: json!({ "tool": "files.read", "server": "files", "change": "changed" }),
    };

    world.append(event).await;
    world.notifier().run_until_idle().await.unwrap();

    assert_eq!(world.deliveries(&world.alice, None).await.len(), 1);
    assert_eq!(world.deliveries(&world.admin, None).await.len(), 1);
    assert_eq!(world.deliveries(&world.bob, None).await.len(), 0);
    let body = receiver.received()[0].json();
    assert_eq!(body["data"]["text"], "files.read (changed)");
}

async fn a_stored_address_works_in_its_own_row_only() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    world.webhook(&world.alice, "hers", &receiver.url).await;
    world.webhook(&world.bob, "his", &receiver.url).await;
    let bob = world.bob.user;

    let plain = query(&world.database.url, "SELECT sealed FROM sealed_values").await;
    let stolen =
        format!("UPDATE notice_channels SET owner_id = '{bob}' WHERE name = 'hers' RETURNING 1");
    query(&world.database.url, &stolen).await;
    let refused = world.service.test_channel(&world.bob, "hers").await.unwrap_err();
    let swapped = "UPDATE sealed_values SET sealed = (SELECT sealed FROM sealed_values ORDER BY name LIMIT 1) RETURNING 1";
    query(&world.database.url, swapped).await;

    assert_eq!(plain.len(), 2);
    assert!(plain.iter().flatten().all(|value| !value.contains("127.0.0.1")), "{plain:?}");
    assert!(refused.to_string().contains("damaged"), "{refused}");
    let mut failed = 0;
    for name in ["hers", "his"] {
        failed += usize::from(world.service.test_channel(&world.bob, name).await.is_err());
    }
    assert_eq!(failed, 2 - usize::from(receiver.received().len() == 1));
}

async fn a_new_key_opens_the_addresses_of_all_channels() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    world.webhook(&world.alice, "phone", &receiver.url).await;
    let before = query(&world.database.url, "SELECT key_id FROM sealed_values").await;

    // A key is removed from the file by the second rotation after it.
    for _ in 0..3 {
        world.credentials.rotate_key(&world.admin).await.unwrap();
    }

    let after = query(&world.database.url, "SELECT key_id FROM sealed_values").await;
    assert_ne!(before, after);
    world.service.test_channel(&world.alice, "phone").await.unwrap();
    assert_eq!(receiver.received().len(), 1);
}
