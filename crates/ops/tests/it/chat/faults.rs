//! Failures of turns and what is persisted of them.

use std::time::Duration;

use cynode_execution::handoff::HandoffOptions;
use cynode_llm_wire::openai::ChatRequest;
use cynode_ops::{chat::ChatCall, chat::ChatError, chat::ChatOptions, chat::MANAGER_MODEL};
use futures_util::StreamExt as _;

use super::world::{ChatWorld, MODEL, Manner, request, turn};
use crate::engines::on_each_engine;

on_each_engine! {
    a_request_that_breaks_rules_is_refused_before_anything_is_kept,
    somebody_elses_project_is_not_there,
    an_answer_that_breaks_off_is_kept_as_partial,
    what_fails_before_the_first_piece_is_an_answer_of_its_own,
    an_answer_that_does_not_come_in_time_is_a_timeout,
    a_reader_that_goes_away_ends_the_work_and_leaves_what_was_said,
    whoever_stops_waiting_for_a_whole_answer_ends_the_work_too,
    more_turns_than_there_is_room_for_are_refused,
    a_client_that_tries_again_has_said_it_once,
    the_project_manager_is_asked_by_the_user_only,
    a_project_manager_that_is_late_is_a_timeout_too,
    a_reader_that_does_not_read_holds_nobody_up,
    whoever_has_an_answer_can_ask_again,
}

async fn a_request_that_breaks_rules_is_refused_before_anything_is_kept() {
    let world = ChatWorld::new(Manner::Answer).await;
    let nothing = ChatRequest { messages: vec![], ..request(MODEL, "") };

    let refused = world.chat.complete(world.call(), nothing).await.unwrap_err();

    assert_eq!(refused.code(), "invalid_request");
    assert!(world.threads().await.is_empty());
    let record = world.records().await.remove(0);
    assert_eq!((record.outcome.as_str(), record.thread), ("error", None));
    assert_eq!(record.error_code.as_deref(), Some("invalid_request"));
}

async fn somebody_elses_project_is_not_there() {
    let world = ChatWorld::new(Manner::Answer).await;
    let admins = world.world.admin.clone();
    let call = ChatCall { caller: admins, ..world.call() };
    world.chat.complete(call, request(MODEL, "mine")).await.unwrap();
    let theirs = format!("default-{}", world.world.admin.user);

    let call = ChatCall { project: Some(theirs.clone()), ..world.call() };
    let refused = world.chat.complete(call, request(MODEL, "hello")).await.unwrap_err();

    assert!(matches!(&refused, ChatError::UnknownProject(name) if *name == theirs), "{refused}");
    assert_eq!(refused.code(), "project_not_found");
    assert!(world.threads().await.is_empty());
}

async fn an_answer_that_breaks_off_is_kept_as_partial() {
    for (model, code) in
        [(MODEL, "permission_denied"), (MANAGER_MODEL, "orchestrator_inference_failed")]
    {
        let world = ChatWorld::new(Manner::Break).await;

        let chunks = world.pieces(request(model, "hello")).await.unwrap();

        assert_eq!(chunks.last().unwrap().as_ref().unwrap_err().code(), code);
        let kept = world.stored_messages().await;
        assert_eq!((kept[1].content.as_str(), kept[1].is_partial), ("Hello", true));
        let record = world.records().await.remove(0);
        assert_eq!((record.outcome.as_str(), record.error_code.as_deref()), ("error", Some(code)));
    }
}

async fn what_fails_before_the_first_piece_is_an_answer_of_its_own() {
    let world = ChatWorld::new(Manner::Refuse).await;

    let model = world.pieces(request(MODEL, "hello")).await.unwrap_err();
    let unknown = world.pieces(request("nobody/none", "hello")).await.unwrap_err();

    assert_eq!(model.code(), "permission_denied");
    assert_eq!(unknown.code(), "model_not_found");
    assert_eq!(world.stored_texts().await, [turn("user", "hello"), turn("user", "hello")]);
}

async fn an_answer_that_does_not_come_in_time_is_a_timeout() {
    for model in [MODEL, MANAGER_MODEL] {
        let soon = Duration::from_millis(500);
        let options =
            ChatOptions { chunk_timeout: soon, answer_timeout: soon, ..ChatOptions::default() };
        let world = ChatWorld::with(Manner::Hang, options).await;

        let late = world.ask(model, "hello").await.unwrap_err();
        // On a busy machine nothing at all has come by then.
        let last = match world.pieces(request(model, "hello")).await {
            Ok(mut chunks) => chunks.pop().unwrap().unwrap_err(),
            Err(none) => none,
        };

        assert_eq!(late.code(), "cynodeai_completion_timeout");
        assert_eq!(last.code(), "cynodeai_completion_timeout");
        assert_eq!(world.records().await[0].outcome, "timeout");
    }
}

