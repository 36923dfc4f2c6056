//! Handoffs to a scripted project manager.

mod excerpts;
mod scripted_target;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::{ThreadId, TraceId};
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_execution::{
    handoff::HandoffError, handoff::HandoffOptions, handoff::HandoffService,
    handoff::HandoffSubject,
};
use cynode_models::egress::Inference;
use cynode_resources::Signals;
use cynode_resources::groups::Groups;
use cynode_resources::{agents::AgentTokenError, agents::TokenOrigin};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::ManagerDecision;
use cynode_wire::groups::CreateGroup;
use cynode_wire::handoff::{
    ChatEvent, ChatHandoff, ContinueRunHandoff, ContinueWith, HandoffUsage, Turn, TurnRole,
};
use cynode_wire::preferences::{PreferenceKey, WritePreference};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;
use scripted_target::ScriptedHandoffTarget;

on_each_engine! {
    a_handoff_brings_facts_preferences_the_skill_and_a_token_that_ends_with_it,
    a_handoff_lists_its_users_groups_and_brings_what_the_later_one_wishes,
    only_work_that_was_not_begun_is_handed_over_again,
    a_project_manager_that_does_not_answer_is_given_up_and_its_token_ends,
    no_more_handoffs_are_open_than_allowed,
    an_answer_that_nobody_waits_for_any_more_ends_with_its_token,
    nothing_is_handed_over_about_what_the_user_cannot_see,
    a_caller_who_goes_away_during_the_end_loses_no_decision,
    a_timeout_names_all_the_time_that_was_given,
    what_is_handed_over_is_given_up_when_the_process_stops,
    a_handoff_changes_nothing_that_calls_are_decided_by,
    whoever_works_on_a_handoff_is_known_by_its_conversation_and_trace,
}

/// Timeout of tests about timeouts.
const SOON: Duration = Duration::from_secs(1);

struct HandoffFixture {
    fixture: Catalogue,
    manager: Arc<ScriptedHandoffTarget>,
    handoffs: HandoffService,
}

impl HandoffFixture {
    async fn to(manager: ScriptedHandoffTarget) -> Self {
        Self::with(manager, HandoffOptions::default()).await
    }

    async fn with(manager: ScriptedHandoffTarget, options: HandoffOptions) -> Self {
        let fixture = Catalogue::new().await;
        let manager = Arc::new(manager);
        let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
        let signals = Signals::new(store.engine());
        let handoffs = HandoffService::new(store, clock, signals, manager.clone(), options);
        Self { fixture, manager, handoffs }
    }

    fn subject(&self) -> HandoffSubject {
        let caller = self.fixture.bob().clone();
        HandoffSubject {
            task: Some(self.fixture.task.id),
            ..HandoffSubject::for_caller(caller, "trace".to_owned())
        }
    }

    async fn continue_run(&self) -> Result<ContinueWith, HandoffError> {
        let body = ContinueRunHandoff {
            node: "collect_result".to_owned(),
            situation: "the node is gone".to_owned(),
            attempts: 1,
            suspension: None,
            continued: 0,
            may_repeat: false,
        };
        Ok(self.handoffs.continue_run(&self.subject(), body).await?.with)
    }

    fn handed(&self) -> Vec<Value> {
        self.manager.handed.lock().unwrap().iter().map(|(_, handoff)| handoff.clone()).collect()
    }

    async fn stored_decisions(&self) -> Vec<ManagerDecision> {
        let (store, task) = (&self.fixture.world.store, self.fixture.task.id);
        let kept: Result<_, cynode_store::Error> =
            store.read(move |tx| Box::pin(async move { tx.decision_list(task, 10).await })).await;
        kept.unwrap()
    }

    async fn is_valid(&self, token: &str) -> bool {
        !matches!(
            self.fixture.world.agents.authenticate(token).await,
            Err(AgentTokenError::BadToken)
        )
    }
}

fn retried() -> Value {
    let decision =
        json!({ "purpose": "continue_run", "by": "rule", "reason": "r", "input_hash": "00" });
    json!({ "with": "retry", "reason": "r", "decisions": [decision] })
}

fn away() -> HandoffError {
    HandoffError::Unreachable("it starts".to_owned())
}

fn token_of(handoff: &Value) -> String {
    handoff["context"]["agent_token"].as_str().unwrap().to_owned()
}

fn hello() -> ChatHandoff {
    let turn = Turn { role: TurnRole::User, content: "hello".to_owned() };
    ChatHandoff { messages: vec![turn] }
}

