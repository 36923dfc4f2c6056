//! Tests of chat threads and the records of chat requests.

use cynode_domain::ids::{ChatMessageId, ChatTurnId, ProjectId, ThreadId, UserId};
use cynode_domain::preference::Scope;
use cynode_store::{ChatRecord, DefaultProjectContext, Project, Store, Thread, ThreadMessage};
use serde_json::json;

use super::ledger::message;
use super::preferences::preference;
use crate::world::{World, at, project};

pub(crate) async fn a_thread_reads_back_and_grows_younger_with_what_is_said(store: Store) {
    let world = World::new(store).await;
    let (id, made) = insert_thread(&world, 1).await;
    assert_eq!(read_tx!(world.store, tx => tx.thread_get(id).await), Some(made.clone()));

    insert_message(&world, id, "hello", 7).await;

    let expected = Thread { updated_at: at(7), ..made };
    assert_eq!(read_tx!(world.store, tx => tx.thread_get(id).await), Some(expected));
    let unknown = ThreadId::generate();
    assert_eq!(read_tx!(world.store, tx => tx.thread_get(unknown).await), None);
}

pub(crate) async fn a_number_is_taken_once_for_a_user_and_project(store: Store) {
    let world = World::new(store).await;
    let (first, _) = insert_thread(&world, 1).await;
    let again = thread(world.user, world.project, 1);
    let (user, project) = (world.user, world.project);

    assert!(!write_tx!(world.store, tx => tx.thread_insert(&again).await));

    let latest = read_tx!(world.store, tx => tx.thread_latest(user, project).await).unwrap();
    assert_eq!(latest.id, first);
    let bob = world.other_user("bob").await;
    let of_bob = thread(bob, project, 1);
    assert!(write_tx!(world.store, tx => tx.thread_insert(&of_bob).await));
}

pub(crate) async fn the_thread_with_the_highest_number_goes_on(store: Store) {
    let world = World::new(store).await;
    let (user, project) = (world.user, world.project);
    let latest = read_tx!(world.store, tx => tx.thread_latest(user, project).await);
    assert_eq!(latest, None);

    insert_thread(&world, 9).await;
    let (second, _) = insert_thread(&world, 10).await;

    let latest = read_tx!(world.store, tx => tx.thread_latest(user, project).await).unwrap();
    assert_eq!(latest.id, second);
}

pub(crate) async fn threads_are_paged_newest_first_for_their_user_alone(store: Store) {
    let world = World::new(store).await;
    let (user, project) = (world.user, world.project);
    let bob = world.other_user("bob").await;
    let of_bob = thread(bob, project, 1);
    write_tx!(world.store, tx => tx.thread_insert(&of_bob).await);
    for number in 1..=3 {
        insert_thread(&world, number).await;
    }
    let numbers = |page: &[Thread]| page.iter().map(|thread| thread.number).collect::<Vec<_>>();

    let page = read_tx!(world.store, tx => tx.thread_list(user, None, None, 2).await);
    let last = page.last().map(|thread| thread.id);
    let rest = read_tx!(world.store, tx => tx.thread_list(user, Some(project), last, 2).await);
    let other = ProjectId::generate();
    let none = read_tx!(world.store, tx => tx.thread_list(user, Some(other), None, 2).await);

    assert_eq!(numbers(&page), [3, 2]);
    assert_eq!(numbers(&rest), [1]);
    assert!(none.is_empty());
}

