//! Turns during shutdown.

use std::time::Duration;

use cynode_ops::chat::MANAGER_MODEL;
use futures_util::StreamExt as _;

use super::world::{ChatWorld, MODEL, Manner, request};
use crate::engines::on_each_engine;

on_each_engine! {
    a_stop_keeps_what_was_said_so_far_and_how_the_turn_went,
    a_stop_answers_those_who_wait_for_a_whole_answer,
}

/// Longer than any step takes.
const LONG: Duration = Duration::from_secs(30);

async fn a_stop_keeps_what_was_said_so_far_and_how_the_turn_went() {
    for model in [MODEL, MANAGER_MODEL] {
        let world = ChatWorld::new(Manner::Hang).await;
        let stream = world.chat.stream(world.call(), request(model, "hi")).await.unwrap();
        let mut chunks = Box::pin(stream);
        while chunks.next().await.unwrap().unwrap().text() != "Hello" {}

        assert!(world.background.finish(LONG).await);

        let last = chunks.next().await.unwrap().unwrap_err();
        assert_eq!(last.code(), "orchestrator_stopping");
        let kept = world.stored_messages().await;
        assert_eq!((kept[1].content.as_str(), kept[1].is_partial), ("Hello", true));
        let record = world.records().await.remove(0);
        assert_eq!(record.outcome, "error");
        assert_eq!(record.error_code.as_deref(), Some("orchestrator_stopping"));
    }
}

async fn a_stop_answers_those_who_wait_for_a_whole_answer() {
    let world = ChatWorld::new(Manner::Hang).await;
    let stop = async {
        while world.model.received_requests().is_empty() {
            tokio::task::yield_now().await;
        }
        world.background.finish(LONG).await
    };

    let (answer, has_ended) = tokio::join!(world.ask(MODEL, "hi"), stop);

    assert_eq!(answer.unwrap_err().code(), "orchestrator_stopping");
    assert!(has_ended);
}
