//! Linked turns.

use cynode_domain::ids::{ChatMessageId, ChatTurnId, ThreadId};
use cynode_llm_wire::openai::ChatMessage;
use cynode_ops::{chat::ChatCall, chat::ChatOptions, chat::Link, chat::MANAGER_MODEL};
use cynode_resources::Projects;
use cynode_store::{AppendRows, Entry, ThreadMessage};
use cynode_wire::projects::CreateProject;
use serde_json::json;
use uuid::Uuid;

use super::world::{ChatWorld, MODEL, Manner, request};
use crate::engines::on_each_engine;

on_each_engine! {
    a_chain_of_turns_is_recalled_without_what_was_said_beside_it,
    a_turn_is_remembered_with_its_model_and_its_cost,
    turns_of_others_of_other_projects_and_without_a_name_are_not_recalled,
    a_repeated_request_is_recalled_with_what_its_first_attempt_said,
    a_repeated_request_is_recalled_without_what_others_said_and_got_no_answer_to,
    the_same_words_after_another_turn_are_not_taken_for_a_repeat,
    a_turn_is_recalled_however_much_was_said_after_it,
    more_than_a_request_may_say_is_not_recalled,
    turns_are_looked_up_only_where_there_is_room_for_one_more,
    a_chain_does_not_depend_on_the_clocks_of_those_who_made_it,
}

impl ChatWorld {
    /// Sends a request after a turn, or a first one, and returns the id of the new turn.
    async fn go_on(&self, follows: Option<ChatTurnId>, model: &str, text: &str) -> ChatTurnId {
        let link = Link::after(follows);
        let call = ChatCall { link: Some(link), ..self.call() };
        self.chat.complete(call, request(model, text)).await.unwrap();
        link.id
    }

    async fn recalled(&self, turn: ChatTurnId) -> Option<Vec<String>> {
        let messages = self.chat.recall(&self.call(), turn).await.unwrap()?;
        Some(messages.iter().map(ChatMessage::plain_text).collect())
    }
}

async fn a_chain_of_turns_is_recalled_without_what_was_said_beside_it() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.go_on(None, MODEL, "one").await;
    world.ask(MODEL, "beside it").await.unwrap();
    let other = world.go_on(None, MODEL, "another chain").await;
    let second = world.go_on(Some(first), MANAGER_MODEL, "two").await;

    assert_eq!(world.recalled(first).await.unwrap(), ["one", "Hello there."]);
    assert_eq!(world.recalled(other).await.unwrap(), ["another chain", "Hello there."]);
    let both = ["one", "Hello there.", "two", "Hello there."];
    assert_eq!(world.recalled(second).await.unwrap(), both);
}

async fn a_chain_does_not_depend_on_the_clocks_of_those_who_made_it() {
    let world = ChatWorld::new(Manner::Answer).await;
    let smaller = ChatTurnId::generate();
    let first = world.go_on(None, MODEL, "one").await;
    let link = Link { id: smaller, follows: Some(first) };
    let call = ChatCall { link: Some(link), ..world.call() };
    world.chat.complete(call, request(MODEL, "two")).await.unwrap();

    let both = ["one", "Hello there.", "two", "Hello there."];
    assert!(smaller < first);
    assert_eq!(world.recalled(smaller).await.unwrap(), both);
}

async fn a_turn_is_remembered_with_its_model_and_its_cost() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.go_on(None, MODEL, "one").await;
    let second = world.go_on(Some(first), MODEL, "two").await;

    let past = world.chat.load_past_turn(&world.call(), second).await.unwrap().unwrap();

    assert_eq!(past.follows, Some(first));
    assert_eq!(past.answer.text(), "Hello there.");
    assert_eq!(past.answer.model, MODEL);
    assert_eq!(past.answer.usage.unwrap().total_tokens, 5);
}