pub(crate) async fn the_tail_of_a_thread_is_its_newest_messages_in_order(store: Store) {
    let world = World::new(store).await;
    let (id, _) = insert_thread(&world, 1).await;
    let (other, _) = insert_thread(&world, 2).await;
    for number in 0..5 {
        insert_message(&world, id, &format!("m{number}"), number).await;
    }
    insert_message(&world, other, "elsewhere", 9).await;
    let said = |page: &[ThreadMessage]| page.iter().map(|m| m.content.clone()).collect::<Vec<_>>();

    let tail = read_tx!(world.store, tx => tx.thread_message_tail(id, 3).await);
    let page = read_tx!(world.store, tx => tx.thread_messages(id, None, 2).await);
    let last = page.last().map(|message| message.id);
    let rest = read_tx!(world.store, tx => tx.thread_messages(id, last, 10).await);

    assert_eq!(said(&tail), ["m2", "m3", "m4"]);
    assert_eq!(said(&page), ["m0", "m1"]);
    assert_eq!(said(&rest), ["m2", "m3", "m4"]);
}

pub(crate) async fn a_message_reads_back_as_it_was_said(store: Store) {
    let world = World::new(store).await;
    let (thread, _) = insert_thread(&world, 1).await;
    let said = ThreadMessage {
        id: ChatMessageId::generate(),
        thread,
        role: "assistant".to_owned(),
        content: "für Straße 日本語\n".to_owned(),
        is_partial: true,
        metadata: json!({"model_id": "cynodeai.pm"}),
        turn: Some(ChatTurnId::generate()),
        created_at: at(4),
    };
    let new = said.clone();

    write_tx!(world.store, tx => tx.thread_message_insert(&new).await);

    assert_eq!(read_tx!(world.store, tx => tx.thread_message_tail(thread, 9).await), [said]);
}

pub(crate) async fn a_turn_is_found_in_its_thread_without_what_was_said_around_it(store: Store) {
    let world = World::new(store).await;
    let ((thread, _), (other, _)) =
        (insert_thread(&world, 1).await, insert_thread(&world, 2).await);
    let (mine, another) = (ChatTurnId::generate(), ChatTurnId::generate());
    let said = [
        (thread, Some(mine), "asked"),
        (thread, None, "beside it"),
        (thread, Some(another), "of another turn"),
        (other, Some(mine), "elsewhere"),
        (thread, Some(mine), "answered"),
    ];
    for (thread, turn, content) in said {
        let new = ThreadMessage { turn, ..message(thread, content) };
        write_tx!(world.store, tx => tx.thread_message_insert(&new).await);
    }

    let found = read_tx!(world.store, tx => tx.thread_turn_messages(thread, mine, 9).await);
    let first = read_tx!(world.store, tx => tx.thread_turn_messages(thread, mine, 1).await);

    let contents: Vec<&str> = found.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(contents, ["asked", "answered"]);
    assert_eq!(first, found[..1]);
}

pub(crate) async fn chat_records_are_listed_newest_first_for_their_user_alone(store: Store) {
    let world = World::new(store).await;
    let (user, bob) = (world.user, world.other_user("bob").await);
    let first = record(user, world.project);
    let second = ChatRecord {
        project: None,
        thread: None,
        outcome: "error".to_owned(),
        error_code: Some("model_not_found".to_owned()),
        redaction_kinds: vec![],
        ..record(user, world.project)
    };
    for new in [first.clone(), second.clone(), record(bob, world.project)] {
        write_tx!(world.store, tx => tx.chat_record_insert(&new).await);
    }

    let all = read_tx!(world.store, tx => tx.chat_record_list(user, None, 9).await);
    let before = Some(second.id);
    let rest = read_tx!(world.store, tx => tx.chat_record_list(user, before, 9).await);

    let every = read_tx!(world.store, tx => tx.chat_record_list_all(None, 9).await);
    let older = read_tx!(world.store, tx => tx.chat_record_list_all(before, 9).await);

    assert_eq!(all, [second, first.clone()]);
    assert_eq!(rest, [first]);
    assert_eq!((every.len(), every[0].user), (3, bob));
    assert_eq!(older, rest);
}

