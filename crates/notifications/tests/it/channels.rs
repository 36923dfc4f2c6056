//! What is no channel.

use cynode_notifications::NotificationError;
use cynode_wire::credentials::GivenSecret;
use cynode_wire::notifications::ChannelTarget;

use crate::engines::on_each_engine;
use crate::receiver::Receiver;
use crate::world::{NotifierWorld, channel};

on_each_engine! {
    what_is_no_channel_is_rejected_with_its_reason,
    a_removed_channel_leaves_no_secret_behind,
}

async fn what_is_no_channel_is_rejected_with_its_reason() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    let webhook = |url: &str, secret: Option<&str>| ChannelTarget::Webhook {
        url: GivenSecret(url.to_owned()),
        secret: secret.map(|secret| GivenSecret(secret.to_owned())),
    };
    let url = &receiver.url;
    let email = ChannelTarget::Email { address: "a@b.example".to_owned() };

    for (name, target, reason) in [
        ("Not A Name", webhook(url, None), "lowercase"),
        ("", webhook(url, None), "lowercase"),
        ("0193a4b2-0000-7000-8000-000000000001", webhook(url, None), "lowercase"),
        ("a", webhook("http://example.com", None), "https"),
        ("a", webhook("nonsense", None), "URL"),
        ("a", webhook(url, Some("short")), "whsec_"),
        ("a", email, "mail server"),
    ] {
        let refused = world.service.create_channel(&world.alice, channel(name, target)).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(reason), "{reason}: {refused}");
        assert!(!refused.contains("token=secret"), "{refused}");
    }
    for number in 0..20 {
        world.webhook(&world.alice, &format!("n{number}"), url).await;
    }
    let more =
        world.service.create_channel(&world.alice, channel("more", webhook(url, None))).await;
    assert!(matches!(more, Err(NotificationError::Invalid(_))));
    world.webhook(&world.bob, "more", url).await;
}

async fn a_removed_channel_leaves_no_secret_behind() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    world.webhook(&world.alice, "phone", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    world.ask(&world.alice, request, "?").await;
    world.notifier().run_until_idle().await.unwrap();

    world.service.remove_channel(&world.alice, "phone").await.unwrap();

    for table in ["sealed_values", "notice_deliveries", "notice_channels"] {
        let count = format!("SELECT count(*) FROM {table}");
        assert_eq!(cynode_testkit::query(&world.database.url, &count).await, [["0"]], "{table}");
    }
}
