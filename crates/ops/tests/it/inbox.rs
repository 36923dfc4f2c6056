//! Reports of agents on their way to the project manager.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_ops::Signals;
use cynode_ops::handoff::{ChatEvents, HandoffError, HandoffOptions, Handoffs, ProjectManager};
use cynode_ops::inbox::{Inbox, InboxOptions};
use cynode_runtime::shutdown::Shutdown;
use cynode_testkit::query;
use cynode_wire::apmas::MessageQuery;
use cynode_wire::handoff::HandoffKind;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::engines::on_each_engine;
use crate::team::Team;

on_each_engine! {
    two_inboxes_of_one_database_hand_each_report_over_once,
    a_report_that_ends_whoever_deals_with_it_is_given_up_with_the_reason,
    a_report_in_hand_when_its_orchestrator_stops_does_not_count_as_begun,
    a_panic_over_a_report_ends_neither_the_inbox_nor_the_report,
    reports_of_a_closed_task_are_not_looked_at_again,
    reports_are_dealt_with_once_oldest_first_and_what_needs_a_person_waits,
    a_report_whose_manager_was_killed_is_dealt_with_after_a_restart,
}

/// Deals with reports, unless it goes away first.
#[derive(Default)]
struct Manager {
    heard: Mutex<Vec<String>>,
    /// How many reports it is yet to die of.
    dies: Mutex<u32>,
    /// How many reports are yet to bring a fault of ours to light.
    panics: Mutex<u32>,
    /// Whether it waits with a report in its hands until it may answer.
    waits: bool,
    /// Tells that it has a report in its hands.
    begun: Notify,
    may_answer: Notify,
}

#[async_trait]
impl ProjectManager for Manager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn hand(
        &self,
        kind: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        assert_eq!(kind, HandoffKind::AgentReport);
        {
            let mut dies = self.dies.lock().unwrap();
            if *dies > 0 {
                *dies -= 1;
                return Err(HandoffError::Lost("killed".to_owned()));
            }
        }
        {
            let mut panics = self.panics.lock().unwrap();
            if let Some(left) = panics.checked_sub(1) {
                *panics = left;
                drop(panics);
                panic!("a fault of ours");
            }
        }
        let words = handoff["body"]["report"]["payload"]["summary"].as_str().unwrap();
        self.heard.lock().unwrap().push(words.to_owned());
        self.begun.notify_one();
        if self.waits {
            self.may_answer.notified().await;
        }
        Ok(json!({ "summary": "noted" }))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<ChatEvents, HandoffError> {
        Err(HandoffError::Away("only reports here".to_owned()))
    }
}

fn inbox(team: &Team, manager: &Arc<Manager>) -> Inbox {
    let (store, clock) = (team.world.store.clone(), team.world.clock.clone());
    let signals = Signals::new(store.engine());
    let of = (store, clock, signals);
    let handoffs = Handoffs::new(
        (of.0.clone(), of.1.clone(), of.2.clone()),
        manager.clone(),
        HandoffOptions::default(),
    );
    Inbox::new((of.0, of.1, of.2), handoffs)
}

async fn reports_are_dealt_with_once_oldest_first_and_what_needs_a_person_waits() {
    let (team, manager) = (Team::new().await, Arc::new(Manager::default()));
    let dev = team.agent();
    for words in ["one", "two"] {
        team.messages.report(&dev, team.done(words)).await.unwrap();
    }
    let question = json!({ "question": "which colour?" });
    team.messages.report(&dev, team.report("request_human_input", question)).await.unwrap();

    let inbox = inbox(&team, &manager);
    inbox.activate().await.unwrap();
    inbox.activate().await.unwrap();

    assert_eq!(*manager.heard.lock().unwrap(), ["one", "two"]);
    let left = team.inbox().await;
    assert_eq!(left, [("developer".to_owned(), "request_human_input".to_owned())]);
}

async fn a_report_whose_manager_was_killed_is_dealt_with_after_a_restart() {
    let (team, manager) = (Team::new().await, Arc::new(Manager::default()));
    *manager.dies.lock().unwrap() = 1;
    team.messages.report(&team.agent(), team.done("one")).await.unwrap();

    let patient = InboxOptions { pause: Duration::from_hours(1), ..InboxOptions::default() };
    inbox(&team, &manager).with(patient).activate().await.unwrap();
    let waiting = team.inbox().await.len();
    // The pause is over, and nothing of the first is left but what the database holds.
    query(&team.world.database.url, "UPDATE agent_messages SET claimed_until = NULL").await;
    inbox(&team, &manager).activate().await.unwrap();

    assert_eq!(waiting, 1);
    assert_eq!(*manager.heard.lock().unwrap(), ["one"]);
    assert!(team.inbox().await.is_empty());
}

