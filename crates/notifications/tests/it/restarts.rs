//! A notifier that dies between sending and recording.

use std::time::Duration;

use cynode_domain::notice::DeliveryStatus;
use cynode_notifications::NotifierOptions;
use cynode_runtime::shutdown::Shutdown;
use http::StatusCode;

use crate::engines::on_each_engine;
use crate::receiver::{Receiver, ReceiverAnswer};
use crate::world::{NotifierWorld, OPTIONS};

on_each_engine! {
    what_was_sent_and_not_recorded_is_sent_again_with_the_same_id,
    a_notifier_that_stops_leaves_its_deliveries_to_the_next,
}

async fn what_was_sent_and_not_recorded_is_sent_again_with_the_same_id() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    world.webhook(&world.alice, "phone", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    world.ask(&world.alice, request, "?").await;
    receiver.answer(ReceiverAnswer::Silence);

    // The first one is dropped while the receiver has the message: it records nothing and releases nothing.
    let first = world.notifier();
    tokio::select! {
        ended = first.run_until_idle() => panic!("{ended:?}"),
        () = receiver.wait_for(1) => {}
    }
    receiver.answer(ReceiverAnswer::Status(StatusCode::OK));
    let pending = world.deliveries(&world.alice, Some(DeliveryStatus::Pending)).await;
    // Its lease expires.
    let stop = world.start(OPTIONS);
    world
        .until(|| async {
            world.deliveries(&world.alice, Some(DeliveryStatus::Delivered)).await.len() == 1
        })
        .await;
    world.stop(&stop).await;

    let arrived = receiver.received();
    assert_eq!(arrived.len(), 2);
    assert_eq!(arrived[0].id(), arrived[1].id());
    assert_eq!(arrived[0].id(), pending[0].id.to_string());
    assert_eq!(arrived[0].body, arrived[1].body);
}

async fn a_notifier_that_stops_leaves_its_deliveries_to_the_next() {
    let (world, receiver) = (NotifierWorld::new().await, Receiver::start().await);
    world.webhook(&world.alice, "phone", &receiver.url).await;
    let request = world.request(&world.alice, "r").await;
    world.ask(&world.alice, request, "?").await;
    receiver.answer(ReceiverAnswer::Silence);
    let long = NotifierOptions { lease: Duration::from_hours(1), ..OPTIONS };

    let stop: Shutdown = world.start(long);
    receiver.wait_for(1).await;
    world.stop(&stop).await;
    receiver.answer(ReceiverAnswer::Status(StatusCode::OK));
    // The claim was released: nothing waits for its lease.
    world.notifier().run_until_idle().await.unwrap();

    assert_eq!(world.deliveries(&world.alice, Some(DeliveryStatus::Delivered)).await.len(), 1);
}