async fn a_project_manager_that_is_late_is_a_timeout_too() {
    let chat_within = Duration::from_millis(50);
    let handing = HandoffOptions { chat_within, ..HandoffOptions::default() };
    let world = ChatWorld::with_both(Manner::Hang, ChatOptions::default(), handing).await;

    let late = world.ask(MANAGER_MODEL, "hello").await.unwrap_err();
    let chunks = world.pieces(request(MANAGER_MODEL, "hello")).await.unwrap();

    assert_eq!(late.code(), "cynodeai_completion_timeout");
    let last = chunks.last().unwrap().as_ref().unwrap_err();
    assert_eq!(last.code(), "cynodeai_completion_timeout");
    assert!(world.records().await.iter().all(|record| record.outcome == "timeout"));
}

async fn a_reader_that_does_not_read_holds_nobody_up() {
    for model in [MODEL, MANAGER_MODEL] {
        let unread_timeout = Duration::from_millis(100);
        let options = ChatOptions { unread_timeout, max_open: 1, ..ChatOptions::default() };
        let world = ChatWorld::with(Manner::Flood, options).await;
        let stream = world.chat.stream(world.call(), request(model, "hi")).await.unwrap();
        let mut stream = Box::pin(stream);
        stream.next().await.unwrap().unwrap();

        let record = world.record_to_come().await;
        let other = loop {
            // The permit is released a moment after the record is written.
            match world.ask(model, "hi").await {
                Err(ChatError::Busy) => tokio::task::yield_now().await,
                other => break other.unwrap(),
            }
        };

        assert_eq!(record.outcome, "canceled");
        assert_eq!(other.text().len(), 200);
        let rest: Vec<_> = stream.collect().await;
        let last = rest.last().unwrap().as_ref().unwrap_err();
        assert_eq!(last.code(), "request_canceled");
    }
}

async fn a_reader_that_goes_away_ends_the_work_and_leaves_what_was_said() {
    for model in [MODEL, MANAGER_MODEL] {
        let world = ChatWorld::new(Manner::Hang).await;
        let mut chunks =
            Box::pin(world.chat.stream(world.call(), request(model, "hi")).await.unwrap());
        while chunks.next().await.unwrap().unwrap().text() != "Hello" {}

        drop(chunks);

        let request = if model == MODEL { &world.model } else { &world.manager };
        request.given_up.notified().await;
        let record = world.record_to_come().await;
        assert_eq!(record.outcome, "canceled");
        let kept = world.stored_messages().await;
        assert_eq!((kept[1].content.as_str(), kept[1].is_partial), ("Hello", true));
    }
}

async fn whoever_stops_waiting_for_a_whole_answer_ends_the_work_too() {
    let world = ChatWorld::new(Manner::Hang).await;
    {
        let mut waiting = Box::pin(world.ask(MODEL, "hi"));
        while world.model.received_requests().is_empty() {
            tokio::select! {
                _ = &mut waiting => panic!("it hangs"),
                () = tokio::task::yield_now() => {}
            }
        }
    }

    world.model.given_up.notified().await;

    assert_eq!(world.record_to_come().await.outcome, "canceled");
}

async fn more_turns_than_there_is_room_for_are_refused() {
    let options = ChatOptions { max_open: 1, ..ChatOptions::default() };
    let world = ChatWorld::with(Manner::Hang, options).await;
    let open = world.chat.stream(world.call(), request(MODEL, "hi")).await.unwrap();

    let refused = world.ask(MODEL, "hi").await.unwrap_err();

    assert_eq!(refused.code(), "model_unavailable");
    drop(open);
}

async fn whoever_has_an_answer_can_ask_again() {
    let world =
        ChatWorld::with(Manner::Answer, ChatOptions { max_open: 1, ..ChatOptions::default() })
            .await;
    for model in [MODEL, MANAGER_MODEL] {
        for _ in 0..20 {
            world.ask(model, "hi").await.unwrap();
            let chunks = world.pieces(request(model, "hi")).await.unwrap();
            assert!(chunks.iter().all(Result::is_ok), "{chunks:?}");
        }
    }
}

async fn a_client_that_tries_again_has_said_it_once() {
    let world = ChatWorld::new(Manner::Break).await;
    let again = ChatCall { is_repeat: true, ..world.call() };
    world.ask("nobody/none", "hello").await.unwrap_err();

    world.chat.complete(again.clone(), request("nobody/none", "hello")).await.unwrap_err();
    world.chat.complete(again, request("nobody/none", "something else")).await.unwrap_err();

    assert_eq!(world.stored_texts().await, [turn("user", "hello"), turn("user", "something else")]);
}

async fn the_project_manager_is_asked_by_the_user_only() {
    let world = ChatWorld::new(Manner::Answer).await;
    let mut odd = request(MANAGER_MODEL, "hello");
    odd.messages.push(cynode_llm_wire::openai::ChatMessage::text("assistant", "I said this"));

    let refused = world.chat.complete(world.call(), odd).await.unwrap_err();

    assert_eq!(refused.code(), "invalid_request");
    assert!(world.manager.received_requests().is_empty());
}
