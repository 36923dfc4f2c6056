//! Tests of messages between agents and the project manager.

use cynode_domain::agent::MessageKind;
use cynode_domain::ids::{MessageId, TaskId};
use cynode_store::{
    AgentMessage, AttemptStarted, ClaimedReport, MessageFilter, MessageOrder, NewAgentMessage,
    Store,
};
use futures_util::future::join_all;
use serde_json::json;

use super::task_agents::agent;
use crate::world::{World, at};

fn report(task: TaskId, key: &str) -> NewAgentMessage {
    NewAgentMessage {
        id: MessageId::generate(),
        task,
        agent: None,
        sender: "developer".to_owned(),
        recipient: "pm".to_owned(),
        kind: MessageKind::Report,
        subtype: "work_completed".to_owned(),
        component: Some("auth".to_owned()),
        work_unit: Some("impl:auth".to_owned()),
        content: "done: ü".to_owned(),
        payload: json!({ "summary": "done" }),
        idempotency_key: key.to_owned(),
        created_at: at(1),
    }
}

fn instruction(task: TaskId, key: &str) -> NewAgentMessage {
    NewAgentMessage {
        sender: "pm".to_owned(),
        recipient: "developer".to_owned(),
        kind: MessageKind::Instruction,
        subtype: "revise".to_owned(),
        ..report(task, key)
    }
}

async fn add(store: &Store, message: &NewAgentMessage) -> bool {
    let message = message.clone();
    write_tx!(store, tx => tx.message_insert(&message).await)
}

async fn ids(store: &Store, filter: MessageFilter) -> Vec<MessageId> {
    let found = read_tx!(store, tx => tx.message_list(&filter).await);
    found.into_iter().map(|message| message.sent.id).collect()
}

pub(crate) async fn a_message_reads_back_as_it_was_sent(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let sender = agent(task, "developer");
    let sent = NewAgentMessage { agent: Some(sender.id), ..report(task, "k") };
    write_tx!(world.store, tx => tx.agent_insert(&sender).await);
    assert!(add(&world.store, &sent).await);

    let id = sent.id;
    let found = read_tx!(world.store, tx => tx.message_get(id).await);
    let by_key = read_tx!(world.store, tx => tx.message_by_key(task, "developer", "k").await);

    let whole = AgentMessage::new(sent);
    assert_eq!((found, by_key), (Some(whole.clone()), Some(whole)));
}

pub(crate) async fn a_key_makes_one_message_of_each_sender_on_each_task(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("t").await, world.task("u").await);

    assert!(add(&world.store, &report(task, "k")).await);
    assert!(!add(&world.store, &report(task, "k")).await);
    assert!(add(&world.store, &instruction(task, "k")).await, "another sender");
    assert!(add(&world.store, &report(other, "k")).await, "another task");
}

pub(crate) async fn messages_are_listed_under_every_filter_from_either_end(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("t").await, world.task("u").await);
    let sent = [report(task, "1"), instruction(task, "2"), report(other, "3")];
    for message in &sent {
        add(&world.store, message).await;
    }
    let stranger = world.other_user("bob").await;
    let all = || MessageFilter { limit: 10, ..MessageFilter::default() };
    let [one, two, three] = [sent[0].id, sent[1].id, sent[2].id];

    assert_eq!(ids(&world.store, all()).await, [three, two, one]);
    let oldest = MessageFilter { order: MessageOrder::OldestFirst, ..all() };
    assert_eq!(ids(&world.store, oldest.clone()).await, [one, two, three]);
    let after = MessageFilter { after: Some(one), limit: 1, ..oldest };
    assert_eq!(ids(&world.store, after).await, [two]);
    let before = MessageFilter { after: Some(three), ..all() };
    assert_eq!(ids(&world.store, before).await, [two, one]);
    let of_task = MessageFilter { task: Some(task), ..all() };
    assert_eq!(ids(&world.store, of_task).await, [two, one]);
    let instructed = MessageFilter { kind: Some(MessageKind::Instruction), ..all() };
    assert_eq!(ids(&world.store, instructed).await, [two]);
    let of_pm = MessageFilter { role: Some("pm".to_owned()), ..all() };
    assert_eq!(ids(&world.store, of_pm).await, [three, two, one], "sent or received");
    assert_eq!(ids(&world.store, MessageFilter { owner: Some(stranger), ..all() }).await, []);
    let own = MessageFilter { owner: Some(world.user), project: Some(world.project), ..all() };
    assert_eq!(ids(&world.store, own).await.len(), 3);
}

