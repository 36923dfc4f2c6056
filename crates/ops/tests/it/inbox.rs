//! Processing of agent reports by the inbox.

mod claims;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::agent::{HelpKind, NoteKind, Progress};
use cynode_domain::ids::UserId;
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::NoProjectManager, handoff::ProjectManager,
};
use cynode_ops::MessageError;
use cynode_ops::{inbox::Inbox, inbox::InboxOptions};
use cynode_resources::{Caller, Signals};
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::apmas::{ReportStatus, ReportToPm, RequestHelp, SendMessage};
use cynode_wire::handoff::HandoffKind;
use cynode_wire::inbox::{AnswerMessage, InboxItem, InboxQuery};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::engines::on_each_engine;
use crate::team::{Team, named};

on_each_engine! {
    a_report_that_hangs_does_not_delay_the_report_of_another_task,
    every_message_leads_to_an_action_or_waits_for_a_person,
    a_person_answers_once_and_the_agent_gets_the_answer_as_an_instruction,
    a_question_to_another_agent_is_passed_on_and_so_is_its_answer,
    without_a_project_manager_questions_wait_for_a_person,
    reports_are_dealt_with_once_oldest_first_and_what_needs_a_person_waits,
}

/// Processes reports, unless it is unreachable first.
#[derive(Default)]
struct ScriptedInboxManager {
    heard: Mutex<Vec<String>>,
    /// How many more reports kill it.
    dies: Mutex<u32>,
    /// How many more reports panic.
    panics: Mutex<u32>,
    /// Whether it withholds its answer until it is released.
    waits: bool,
    /// Notified when it has received a report.
    begun: Notify,
    may_answer: Notify,
}

#[async_trait]
impl ProjectManager for ScriptedInboxManager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
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
                return Err(HandoffError::ConnectionLost("killed".to_owned()));
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
        let payload = &handoff["body"]["report"]["payload"];
        let words = ["summary", "question", "reason"].map(|name| payload[name].as_str());
        let words = words.into_iter().flatten().next().unwrap();
        self.heard.lock().unwrap().push(words.to_owned());
        self.begun.notify_one();
        if self.waits || words == "hang" {
            self.may_answer.notified().await;
        }
        let needs_person = (payload["question"] != Value::Null).then_some("only you know");
        Ok(json!({ "summary": "noted", "needs_person": needs_person }))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("only reports here".to_owned()))
    }
}

fn inbox(team: &Team, manager: &Arc<ScriptedInboxManager>) -> Inbox {
    let (store, clock) = (team.world.store.clone(), team.world.clock.clone());
    let signals = Signals::new(store.engine());
    let of = (store, clock, signals);
    let handoffs = HandoffService::new(
        of.0.clone(),
        of.1.clone(),
        of.2.clone(),
        manager.clone(),
        HandoffOptions::default(),
    );
    Inbox::new(of.0, of.1, of.2, handoffs)
}

/// What waits for bob, as task and content.
async fn waiting(team: &Team) -> Vec<InboxItem> {
    team.messages.waiting(&team.world.bob, InboxQuery::default()).await.unwrap().items
}

async fn a_report_that_hangs_does_not_delay_the_report_of_another_task() {
    let (team, manager) = (Team::new().await, Arc::new(ScriptedInboxManager::default()));
    let other = team.other_task().await;
    let own = |task, summary: &str| ReportToPm { task_id: task, ..team.done(summary) };
    team.messages.send_report(&team.agent(), own(team.task, "hang")).await.unwrap();
    team.messages.send_report(&team.agent_of(other), own(other, "quick")).await.unwrap();
    let shutdown = Shutdown::new();
    let patient = InboxOptions { lease: Duration::from_hours(1), ..InboxOptions::default() };

    let both = async {
        // The first is never answered; the second is processed meanwhile.
        while manager.heard.lock().unwrap().len() < 2 || !team.inbox_of(other).await.is_empty() {
            tokio::task::yield_now().await;
        }
        shutdown.trigger();
    };
    let run =
        async { tokio::join!(inbox(&team, &manager).with(patient).run(shutdown.clone()), both) };
    tokio::time::timeout(Duration::from_mins(1), run).await.unwrap();

    let mut heard = manager.heard.lock().unwrap().clone();
    heard.sort();
    assert_eq!(heard, ["hang", "quick"]);
    assert_eq!(team.inbox().await.len(), 1, "it is given back, and not lost");
}