async fn turns_of_others_of_other_projects_and_without_a_name_are_not_recalled() {
    let world = ChatWorld::new(Manner::Answer).await;
    let mine = world.go_on(None, MODEL, "mine").await;
    world.ask(MODEL, "not named").await.unwrap();
    let unnamed = world.records().await[0].id;
    let admins = ChatCall { caller: world.world.admin.clone(), ..world.call() };
    let projects = Projects::new(world.world.store.clone(), world.world.clock.clone());
    let loom = CreateProject {
        display_name: "Loom".to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    projects.create(&world.world.bob, loom).await.unwrap();
    let elsewhere = ChatCall { project: Some("loom".to_owned()), ..world.call() };

    assert_eq!(world.chat.recall(&admins, mine).await.unwrap(), None);
    assert_eq!(world.chat.recall(&elsewhere, mine).await.unwrap(), None);
    assert_eq!(world.recalled(unnamed).await, None);
    assert_eq!(world.recalled(ChatTurnId::generate()).await, None);
}

async fn a_repeated_request_is_recalled_with_what_its_first_attempt_said() {
    let world = ChatWorld::new(Manner::Answer).await;
    let lost = Link::after(None);
    let call = ChatCall { link: Some(lost), ..world.call() };
    world.chat.complete(call, request("nobody/has-this", "one")).await.unwrap_err();
    let link = Link::after(None);
    let call = ChatCall { link: Some(link), is_repeat: true, ..world.call() };
    world.chat.complete(call, request(MODEL, "one")).await.unwrap();

    assert_eq!(world.recalled(link.id).await.unwrap(), ["one", "Hello there."]);
    assert_eq!(world.recalled(lost.id).await, None, "it has no answer");
}

async fn a_repeated_request_is_recalled_without_what_others_said_and_got_no_answer_to() {
    let world = ChatWorld::new(Manner::Answer).await;
    for text in ["of another chain", "one"] {
        let call = ChatCall { link: Some(Link::after(None)), ..world.call() };
        world.chat.complete(call, request("nobody/has-this", text)).await.unwrap_err();
    }
    let link = Link::after(None);
    let call = ChatCall { link: Some(link), is_repeat: true, ..world.call() };
    world.chat.complete(call, request(MODEL, "one")).await.unwrap();

    assert_eq!(world.recalled(link.id).await.unwrap(), ["one", "Hello there."]);
    assert_eq!(world.stored_texts().await.len(), 3, "what is repeated is kept once");
}

async fn the_same_words_after_another_turn_are_not_taken_for_a_repeat() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.go_on(None, MODEL, "shall I?").await;
    let lost = ChatCall { link: Some(Link::after(Some(first))), ..world.call() };
    world.chat.complete(lost, request("nobody/has-this", "yes")).await.unwrap_err();
    let link = Link::after(None);
    let call = ChatCall { link: Some(link), is_repeat: true, ..world.call() };
    world.chat.complete(call, request(MODEL, "yes")).await.unwrap();

    assert_eq!(world.recalled(link.id).await.unwrap(), ["yes", "Hello there."]);
    let words: Vec<_> = world.stored_texts().await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(words, ["shall I?", "Hello there.", "yes", "yes", "Hello there."]);
}

async fn a_turn_is_recalled_however_much_was_said_after_it() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.go_on(None, MODEL, "one").await;
    let thread = world.threads().await[0].id;
    let later = (0..1_001)
        .map(|_| Entry::ThreadMessage(thread_message(thread, ChatMessageId::generate(), "x")));
    world.world.store.batch(AppendRows(later.collect())).await.unwrap();

    assert_eq!(world.recalled(first).await.unwrap(), ["one", "Hello there."]);
}

async fn more_than_a_request_may_say_is_not_recalled() {
    let world = ChatWorld::new(Manner::Answer).await;
    let first = world.go_on(None, MODEL, "one").await;
    let second = world.go_on(Some(first), MODEL, "two").await;
    let thread = world.threads().await[0].id;
    let mebibyte = "x".repeat(1024 * 1024);
    let long = (1..=8).map(|number| {
        let id = ChatMessageId::from(Uuid::from_u128(number));
        Entry::ThreadMessage(ThreadMessage {
            turn: Some(first),
            ..thread_message(thread, id, &mebibyte)
        })
    });
    world.world.store.batch(AppendRows(long.collect())).await.unwrap();

    let refused = world.chat.recall(&world.call(), second).await.unwrap_err();
    let alone = world.chat.load_past_turn(&world.call(), second).await.unwrap().unwrap();

    assert_eq!(refused.code(), "invalid_request");
    assert!(refused.to_string().ends_with("start a new one"), "{refused}");
    assert_eq!(alone.follows, Some(first));
}

async fn turns_are_looked_up_only_where_there_is_room_for_one_more() {
    let options = ChatOptions { max_open: 1, ..ChatOptions::default() };
    let world = ChatWorld::with(Manner::Hang, options).await;
    let (call, turn) = (world.call(), ChatTurnId::generate());
    assert_eq!(world.chat.recall(&call, turn).await.unwrap(), None);
    let open = world.chat.stream(world.call(), request(MODEL, "hi")).await.unwrap();

    let recalled = world.chat.recall(&call, turn).await.unwrap_err();
    let looked_up = world.chat.load_past_turn(&call, turn).await.unwrap_err();

    assert_eq!((recalled.code(), looked_up.code()), ("model_unavailable", "model_unavailable"));
    drop(open);
}

fn thread_message(thread: ThreadId, id: ChatMessageId, content: &str) -> ThreadMessage {
    ThreadMessage {
        id,
        thread,
        role: "user".to_owned(),
        content: content.to_owned(),
        is_partial: false,
        metadata: json!({}),
        turn: None,
        created_at: chrono::DateTime::UNIX_EPOCH,
    }
}