pub(crate) async fn a_processed_message_waits_no_longer_and_keeps_its_first_mark(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let (one, two) = (report(task, "1"), report(task, "2"));
    let instructed = instruction(task, "3");
    for message in [&one, &two, &instructed] {
        add(&world.store, message).await;
    }
    let waiting = || MessageFilter { is_unprocessed: true, limit: 9, ..MessageFilter::default() };
    assert_eq!(ids(&world.store, waiting()).await, [two.id, one.id], "to the manager only");
    let (id, instruction) = (one.id, instructed.id);

    assert!(write_tx!(world.store, tx => tx.message_mark_processed(id, at(5)).await));
    assert!(!write_tx!(world.store, tx => tx.message_mark_processed(id, at(6)).await));
    assert!(!write_tx!(world.store, tx => tx.message_mark_processed(instruction, at(6)).await));

    assert_eq!(ids(&world.store, waiting()).await, [two.id]);
    let found = read_tx!(world.store, tx => tx.message_get(id).await).unwrap();
    assert_eq!(found.processed_at, Some(at(5)));
}

pub(crate) async fn an_instruction_is_delivered_once_and_pending_until_acknowledged(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let (one, two) = (instruction(task, "1"), instruction(task, "2"));
    add(&world.store, &one).await;
    add(&world.store, &two).await;
    let (first, second) = (one.id, two.id);
    let pending = async |limit| -> Vec<MessageId> {
        let found = read_tx!(world.store, tx => tx.message_pending(task, "developer", limit).await);
        found.into_iter().map(|message| message.sent.id).collect()
    };

    write_tx!(world.store, tx => tx.message_deliver(first, at(3)).await);
    write_tx!(world.store, tx => tx.message_deliver(first, at(4)).await);
    assert_eq!(pending(9).await, [second, first], "undelivered instructions come first");
    assert_eq!(pending(1).await, [second]);

    let stranger =
        write_tx!(world.store, tx => tx.message_acknowledge(task, "tester", first, at(5)).await);
    let own =
        write_tx!(world.store, tx => tx.message_acknowledge(task, "developer", first, at(5)).await);
    let again =
        write_tx!(world.store, tx => tx.message_acknowledge(task, "developer", first, at(6)).await);

    assert_eq!((stranger, own, again), (false, true, false));
    assert_eq!(pending(9).await, [second]);
    let found = read_tx!(world.store, tx => tx.message_get(first).await).unwrap();
    assert_eq!((found.delivered_at, found.acknowledged_at), (Some(at(3)), Some(at(5))));
    assert_eq!(read_tx!(world.store, tx => tx.message_count_to(task, "developer").await), 2);
}

const LONG_MS: i64 = 60_000;

/// Claims the oldest message that waits for the project manager.
async fn claimed(store: &Store) -> Option<ClaimedReport> {
    write_tx!(store, tx => tx.report_claim(LONG_MS, &[]).await)
}

pub(crate) async fn a_report_is_claimed_by_one_and_only_the_last_claim_counts(store: Store) {
    let world = World::new(store).await;
    let sent = report(world.task("t").await, "1");
    add(&world.store, &sent).await;

    let all = join_all((0..8).map(|_| claimed(&world.store))).await;
    let mut all: Vec<_> = all.into_iter().flatten().collect();
    assert_eq!(all.len(), 1, "{all:?}");
    let first = all.remove(0);
    assert_eq!((first.message.sent.id, first.attempts), (sent.id, 1));
    let claim = first.claim;
    assert!(write_tx!(world.store, tx => tx.report_release(claim, 0, AttemptStarted::Yes).await));
    let second = claimed(&world.store).await.unwrap();
    assert_eq!(second.attempts, 2);
    let kept = second.claim;

    assert!(!write_tx!(world.store, tx => tx.report_extend(claim, LONG_MS).await), "it is lost");
    assert!(!write_tx!(world.store, tx => tx.report_complete(claim, at(5)).await));
    assert!(write_tx!(world.store, tx => tx.report_extend(kept, LONG_MS).await));
    assert!(write_tx!(world.store, tx => tx.report_complete(kept, at(5)).await));
    assert!(!write_tx!(world.store, tx => tx.report_complete(kept, at(6)).await));
    assert_eq!(claimed(&world.store).await, None);
}

