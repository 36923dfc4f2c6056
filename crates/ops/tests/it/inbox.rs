//! Reports of agents on their way to the project manager.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_ops::Signals;
use cynode_ops::handoff::{ChatEvents, HandoffError, HandoffOptions, Handoffs, ProjectManager};
use cynode_ops::inbox::Inbox;
use cynode_wire::handoff::HandoffKind;
use serde_json::{Value, json};

use crate::team::Team;

/// Deals with reports, unless it goes away first.
#[derive(Default)]
struct Manager {
    heard: Mutex<Vec<String>>,
    /// How many reports it is yet to die of.
    dies: Mutex<u32>,
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
        let mut dies = self.dies.lock().unwrap();
        if *dies > 0 {
            *dies -= 1;
            return Err(HandoffError::Lost("killed".to_owned()));
        }
        let words = handoff["body"]["report"]["payload"]["summary"].as_str().unwrap();
        self.heard.lock().unwrap().push(words.to_owned());
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

#[tokio::test]
async fn reports_are_dealt_with_once_oldest_first_and_what_needs_a_person_waits() {
    let (team, manager) = (Team::new().await, Arc::new(Manager::default()));
    let dev = team.agent();
    for words in ["one", "two"] {
        team.messages.report(&dev, team.done(words)).await.unwrap();
    }
    let question = json!({ "question": "which colour?" });
    team.messages.report(&dev, team.report("request_human_input", question)).await.unwrap();

    let mut inbox = inbox(&team, &manager);
    inbox.activate().await.unwrap();
    inbox.activate().await.unwrap();

    assert_eq!(*manager.heard.lock().unwrap(), ["one", "two"]);
    let left = team.inbox().await;
    assert_eq!(left, [("developer".to_owned(), "request_human_input".to_owned())]);
}

#[tokio::test]
async fn a_report_whose_manager_was_killed_is_dealt_with_after_a_restart() {
    let (team, manager) = (Team::new().await, Arc::new(Manager::default()));
    *manager.dies.lock().unwrap() = 1;
    team.messages.report(&team.agent(), team.done("one")).await.unwrap();

    let killed = inbox(&team, &manager).activate().await;
    let waiting = team.inbox().await.len();
    // Nothing of the first is left but what the database holds.
    inbox(&team, &manager).activate().await.unwrap();

    assert!(matches!(killed, Err(HandoffError::Lost(_))), "{killed:?}");
    assert_eq!(waiting, 1);
    assert_eq!(*manager.heard.lock().unwrap(), ["one"]);
    assert!(team.inbox().await.is_empty());
}