async fn a_handoff_brings_facts_preferences_the_skill_and_a_token_that_ends_with_it() {
    let manager = ScriptedHandoffTarget {
        says: Mutex::new(vec![Ok(retried())]),
        ..ScriptedHandoffTarget::default()
    };
    let handing = HandoffFixture::to(manager).await;

    let with = handing.continue_run().await.unwrap();

    assert_eq!(with, ContinueWith::Retry);
    let handed = handing.handed().remove(0);
    let context = &handed["context"];
    // The agent's process receives nothing else, so no provider credential.
    let parts: BTreeSet<&str> = context.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        "agent_token groups preferences profile_id project skill task trace_id user".split(' ');
    assert_eq!(parts, expected.collect());
    // The default profile of a project has the id of the project.
    assert_eq!(context["profile_id"], context["project"]["id"], "{context:#}");
    assert_eq!(context["user"]["handle"], "bob");
    assert_eq!(context["task"]["id"], json!(handing.fixture.task.id));
    assert_eq!(context["task"]["status"], "queued", "the word that tools use");
    assert!(context["project"]["slug"].is_string(), "{context:#}");
    assert!(context["preferences"]["sources"].is_object(), "{context:#}");
    assert!(context["skill"].as_str().unwrap().contains("CyNode"));
    assert!(token_of(&handed).starts_with("cyn_pm_"));
    assert!(!handing.is_valid(&token_of(&handed)).await, "the token outlives its handoff");
    let kept = handing.stored_decisions().await;
    assert_eq!(kept.len(), 1);
    assert_eq!(
        (&*kept[0].handoff, &*kept[0].purpose, &*kept[0].trace_id),
        ("continue_run", "continue_run", "trace")
    );
}

async fn a_handoff_lists_its_users_groups_and_brings_what_the_later_one_wishes() {
    let manager = ScriptedHandoffTarget {
        says: Mutex::new(vec![Ok(retried())]),
        ..ScriptedHandoffTarget::default()
    };
    let handing = HandoffFixture::to(manager).await;
    let Catalogue { world, preferences, .. } = &handing.fixture;
    let groups = Groups::new(world.store.clone(), world.clock.clone(), world.signals());
    let key = "agents.project_manager.additional_context".to_owned();
    let mut made = vec![];
    for name in ["zebra", "ant"] {
        let new = CreateGroup { name: name.to_owned(), display_name: None };
        let group = groups.create(&world.admin, new).await.unwrap().id;
        groups.add(&world.admin, &name.into(), &"bob".into()).await.unwrap();
        let scope_id = Some(group.as_uuid());
        let preference = PreferenceKey { scope_type: ScopeKind::Group, scope_id, key: key.clone() };
        let written = WritePreference {
            value: json!(format!("of the {name}")),
            value_type: ValueType::String,
            expected_version: None,
            reason: None,
        };
        preferences.put(&world.admin, preference, written).await.unwrap();
        made.push(group);
    }

    handing.continue_run().await.unwrap();

    let context = &handing.handed()[0]["context"];
    assert_eq!(context["groups"], json!(made));
    assert_eq!(context["preferences"]["effective"][&key], "of the ant");
    let source = &context["preferences"]["sources"][&key];
    assert_eq!((&source["scope_type"], &source["scope_id"]), (&json!("group"), &json!(made[1])));
}

async fn only_work_that_was_not_begun_is_handed_over_again() {
    let lost = HandoffError::ConnectionLost("it died".to_owned());
    let manager = ScriptedHandoffTarget {
        says: Mutex::new(vec![Ok(retried()), Err(away()), Err(away())]),
        ..ScriptedHandoffTarget::default()
    };
    let patient = HandoffFixture::to(manager).await;
    let manager = ScriptedHandoffTarget {
        says: Mutex::new(vec![Ok(retried()), Err(lost)]),
        ..ScriptedHandoffTarget::default()
    };
    let careful = HandoffFixture::to(manager).await;

    assert_eq!(patient.continue_run().await.unwrap(), ContinueWith::Retry);
    let refused = careful.continue_run().await.unwrap_err();

    assert_eq!(patient.handed().len(), 3);
    assert!(matches!(refused, HandoffError::ConnectionLost(_)), "{refused}");
    assert_eq!(careful.handed().len(), 1);
}

async fn a_project_manager_that_does_not_answer_is_given_up_and_its_token_ends() {
    let manager = ScriptedHandoffTarget { is_silent: true, ..ScriptedHandoffTarget::default() };
    let options = HandoffOptions { timeout: SOON, ..HandoffOptions::default() };
    let handing = HandoffFixture::with(manager, options).await;

    let refused = handing.continue_run().await.unwrap_err();

    assert!(matches!(refused, HandoffError::Timeout(_)), "{refused}");
    assert!(!handing.is_valid(&token_of(&handing.handed()[0])).await);
}

async fn no_more_handoffs_are_open_than_allowed() {
    let options = HandoffOptions { max_open: 1, timeout: SOON, ..HandoffOptions::default() };
    let handing = HandoffFixture::with(ScriptedHandoffTarget::default(), options).await;
    let open = handing.handoffs.chat(&handing.subject(), hello()).await.unwrap();

    let refused = handing.continue_run().await.unwrap_err();
    drop(open);

    assert!(matches!(refused, HandoffError::Busy { .. }), "{refused}");
}

async fn an_answer_that_nobody_waits_for_any_more_ends_with_its_token() {
    let events = vec![ChatEvent::Delta { text: "he".to_owned() }];
    let manager =
        ScriptedHandoffTarget { events: Mutex::new(events), ..ScriptedHandoffTarget::default() };
    let handing = HandoffFixture::to(manager).await;
    let mut answer = handing.handoffs.chat(&handing.subject(), hello()).await.unwrap();
    let token = token_of(&handing.handed()[0]);
    assert_eq!(answer.next().await, Some(ChatEvent::Delta { text: "he".to_owned() }));
    assert!(handing.is_valid(&token).await);

    drop(answer);

    while handing.is_valid(&token).await {
        tokio::task::yield_now().await;
    }
}

