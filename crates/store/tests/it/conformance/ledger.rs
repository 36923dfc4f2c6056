//! Tests of appended rows, which are written together and never change.

use cynode_domain::ids::{ChatMessageId, ThreadId};
use cynode_domain::policy::Effect;
use cynode_store::{
    AppendRows, EgressDecision, Entry, Error, InferenceFilter, Store, ThreadMessage,
};
use futures_util::future::join_all;
use serde_json::json;

use super::chat::{insert_thread, record};
use super::egress::call;
use crate::world::{World, at};

pub(crate) async fn entries_of_every_kind_read_back_as_they_were_entered(store: Store) {
    let world = World::new(store).await;
    let (user, (thread, _)) = (world.user, insert_thread(&world, 1).await);
    let (first, second) = (message(thread, "hello"), message(thread, "hi"));
    let (turn, call_row) = (record(user, world.project), call(user, None, Some(3)));
    let decided = EgressDecision {
        call: call_row.id,
        at: at(1),
        agent: None,
        user,
        task: None,
        resource: "here/chat".to_owned(),
        decision: Effect::Allow,
        reason: "rule 1".to_owned(),
        credential: None,
        trace_id: "t".to_owned(),
    };
    let entries = vec![
        Entry::InferenceCall(call_row.clone()),
        Entry::ThreadMessage(first.clone()),
        Entry::ChatRecord(turn.clone()),
        Entry::EgressDecision(decided.clone()),
        Entry::ThreadMessage(second.clone()),
    ];

    world.store.batch(AppendRows(entries)).await.unwrap();
    world.store.batch(AppendRows(vec![])).await.unwrap();

    let (filter, id) = (InferenceFilter::default(), call_row.id);
    assert_eq!(
        read_tx!(world.store, tx => tx.thread_message_tail(thread, 9).await),
        [first, second]
    );
    assert_eq!(read_tx!(world.store, tx => tx.chat_record_list(user, None, 9).await), [turn]);
    assert_eq!(read_tx!(world.store, tx => tx.inference_list(&filter, None, 9).await), [call_row]);
    assert_eq!(read_tx!(world.store, tx => tx.egress_decision_list(id).await), [decided]);
}

pub(crate) async fn entries_that_many_add_at_once_are_all_kept(store: Store) {
    let world = World::new(store).await;
    let (user, (thread, _)) = (world.user, insert_thread(&world, 1).await);
    let texts: Vec<String> = (0..200).map(|number| format!("m{number:03}")).collect();

    let all = texts.iter().map(|text| {
        let said = Entry::ThreadMessage(message(thread, text));
        world.store.batch(AppendRows(vec![said, Entry::ChatRecord(record(user, world.project))]))
    });
    let answers = join_all(all).await;

    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let kept = read_tx!(world.store, tx => tx.thread_messages(thread, None, 999).await);
    let kept: Vec<&str> = kept.iter().map(|message| message.content.as_str()).collect();
    assert_eq!(kept, texts, "in the order of their ids");
    assert_eq!(read_tx!(world.store, tx => tx.chat_record_list(user, None, 999).await).len(), 200);
}

pub(crate) async fn entries_that_cannot_be_kept_are_nobody_else_s_loss(store: Store) {
    let world = World::new(store).await;
    let (user, (thread, _)) = (world.user, insert_thread(&world, 1).await);
    let turn = || Entry::ChatRecord(record(user, world.project));
    let twice = message(thread, "twice");
    let good =
        (0..20).map(|number| vec![Entry::ThreadMessage(message(thread, &format!("m{number}")))]);
    let bad = [
        vec![turn(), Entry::ThreadMessage(message(ThreadId::generate(), "nowhere"))],
        vec![turn(), Entry::ThreadMessage(message(thread, "a\0b"))],
        vec![turn(), Entry::ThreadMessage(twice.clone()), Entry::ThreadMessage(twice)],
    ];
    let all = good.chain(bad).map(|entries| world.store.batch(AppendRows(entries)));

    let answers = join_all(all).await;

    assert!(answers[..20].iter().all(Result::is_ok), "{answers:?}");
    assert!(matches!(answers[20], Err(Error::Statement(_))), "{:?}", answers[20]);
    assert!(matches!(answers[21], Err(Error::NulCharacter)), "{:?}", answers[21]);
    assert!(matches!(answers[22], Err(Error::Duplicate { .. })), "{:?}", answers[22]);
    assert_eq!(read_tx!(world.store, tx => tx.thread_message_tail(thread, 99).await).len(), 20);
    let turns = read_tx!(world.store, tx => tx.chat_record_list(user, None, 9).await);
    assert_eq!(turns, [], "what was entered with them is not kept either");
}

pub(crate) fn message(thread: ThreadId, content: &str) -> ThreadMessage {
    ThreadMessage {
        id: ChatMessageId::generate(),
        thread,
        role: "user".to_owned(),
        content: content.to_owned(),
        is_partial: false,
        metadata: json!({}),
        turn: None,
        created_at: at(3),
    }
}
