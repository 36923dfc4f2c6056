//! Requests to the project manager that clients retry by themselves.

use cynode_domain::ids::ChatTurnId;
use cynode_llm_wire::openai::ChatMessage;
use cynode_ops::{chat::ChatCall, chat::ChatError, chat::Link, chat::MANAGER_MODEL};

use super::world::{ChatWorld, MODEL, Manner, request, turn};
use crate::engines::on_each_engine;

on_each_engine! {
    what_may_have_been_acted_on_is_not_handed_over_again,
    an_answer_that_was_missed_is_given_out_again,
    an_answer_that_was_missed_belongs_to_the_turn_that_asks_again,
    what_was_not_begun_is_handed_over_when_it_is_sent_again,
    the_same_words_without_a_word_of_repetition_are_a_new_request,
    a_turn_of_which_nothing_is_known_is_not_handed_over_again,
}

impl ChatWorld {
    fn again(&self) -> ChatCall {
        ChatCall { is_repeat: true, ..self.call() }
    }
}

async fn what_may_have_been_acted_on_is_not_handed_over_again() {
    for manner in [Manner::Break, Manner::Refuse] {
        let world = ChatWorld::new(manner).await;
        let failed = world.ask(MANAGER_MODEL, "make a task").await.unwrap_err();
        let model = world.ask(MODEL, "make a task").await.unwrap_err();

        let request = request(MANAGER_MODEL, "make a task");
        let second = world.chat.complete(world.again(), request.clone()).await.unwrap_err();
        let third = world.chat.complete(world.again(), request).await.unwrap_err();

        assert!(matches!(failed, ChatError::FailedAfterHandoff(_)), "{failed:?}");
        assert!(!matches!(model, ChatError::FailedAfterHandoff(_)), "{model:?}");
        assert!(matches!(second, ChatError::AlreadyHandedOff), "{second:?}");
        assert!(matches!(third, ChatError::AlreadyHandedOff), "{third:?}");
        assert_eq!(world.manager.received_requests().len(), 1);
    }
}

async fn an_answer_that_was_missed_is_given_out_again() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.ask(MANAGER_MODEL, "make a task").await.unwrap();
    world.ask(MODEL, "beside it").await.unwrap();

    let request = request(MANAGER_MODEL, "make a task");
    let second = world.chat.complete(world.again(), request).await.unwrap();

    assert_eq!((second.text(), &second.usage), (first.text(), &first.usage));
    assert_eq!(world.manager.received_requests().len(), 1);
    let said = [turn("user", "make a task"), turn("assistant", "Hello there.")];
    assert_eq!(world.stored_texts().await[..2], said);
    assert_eq!(world.stored_texts().await.len(), 4);
}

async fn an_answer_that_was_missed_belongs_to_the_turn_that_asks_again() {
    let world = ChatWorld::new(Manner::Answer).await;
    let (first, second) = (Link::after(None), Link::after(None));
    let ask = || request(MANAGER_MODEL, "make a task");
    let call = ChatCall { link: Some(first), ..world.call() };
    world.chat.complete(call, ask()).await.unwrap();

    let call = ChatCall { link: Some(second), ..world.again() };
    world.chat.complete(call, ask()).await.unwrap();

    let recall = async |turn: ChatTurnId| {
        let messages = world.chat.recall(&world.call(), turn).await.unwrap().unwrap();
        messages.iter().map(ChatMessage::plain_text).collect::<Vec<_>>()
    };
    assert_eq!(world.manager.received_requests().len(), 1);
    assert_eq!(recall(second.id).await, ["make a task", "Hello there."]);
    assert_eq!(recall(first.id).await, recall(second.id).await);
}

async fn what_was_not_begun_is_handed_over_when_it_is_sent_again() {
    let world = ChatWorld::new(Manner::Away).await;
    let failed = world.ask(MANAGER_MODEL, "make a task").await.unwrap_err();
    let tries = world.manager.received_requests().len();

    let request = request(MANAGER_MODEL, "make a task");
    let second = world.chat.complete(world.again(), request).await.unwrap_err();

    assert_eq!((failed.code(), second.code()), ("model_unavailable", "model_unavailable"));
    assert_eq!(world.manager.received_requests().len(), 2 * tries);
    assert_eq!(world.stored_texts().await, [turn("user", "make a task")]);
}

async fn the_same_words_without_a_word_of_repetition_are_a_new_request() {
    let world = ChatWorld::new(Manner::Answer).await;

    world.ask(MANAGER_MODEL, "make a task").await.unwrap();
    world.ask(MANAGER_MODEL, "make a task").await.unwrap();

    assert_eq!(world.manager.received_requests().len(), 2);
}

async fn a_turn_of_which_nothing_is_known_is_not_handed_over_again() {
    let world = ChatWorld::new(Manner::Hang).await;
    let mut waiting = Box::pin(world.ask(MANAGER_MODEL, "make a task"));
    while world.manager.received_requests().is_empty() {
        tokio::select! {
            _ = &mut waiting => panic!("it hangs"),
            () = tokio::task::yield_now() => {}
        }
    }

    let request = request(MANAGER_MODEL, "make a task");
    let second = world.chat.complete(world.again(), request).await.unwrap_err();

    assert!(matches!(second, ChatError::AlreadyHandedOff), "{second:?}");
    assert_eq!(world.manager.received_requests().len(), 1);
    drop(waiting);
}