pub(crate) async fn the_place_of_a_chat_is_the_default_project_and_the_thread_that_goes_on(
    store: Store,
) {
    let world = World::new(store).await;
    let user = world.user;
    insert_thread(&world, 7).await;
    assert_eq!(read_tx!(world.store, tx => tx.default_project_context_get(user).await), None);
    let home = Project { is_default: true, ..project("home", user) };
    let (made, home) = (home.clone(), home.id);
    assert!(write_tx!(world.store, tx => tx.project_insert(&made).await));
    let revision = read_tx!(world.store, tx => tx.policy_revision().await);
    let bare = DefaultProjectContext {
        project: home,
        current_thread: None,
        has_preferences: false,
        revision,
    };
    assert_eq!(
        read_tx!(world.store, tx => tx.default_project_context_get(user).await),
        Some(bare.clone())
    );

    let threads = [thread(user, home, 1), thread(user, home, 2)];
    let latest = Thread { updated_at: at(8), ..threads[1].clone() };
    for new in threads {
        assert!(write_tx!(world.store, tx => tx.thread_insert(&new).await));
    }
    insert_message(&world, latest.id, "hello", 8).await;
    write_tx!(world.store, tx => tx.policy_bump_revision().await);

    let found = read_tx!(world.store, tx => tx.default_project_context_get(user).await);
    assert_eq!(
        found,
        Some(DefaultProjectContext {
            current_thread: Some(latest),
            revision: revision + 1,
            ..bare
        })
    );
}

pub(crate) async fn the_place_of_a_chat_tells_whether_there_are_preferences_for_it(store: Store) {
    let world = World::new(store).await;
    let (user, bob) = (world.user, world.other_user("bob").await);
    let home = Project { is_default: true, ..project("home", user) };
    let (made, home) = (home.clone(), home.id);
    assert!(write_tx!(world.store, tx => tx.project_insert(&made).await));
    let of = async |scopes: Vec<Scope>| {
        for scope in &scopes {
            let new = preference(*scope, "a", json!(1));
            write_tx!(world.store, tx => tx.preference_insert(&new).await);
        }
        let found =
            read_tx!(world.store, tx => tx.default_project_context_get(user).await).unwrap();
        for scope in scopes {
            let made = read_tx!(world.store, tx => tx.preference_get(scope, "a").await).unwrap();
            write_tx!(world.store, tx => tx.preference_delete(made.id, 1).await);
        }
        found.has_preferences
    };

    assert!(of(vec![Scope::System]).await);
    assert!(of(vec![Scope::User(user)]).await);
    assert!(of(vec![Scope::Project(home)]).await);
    assert!(!of(vec![Scope::User(bob), Scope::Project(world.project)]).await);
}

pub(crate) async fn insert_thread(world: &World, number: i64) -> (ThreadId, Thread) {
    let thread = thread(world.user, world.project, number);
    let new = thread.clone();
    assert!(write_tx!(world.store, tx => tx.thread_insert(&new).await));
    (thread.id, thread)
}

fn thread(user: UserId, project: ProjectId, number: i64) -> Thread {
    Thread {
        id: ThreadId::generate(),
        user,
        project,
        number,
        title: Some("about looms".to_owned()),
        created_at: at(1),
        updated_at: at(1),
    }
}

async fn insert_message(world: &World, thread: ThreadId, content: &str, seconds: i64) {
    let message = ThreadMessage {
        id: ChatMessageId::generate(),
        thread,
        role: "user".to_owned(),
        content: content.to_owned(),
        is_partial: false,
        metadata: json!({}),
        turn: None,
        created_at: at(seconds),
    };
    write_tx!(world.store, tx => tx.thread_message_insert(&message).await);
}

pub(crate) fn record(user: UserId, project: ProjectId) -> ChatRecord {
    ChatRecord {
        id: ChatTurnId::generate(),
        created_at: at(2),
        user,
        project: Some(project),
        thread: Some(ThreadId::generate()),
        model: "cynodeai.pm".to_owned(),
        outcome: "success".to_owned(),
        error_code: None,
        redaction_kinds: vec!["api_key".to_owned(), "token".to_owned()],
        duration_ms: 12,
        request_id: "trace".to_owned(),
    }
}