async fn a_caller_who_goes_away_during_the_end_loses_no_decision() {
    let decision =
        json!({ "purpose": "continue_run", "by": "rule", "reason": "r", "input_hash": "00" });
    let decisions = serde_json::from_value(json!([decision])).unwrap();
    let done = ChatEvent::Done {
        usage: HandoffUsage::default(),
        decisions,
        trace: cynode_domain::trace::TraceEvents::default(),
    };
    let manager = ScriptedHandoffTarget {
        events: Mutex::new(vec![done]),
        ..ScriptedHandoffTarget::default()
    };
    let handing = HandoffFixture::to(manager).await;
    let mut answer = handing.handoffs.chat(&handing.subject(), hello()).await.unwrap();
    let token = token_of(&handing.handed()[0]);

    assert_eq!(answer.next().now_or_never(), None, "it is being put on record");
    drop(answer);

    while handing.is_valid(&token).await || handing.stored_decisions().await.is_empty() {
        tokio::task::yield_now().await;
    }
}

async fn a_timeout_names_all_the_time_that_was_given() {
    let timeout = Duration::from_secs(61);
    let late = HandoffError::Timeout(Duration::from_millis(1));
    let says = Mutex::new(vec![Err(late), Err(away())]);
    let options = HandoffOptions { timeout, ..HandoffOptions::default() };
    let handing = HandoffFixture::with(
        ScriptedHandoffTarget { says, ..ScriptedHandoffTarget::default() },
        options,
    )
    .await;

    let refused = handing.continue_run().await.unwrap_err();

    assert!(matches!(refused, HandoffError::Timeout(reported) if reported == timeout), "{refused}");
}

async fn what_is_handed_over_is_given_up_when_the_process_stops() {
    let manager = ScriptedHandoffTarget { is_silent: true, ..ScriptedHandoffTarget::default() };
    let mut handing = HandoffFixture::to(manager).await;
    let background = BackgroundTasks::new();
    handing.handoffs = handing.handoffs.clone().with_background(background.clone());

    let stop = async {
        while handing.handed().is_empty() {
            tokio::task::yield_now().await;
        }
        background.finish(Duration::from_secs(20)).await
    };
    let (refused, has_ended) = tokio::join!(handing.continue_run(), stop);

    assert!(matches!(refused, Err(HandoffError::ConnectionLost(_))), "{refused:?}");
    assert!(has_ended);
    assert!(!handing.is_valid(&token_of(&handing.handed()[0])).await);
}

async fn a_handoff_changes_nothing_that_calls_are_decided_by() {
    let manager = ScriptedHandoffTarget {
        says: Mutex::new(vec![Ok(retried())]),
        ..ScriptedHandoffTarget::default()
    };
    let handing = HandoffFixture::to(manager).await;
    let store = handing.fixture.world.store.clone();
    let revision = || async {
        let read: Result<i64, cynode_store::Error> =
            store.read(|tx| Box::pin(async move { tx.policy_revision().await })).await;
        read.unwrap()
    };
    let before = revision().await;

    handing.continue_run().await.unwrap();

    assert!(!handing.is_valid(&token_of(&handing.handed()[0])).await);
    assert_eq!(revision().await, before, "all caches would be reloaded");
}

async fn nothing_is_handed_over_about_what_the_user_cannot_see() {
    let handing = HandoffFixture::to(ScriptedHandoffTarget::default()).await;
    let stranger = cynode_resources::Caller::on_behalf_of(
        cynode_domain::ids::UserId::generate(),
        "eve".to_owned(),
        false,
    );
    let subject = HandoffSubject { caller: stranger, ..handing.subject() };

    let refused = handing.handoffs.chat(&subject, hello()).await.unwrap_err();

    assert!(matches!(refused, HandoffError::Invalid(_)), "{refused}");
    assert!(handing.handed().is_empty());
}

async fn whoever_works_on_a_handoff_is_known_by_its_conversation_and_trace() {
    let handing = HandoffFixture::to(ScriptedHandoffTarget::default()).await;
    let (thread, trace) = (ThreadId::generate(), TraceId::generate());
    let subject = HandoffSubject { thread: Some(thread), ..handing.subject() };
    let subject = HandoffSubject { trace_id: trace.to_string(), ..subject };

    let _open = handing.handoffs.chat(&subject, hello()).await.unwrap();
    let token = token_of(&handing.handed()[0]);
    let identity = handing.fixture.world.agents.authenticate(&token).await.unwrap();
    let asks = Inference::of_agent(&identity, "chat", "another trace");

    let origin = TokenOrigin { thread: Some(thread), trace: Some(trace), ..TokenOrigin::default() };
    assert_eq!(identity.origin, origin);
    assert_eq!((asks.thread, asks.trace_id), (Some(thread), trace.to_string()));
}