pub(crate) async fn reports_of_a_task_are_claimed_one_after_the_other(store: Store) {
    let world = World::new(store).await;
    let (task, other) = (world.task("t").await, world.task("u").await);
    let asks = NewAgentMessage { kind: MessageKind::Help, ..report(task, "0") };
    let sent = [report(task, "1"), report(task, "2"), report(other, "3")];
    for message in [&asks].into_iter().chain(&sent) {
        add(&world.store, message).await;
    }
    let asking = asks.id;
    assert!(write_tx!(world.store, tx => tx.message_escalate(asking, "only you know").await));

    let first = claimed(&world.store).await.unwrap();
    let elsewhere = claimed(&world.store).await.unwrap();

    assert_eq!(
        first.message.sent.id, sent[0].id,
        "a message that is left to a person is not claimed"
    );
    assert_eq!(elsewhere.message.sent.id, sent[2].id);
    assert_eq!(claimed(&world.store).await, None);
    let claim = first.claim;
    write_tx!(world.store, tx => tx.report_complete(claim, at(5)).await);
    assert_eq!(claimed(&world.store).await.map(|next| next.message.sent.id), Some(sent[1].id));
}

pub(crate) async fn of_many_who_claim_reports_of_a_task_at_once_one_gets_the_first(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let sent: Vec<_> = (0..20).map(|n| report(task, &n.to_string())).collect();
    for message in &sent {
        add(&world.store, message).await;
    }

    for message in &sent {
        let all = join_all((0..8).map(|_| claimed(&world.store))).await;

        let all: Vec<_> = all.into_iter().flatten().collect();
        let ids: Vec<_> = all.iter().map(|claimed| claimed.message.sent.id).collect();
        assert_eq!(ids, [message.id]);
        let claim = all[0].claim;
        write_tx!(world.store, tx => tx.report_complete(claim, at(5)).await);
    }
}

pub(crate) async fn a_report_that_is_given_up_says_why_and_is_claimed_no_more(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let sent = report(task, "1");
    add(&world.store, &sent).await;
    let away = claimed(&world.store).await.unwrap().claim;
    assert!(write_tx!(world.store, tx => tx.report_release(away, 0, AttemptStarted::No).await));
    let again = claimed(&world.store).await.unwrap();
    assert_eq!(again.attempts, 1, "an unavailable manager is not an attempt");
    let (claim, id) = (again.claim, sent.id);

    assert!(write_tx!(world.store, tx => tx.report_abandon(claim, "it died of it").await));

    assert_eq!(claimed(&world.store).await, None);
    let found = read_tx!(world.store, tx => tx.message_get(id).await).unwrap();
    assert_eq!(
        (found.abandon_reason.as_deref(), found.processed_at),
        (Some("it died of it"), None)
    );
}

pub(crate) async fn a_message_left_to_a_person_waits_until_it_is_answered_once(store: Store) {
    let world = World::new(store).await;
    let task = world.task("t").await;
    let (asks, other) = (report(task, "1"), report(task, "2"));
    add(&world.store, &asks).await;
    add(&world.store, &other).await;
    let waiting = || MessageFilter { waits_for_person: true, limit: 9, ..MessageFilter::default() };
    assert_eq!(ids(&world.store, waiting()).await, []);
    let first = claimed(&world.store).await.unwrap();
    assert_eq!(first.message.sent.id, asks.id);
    let (claim, id) = (first.claim, asks.id);

    assert!(write_tx!(world.store, tx => tx.report_escalate(claim, "which colour?").await));
    assert!(!write_tx!(world.store, tx => tx.report_escalate(claim, "again").await));

    assert_eq!(ids(&world.store, waiting()).await, [id]);
    let next = claimed(&world.store).await.unwrap();
    assert_eq!(next.message.sent.id, other.id, "the next message of the task is not held up");
    let given_up = next.claim;
    assert!(write_tx!(world.store, tx => tx.report_abandon(given_up, "it failed").await));
    assert_eq!(ids(&world.store, waiting()).await, [other.id, id], "so do those given up");
    assert!(write_tx!(world.store, tx => tx.message_answer(id, "ada", at(7)).await));
    assert!(!write_tx!(world.store, tx => tx.message_answer(id, "bob", at(8)).await));
    assert_eq!(ids(&world.store, waiting()).await, [other.id]);
    let found = read_tx!(world.store, tx => tx.message_get(id).await).unwrap();
    assert_eq!(
        (found.escalation_reason.as_deref(), found.answered_by.as_deref(), found.processed_at),
        (Some("which colour?"), Some("ada"), Some(at(7)))
    );
}