async fn every_message_leads_to_an_action_or_waits_for_a_person() {
    let (team, manager) = (Team::new().await, Arc::new(ScriptedInboxManager::default()));
    let dev = team.agent();
    let note = |kind, content: &str| SendMessage {
        task_id: team.task,
        agent_role: named("developer"),
        to: "pm".to_owned(),
        kind,
        content: content.to_owned(),
        idempotency_key: None,
    };
    let status = |status, message: &str| ReportStatus {
        task_id: team.task,
        agent_role: named("developer"),
        status,
        message: message.to_owned(),
        artifacts: vec![],
        blocked_reason: Some("no disk".to_owned()),
        work_unit_id: None,
        idempotency_key: None,
    };
    let help = |help_type, issue: &str| RequestHelp {
        task_id: team.task,
        agent_role: named("developer"),
        help_type,
        issue: issue.to_owned(),
        target_agent: None,
        context: None,
        idempotency_key: None,
    };
    team.messages.status(&dev, status(Progress::Working, "going on")).await.unwrap();
    team.messages.send(&dev, note(NoteKind::Info, "fyi")).await.unwrap();
    team.messages.send(&dev, note(NoteKind::Question, "which one?")).await.unwrap();
    let asks = json!({ "question": "what is meant?" });
    team.messages.send_report(&dev, team.report("needs_clarification", asks)).await.unwrap();
    team.messages.request_help(&dev, help(HelpKind::PmDecision, "left or right?")).await.unwrap();
    team.messages.status(&dev, status(Progress::Blocked, "stuck")).await.unwrap();
    team.messages.request_help(&dev, help(HelpKind::Human, "may I?")).await.unwrap();
    let before: Vec<_> =
        waiting(&team).await.into_iter().map(|item| item.message.content).collect();

    inbox(&team, &manager).process_waiting().await.unwrap();

    assert_eq!(before, ["may I?"], "what only a person can answer waits at once");
    let heard = manager.heard.lock().unwrap().clone();
    assert_eq!(heard, ["which one?", "what is meant?", "left or right?", "no disk"]);
    let left = waiting(&team).await;
    let contents: Vec<_> = left.iter().map(|item| item.message.content.as_str()).collect();
    assert_eq!(contents, ["which one?", "what is meant?", "left or right?", "may I?"]);
    assert_eq!(left[0].message.needs_person.as_deref(), Some("only you know"));
    assert_eq!(team.inbox().await.len(), left.len(), "nothing else is left unprocessed");
}

async fn a_person_answers_once_and_the_agent_gets_the_answer_as_an_instruction() {
    let (team, manager) = (Team::new().await, Arc::new(ScriptedInboxManager::default()));
    let dev = team.agent();
    let asks = json!({ "question": "which colour?" });
    let said =
        team.messages.send_report(&dev, team.report("needs_clarification", asks)).await.unwrap();
    let id = said.message_id;
    let answer = |text: &str| AnswerMessage { text: text.to_owned(), instruction: None };
    let bob = &team.world.bob;
    let early = team.messages.answer(bob, id, answer("blue")).await;
    inbox(&team, &manager).process_waiting().await.unwrap();

    let first = team.messages.answer(bob, id, answer("blue")).await.unwrap();
    let again = team.messages.answer(bob, id, answer("blue")).await.unwrap();
    let other = team.messages.answer(bob, id, answer("red")).await;
    let stranger = Caller::on_behalf_of(UserId::generate(), "eve".to_owned(), false);
    let unseen = team.messages.answer(&stranger, id, answer("green")).await;
    // Nothing is left to process after a restart.
    inbox(&team, &manager).process_waiting().await.unwrap();

    assert!(matches!(early, Err(MessageError::NotWaitingForPerson(_))));
    assert_eq!(first.message.answered_by.as_deref(), Some("bob"));
    assert_eq!(again.message.processed_at, first.message.processed_at);
    assert!(matches!(other, Err(MessageError::Settled(_))), "{other:?}");
    assert!(matches!(unseen, Err(MessageError::NotFound(_))), "{unseen:?}");
    assert!(waiting(&team).await.is_empty() && team.inbox().await.is_empty());
    let reported = team.heartbeat(&dev, "developer").await.instructions;
    let reported: Vec<_> = reported
        .iter()
        .map(|it| (it.instruction_type.as_str(), it.instructions.as_str()))
        .collect();
    assert_eq!(reported, [("continue", "blue")]);
}