async fn two_inboxes_of_one_database_hand_each_report_over_once() {
    let team = Team::new().await;
    let manager = Arc::new(Manager { waits: true, ..Manager::default() });
    team.messages.report(&team.agent(), team.done("one")).await.unwrap();
    let patient = InboxOptions { lease: Duration::from_hours(1), ..InboxOptions::default() };
    let (one, two) = (inbox(&team, &manager).with(patient), inbox(&team, &manager).with(patient));

    let second = async {
        manager.begun.notified().await;
        two.activate().await.unwrap();
        manager.may_answer.notify_one();
    };
    let (first, ()) = tokio::join!(one.activate(), second);

    first.unwrap();
    assert_eq!(*manager.heard.lock().unwrap(), ["one"]);
    assert!(team.inbox().await.is_empty());
}

async fn a_report_in_hand_when_its_orchestrator_stops_does_not_count_as_begun() {
    let team = Team::new().await;
    let manager = Arc::new(Manager { waits: true, ..Manager::default() });
    team.messages.report(&team.agent(), team.done("one")).await.unwrap();
    // More often than it may be begun.
    for _ in 0..7 {
        let shutdown = Shutdown::new();
        let stop = async {
            manager.begun.notified().await;
            shutdown.trigger();
        };
        tokio::join!(inbox(&team, &manager).run(shutdown.clone()), stop);
    }
    let waiting = team.inbox().await.len();

    let patient = Arc::new(Manager::default());
    inbox(&team, &patient).activate().await.unwrap();

    assert_eq!((waiting, manager.heard.lock().unwrap().len()), (1, 7));
    assert_eq!(*patient.heard.lock().unwrap(), ["one"]);
    assert!(team.inbox().await.is_empty());
}

async fn a_panic_over_a_report_ends_neither_the_inbox_nor_the_report() {
    let team = Team::new().await;
    let manager = Arc::new(Manager { panics: Mutex::new(2), ..Manager::default() });
    team.messages.report(&team.agent(), team.done("one")).await.unwrap();
    let brief = InboxOptions { lease: Duration::from_millis(5), pause: Duration::ZERO };

    let inbox = inbox(&team, &manager).with(brief);
    while !team.inbox().await.is_empty() {
        inbox.activate().await.unwrap();
    }

    assert_eq!(*manager.heard.lock().unwrap(), ["one"]);
}

async fn a_report_that_ends_whoever_deals_with_it_is_given_up_with_the_reason() {
    let team = Team::new().await;
    let manager = Arc::new(Manager { waits: true, ..Manager::default() });
    team.messages.report(&team.agent(), team.done("one")).await.unwrap();
    let brief = InboxOptions { lease: Duration::from_millis(5), pause: Duration::ZERO };
    let given_up = async || {
        let query = MessageQuery { unprocessed: true, ..MessageQuery::default() };
        let within = (None, Some(team.task));
        let page = team.messages.list(&team.world.bob, within, query).await.unwrap();
        page.items[0].given_up.clone()
    };

    let why = loop {
        let inbox = inbox(&team, &manager).with(brief);
        tokio::select! {
            dealt = inbox.activate() => dealt.unwrap(),
            // The orchestrator dies with the report in its hands.
            () = manager.begun.notified() => {}
        }
        if let Some(why) = given_up().await {
            break why;
        }
    };

    assert!(why.contains("5 times"), "{why}");
    assert_eq!(manager.heard.lock().unwrap().len(), 5);
}

async fn reports_of_a_closed_task_are_not_looked_at_again() {
    let (team, manager) = (Team::new().await, Arc::new(Manager::default()));
    team.messages.report(&team.agent(), team.done("one")).await.unwrap();
    team.tasks.cancel(&team.world.bob, &team.task.to_string()).await.unwrap();

    inbox(&team, &manager).activate().await.unwrap();

    assert!(manager.heard.lock().unwrap().is_empty());
    assert!(team.inbox().await.is_empty());
}
