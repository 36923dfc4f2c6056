//! Threads: one is current for each user and project, and only its owner sees it.

use std::time::Duration;

use cynode_domain::ids::ThreadId;
use cynode_ops::{chat::ChatCall, chat::ThreadError};
use cynode_resources::Projects;
use cynode_wire::page::PageQuery;
use cynode_wire::projects::CreateProject;
use cynode_wire::threads::{AppendMessage, CreateThread, ThreadQuery};

use super::world::{ChatWorld, MODEL, Manner, request, turn};
use crate::engines::on_each_engine;

on_each_engine! {
    a_thread_goes_on_until_nobody_spoke_for_two_hours,
    projects_have_threads_of_their_own,
    a_new_thread_is_the_one_that_goes_on,
    nobody_else_sees_a_thread_administrators_included,
    what_is_appended_is_kept_without_secrets_and_from_the_user_only,
    first_turns_at_the_same_moment_share_one_thread,
}

async fn a_thread_goes_on_until_nobody_spoke_for_two_hours() {
    let world = ChatWorld::new(Manner::Answer).await;
    for minutes in [0, 119, 119] {
        world.world.clock.advance(Duration::from_mins(minutes));
        world.ask(MODEL, "hello").await.unwrap();
    }
    assert_eq!(world.threads().await.len(), 1);

    world.world.clock.advance(Duration::from_hours(2));
    world.ask(MODEL, "a new day").await.unwrap();

    assert_eq!(world.threads().await.len(), 2);
    assert_eq!(world.stored_texts().await[0], turn("user", "a new day"));
}

async fn projects_have_threads_of_their_own() {
    let world = ChatWorld::new(Manner::Answer).await;
    let projects = Projects::new(world.world.store.clone(), world.world.clock.clone());
    let create = CreateProject {
        display_name: "Loom".to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    let loom = projects.create(&world.world.bob, create).await.unwrap();
    world.ask(MODEL, "in the default project").await.unwrap();

    let call = ChatCall { project: Some("loom".to_owned()), ..world.call() };
    world.chat.complete(call, request(MODEL, "in the loom")).await.unwrap();

    let of_loom = ThreadQuery { project: Some("loom".to_owned()), ..ThreadQuery::default() };
    let of_loom = world.chat.thread_list(&world.world.bob, of_loom).await.unwrap().items;
    assert_eq!(world.threads().await.len(), 2);
    assert_eq!(of_loom.len(), 1);
    assert_eq!(of_loom[0].project_id, loom.id);
}

async fn a_new_thread_is_the_one_that_goes_on() {
    let world = ChatWorld::new(Manner::Answer).await;
    world.ask(MODEL, "old").await.unwrap();
    let request = CreateThread { title: Some(" about looms ".to_owned()), project: None };

    let made = world.chat.thread_create(&world.world.bob, request).await.unwrap();
    world.ask(MODEL, "new").await.unwrap();

    assert_eq!(made.title.as_deref(), Some("about looms"));
    assert_eq!(world.threads().await[0].id, made.id);
    assert_eq!(world.stored_texts().await[0], turn("user", "new"));
}

async fn nobody_else_sees_a_thread_administrators_included() {
    let world = ChatWorld::new(Manner::Answer).await;
    world.ask(MODEL, "private").await.unwrap();
    let thread = world.threads().await[0].id;
    let (chat, admin) = (&world.chat, &world.world.admin);
    let hello = AppendMessage { role: "user".to_owned(), content: "hello".to_owned() };

    let get = chat.thread_get(admin, thread).await.unwrap_err();
    let read = chat.thread_messages(admin, thread, &PageQuery::default()).await.unwrap_err();
    let append = chat.thread_append(admin, thread, hello).await.unwrap_err();
    let listed = chat.thread_list(admin, ThreadQuery::default()).await.unwrap();

    for refused in [get, read, append] {
        assert!(matches!(refused, ThreadError::NotFound(id) if id == thread), "{refused}");
    }
    assert!(listed.items.is_empty());
}

async fn what_is_appended_is_kept_without_secrets_and_from_the_user_only() {
    let world = ChatWorld::new(Manner::Answer).await;
    let made = world.chat.thread_create(&world.world.bob, CreateThread::default()).await.unwrap();
    let append = |role: &str, content: &str| {
        let body = AppendMessage { role: role.to_owned(), content: content.to_owned() };
        world.chat.thread_append(&world.world.bob, made.id, body)
    };

    let kept = append("user", "password=hunter22").await.unwrap();
    let forged = append("assistant", "I promise").await.unwrap_err();
    let empty = append("user", "  ").await.unwrap_err();

    assert_eq!(kept.content, "password=SECRET_REDACTED");
    assert!(matches!(forged, ThreadError::Invalid(_)) && matches!(empty, ThreadError::Invalid(_)));
    assert_eq!(world.stored_texts().await, [turn("user", "password=SECRET_REDACTED")]);
    let nowhere = ThreadId::generate();
    let missing = world.chat.thread_get(&world.world.bob, nowhere).await.unwrap_err();
    assert!(matches!(missing, ThreadError::NotFound(_)));
}

async fn first_turns_at_the_same_moment_share_one_thread() {
    let world = ChatWorld::new(Manner::Answer).await;

    let turns = (0..8).map(|_| world.ask(MODEL, "hello"));
    for answer in futures_util::future::join_all(turns).await {
        answer.unwrap();
    }

    assert_eq!(world.threads().await.len(), 1);
    assert_eq!(world.stored_messages().await.len(), 16);
}
