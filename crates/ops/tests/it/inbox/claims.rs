//! Claims of reports: each is processed once, whatever ends its inbox meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_ops::inbox::InboxOptions;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::ListedProfiles;
use cynode_testkit::query;
use cynode_wire::apmas::MessageQuery;

use super::{ScriptedInboxManager, inbox};
use crate::engines::on_each_engine;
use crate::team::Team;

on_each_engine! {
    two_inboxes_of_one_database_hand_each_report_over_once,
    a_report_that_ends_whoever_deals_with_it_is_given_up_with_the_reason,
    a_report_in_hand_when_its_orchestrator_stops_does_not_count_as_begun,
    a_panic_over_a_report_ends_neither_the_inbox_nor_the_report,
    reports_of_a_closed_task_are_not_looked_at_again,
    a_report_whose_handoff_is_lost_is_processed_by_another_inbox,
}

/// Leases that expire at once, and no backoff.
fn brief() -> InboxOptions {
    InboxOptions { lease: Duration::from_millis(5), pause: Duration::ZERO, at_once: 8 }
}

async fn a_report_whose_handoff_is_lost_is_processed_by_another_inbox() {
    let (team, manager) = (Team::new().await, Arc::new(ScriptedInboxManager::default()));
    *manager.dies.lock().unwrap() = 1;
    team.messages.send_report(&team.agent(), team.done("one")).await.unwrap();

    let patient = InboxOptions { pause: Duration::from_hours(1), ..InboxOptions::default() };
    inbox(&team, &manager).with(patient).process_waiting().await.unwrap();
    let waiting = team.inbox().await.len();
    // The backoff is over, and only the database state is left of the first attempt.
    query(&team.world.database.url, "UPDATE agent_messages SET claimed_until = NULL").await;
    inbox(&team, &manager).process_waiting().await.unwrap();

    assert_eq!(waiting, 1);
    assert_eq!(*manager.heard.lock().unwrap(), ["one"]);
    assert!(team.inbox().await.is_empty());
}

async fn two_inboxes_of_one_database_hand_each_report_over_once() {
    let team = Team::new().await;
    let manager = Arc::new(ScriptedInboxManager { waits: true, ..ScriptedInboxManager::default() });
    team.messages.send_report(&team.agent(), team.done("one")).await.unwrap();
    let patient = InboxOptions { lease: Duration::from_hours(1), ..InboxOptions::default() };
    let (one, two) = (inbox(&team, &manager).with(patient), inbox(&team, &manager).with(patient));

    let second = async {
        manager.begun.notified().await;
        two.process_waiting().await.unwrap();
        manager.may_answer.notify_one();
    };
    let (first, ()) = tokio::join!(one.process_waiting(), second);

    first.unwrap();
    assert_eq!(*manager.heard.lock().unwrap(), ["one"]);
    assert!(team.inbox().await.is_empty());
}

async fn a_report_in_hand_when_its_orchestrator_stops_does_not_count_as_begun() {
    let team = Team::new().await;
    let manager = Arc::new(ScriptedInboxManager { waits: true, ..ScriptedInboxManager::default() });
    team.messages.send_report(&team.agent(), team.done("one")).await.unwrap();
    // More often than the attempt limit.
    for _ in 0..7 {
        let shutdown = Shutdown::new();
        let stop = async {
            manager.begun.notified().await;
            shutdown.trigger();
        };
        tokio::join!(inbox(&team, &manager).run(shutdown.clone()), stop);
    }
    let waiting = team.inbox().await.len();

    let patient = Arc::new(ScriptedInboxManager::default());
    inbox(&team, &patient).process_waiting().await.unwrap();

    assert_eq!((waiting, manager.heard.lock().unwrap().len()), (1, 7));
    assert_eq!(*patient.heard.lock().unwrap(), ["one"]);
    assert!(team.inbox().await.is_empty());
}

async fn a_panic_over_a_report_ends_neither_the_inbox_nor_the_report() {
    let team = Team::new().await;
    let manager =
        Arc::new(ScriptedInboxManager { panics: Mutex::new(2), ..ScriptedInboxManager::default() });
    team.messages.send_report(&team.agent(), team.done("one")).await.unwrap();
    let brief = brief();

    let inbox = inbox(&team, &manager).with(brief);
    while !team.inbox().await.is_empty() {
        inbox.process_waiting().await.unwrap();
    }

    assert_eq!(*manager.heard.lock().unwrap(), ["one"]);
}

async fn a_report_that_ends_whoever_deals_with_it_is_given_up_with_the_reason() {
    let team = Team::new().await;
    let manager = Arc::new(ScriptedInboxManager { waits: true, ..ScriptedInboxManager::default() });
    team.messages.send_report(&team.agent(), team.done("one")).await.unwrap();
    let brief = brief();
    let given_up = async || {
        let query = MessageQuery { unprocessed: true, ..MessageQuery::default() };
        let (task, profiles) = (Some(team.task), ListedProfiles::All);
        let page = team.messages.list(&team.world.bob, None, task, profiles, query).await.unwrap();
        page.items[0].given_up.clone()
    };

    let why = loop {
        let inbox = inbox(&team, &manager).with(brief);
        tokio::select! {
            dealt = inbox.process_waiting() => dealt.unwrap(),
            // The orchestrator dies while it processes the report.
            () = manager.begun.notified() => {}
        }
        if let Some(why) = given_up().await {
            break why;
        }
    };

    assert!(why.contains("5 unfinished attempts"), "{why}");
    assert_eq!(manager.heard.lock().unwrap().len(), 5);
}

async fn reports_of_a_closed_task_are_not_looked_at_again() {
    let (team, manager) = (Team::new().await, Arc::new(ScriptedInboxManager::default()));
    team.messages.send_report(&team.agent(), team.done("one")).await.unwrap();
    team.tasks.cancel(&team.world.bob, &team.task.into()).await.unwrap();

    inbox(&team, &manager).process_waiting().await.unwrap();

    assert!(manager.heard.lock().unwrap().is_empty());
    assert!(team.inbox().await.is_empty());
}