async fn a_question_to_another_agent_is_passed_on_and_so_is_its_answer() {
    let (team, manager) = (Team::new().await, Arc::new(ScriptedInboxManager::default()));
    let (dev, designer) = (team.agent(), team.agent());
    let help = RequestHelp {
        task_id: team.task,
        agent_role: named("developer"),
        help_type: HelpKind::Agent,
        issue: "which blue?".to_owned(),
        target_agent: Some(named("designer")),
        context: None,
        idempotency_key: None,
    };
    team.heartbeat(&designer, "designer").await;
    team.messages.request_help(&dev, help).await.unwrap();
    inbox(&team, &manager).process_waiting().await.unwrap();
    let request = team.heartbeat(&designer, "designer").await.instructions;
    let answer = SendMessage {
        task_id: team.task,
        agent_role: named("designer"),
        to: "pm".to_owned(),
        kind: NoteKind::Answer,
        content: "navy".to_owned(),
        idempotency_key: None,
    };
    team.messages.send(&designer, answer).await.unwrap();

    inbox(&team, &manager).process_waiting().await.unwrap();

    assert!(request[0].instructions.starts_with("developer asks: which blue?"), "{request:?}");
    let reported = team.heartbeat(&dev, "developer").await.instructions;
    assert_eq!(reported[0].instructions, "designer answers: navy");
    assert!(team.inbox().await.is_empty() && manager.heard.lock().unwrap().is_empty());
}

async fn without_a_project_manager_questions_wait_for_a_person() {
    let team = Team::new().await;
    let asks = json!({ "question": "which colour?" });
    let report = team.report("needs_clarification", asks);
    team.messages.send_report(&team.agent(), report).await.unwrap();
    let (store, clock) = (team.world.store.clone(), team.world.clock.clone());
    let of = (store.clone(), clock.clone(), Signals::new(store.engine()));
    let handoffs = HandoffService::new(
        of.0.clone(),
        of.1.clone(),
        of.2.clone(),
        Arc::new(NoProjectManager),
        HandoffOptions::default(),
    );

    Inbox::new(of.0, of.1, of.2, handoffs).process_waiting().await.unwrap();

    let why = waiting(&team).await.remove(0).message.needs_person.unwrap();
    assert!(why.contains("no project manager is configured"), "{why}");
}

async fn reports_are_dealt_with_once_oldest_first_and_what_needs_a_person_waits() {
    let (team, manager) = (Team::new().await, Arc::new(ScriptedInboxManager::default()));
    let dev = team.agent();
    for words in ["one", "two"] {
        team.messages.send_report(&dev, team.done(words)).await.unwrap();
    }
    let question = json!({ "question": "which colour?" });
    team.messages.send_report(&dev, team.report("request_human_input", question)).await.unwrap();

    let inbox = inbox(&team, &manager);
    inbox.process_waiting().await.unwrap();
    inbox.process_waiting().await.unwrap();

    assert_eq!(*manager.heard.lock().unwrap(), ["one", "two"]);
    let left = team.inbox().await;
    assert_eq!(left, [("developer".to_owned(), "request_human_input".to_owned())]);
    assert_eq!(waiting(&team).await.len(), 1);
}
