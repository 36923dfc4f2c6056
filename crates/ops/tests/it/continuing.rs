//! Suspended runs and a scripted project manager.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::{HolderId, JobId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_domain::status::JobStatus;
use cynode_domain::suspension::IF_INTERRUPTED_KEY;
use cynode_execution::{WorkflowError, WorkflowService};
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::ProjectManager,
};
use cynode_resources::Signals;
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::handoff::{ContinueWith, HandoffKind};
use cynode_wire::preferences::{PreferenceKey, WritePreference};
use cynode_wire::workflow::{
    DispatchStep, EffectView, GraphVersions, LeaseToken, RecordEffect, StartRun, VerifyStep,
};
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    a_run_that_stands_still_is_handed_to_the_project_manager_once,
    a_manager_cannot_have_a_refused_result_taken_as_it_is,
    a_run_that_went_on_often_enough_is_handed_to_nobody,
    how_often_a_run_went_on_is_counted_by_the_journal_and_not_by_its_runner,
    a_run_that_goes_on_is_no_more_for_a_runner_that_would_fail_it,
    only_who_holds_a_run_whose_step_was_refused_is_answered,
    without_a_project_manager_a_person_or_a_preference_decides_about_an_interrupted_step,
}

/// Returns one answer and records the handoffs.
struct ScriptedContinuation {
    says: Value,
    handed: Mutex<Vec<(HandoffKind, Value)>>,
}

#[async_trait]
impl ProjectManager for ScriptedContinuation {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        self.handed.lock().unwrap().push((kind, handoff));
        Ok(self.says.clone())
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("it does not talk".to_owned()))
    }
}

/// A run whose first step never started.
struct SuspendedRunFixture {
    manager: Arc<ScriptedContinuation>,
    workflow: WorkflowService,
    lease: LeaseToken,
    job: JobId,
    fixture: Catalogue,
}

impl SuspendedRunFixture {
    async fn before(with: &str) -> Self {
        let fixture = Catalogue::new().await;
        let says = json!({ "with": with, "reason": "so be it", "decisions": [] });
        let manager = Arc::new(ScriptedContinuation { says, handed: Mutex::default() });
        let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
        let signals = Signals::new(store.engine());
        let options = HandoffOptions::default();
        let handoffs = HandoffService::new(
            store.clone(),
            clock.clone(),
            signals.clone(),
            manager.clone(),
            options,
        );
        let workflow = WorkflowService::new(store, clock, signals).with_handoffs(handoffs);
        let (task_id, holder_id) = (fixture.task.id, HolderId::generate());
        let graph_versions = Some(GraphVersions { oldest: 1, newest: 1 });
        let lease_ms = Some(3_600_000);
        let body = StartRun { task_id, holder_id, lease_ms, graph_versions };
        let lease = workflow.start(&body).await.unwrap().lease;
        let action = Action::Command { line: "true".to_owned() };
        let step = Step::new(action);
        let body = DispatchStep { lease, step_index: 0, attempt: 1, step };
        let job = workflow.dispatch(body).await.unwrap().job_id;
        Self { manager, workflow, lease, job, fixture }
    }

    async fn new(with: &str) -> Self {
        let standing = Self::before(with).await;
        standing.reject(JobStatus::Failed).await;
        standing
    }

    /// The same without a project manager, with a step that ended with this status.
    async fn without_manager(status: JobStatus) -> Self {
        let mut standing = Self::before("retry").await;
        let (store, clock) =
            (standing.fixture.world.store.clone(), standing.fixture.world.clock.clone());
        let signals = Signals::new(store.engine());
        standing.workflow = WorkflowService::new(store, clock, signals);
        standing.reject(status).await;
        standing
    }

    /// Ends the job and has its result rejected.
    async fn reject(&self, status: JobStatus) {
        self.fixture.close_as(self.job, status).await;
        let (lease, job_id) = (self.lease, self.job);
        let (expected_outputs, is_last_step, wait_ms) = (vec![], true, 0);
        let body =
            VerifyStep { lease, job_id, expected_outputs, criteria: vec![], is_last_step, wait_ms };
        self.workflow.verify_step(body).await.unwrap().verdict.unwrap();
    }

    /// Sets the preference for interrupted steps.
    async fn prefer(&self, policy: &str) {
        let (scope_type, key) = (ScopeKind::System, IF_INTERRUPTED_KEY.to_owned());
        let preference = PreferenceKey { scope_type, scope_id: None, key };
        let written = WritePreference {
            value: json!(policy),
            value_type: ValueType::String,
            expected_version: None,
            reason: None,
        };
        self.fixture.preferences.put(&self.fixture.world.admin, preference, written).await.unwrap();
    }

    async fn ask(&self, continued: u32) -> Result<ContinuationView, WorkflowError> {
        let (lease, job_id) = (self.lease, self.job);
        let body = ContinueRun { lease, job_id, continued, wait_ms: 30_000 };
        self.workflow.decide_continuation(body).await
    }

    async fn with(&self, continued: u32) -> ContinueWith {
        let view = self.ask(continued).await.unwrap();
        let ContinuationView::Settled { with, .. } = view else { panic!("{view:?}") };
        with
    }

    /// The version of the graph that a runner must know to go on with the run.
    async fn version(&self) -> Option<u32> {
        let task = self.fixture.task.id;
        let read = self.fixture.world.store.read(move |tx| {
            Box::pin(async move {
                let run = tx.run_of_task(task).await?.unwrap();
                tx.run_version(run.id).await
            })
        });
        let version: Result<_, cynode_store::Error> = read.await;
        version.unwrap()
    }

    fn handed(&self) -> Vec<(HandoffKind, Value)> {
        self.manager.handed.lock().unwrap().clone()
    }
}

async fn a_run_that_stands_still_is_handed_to_the_project_manager_once() {
    let standing = SuspendedRunFixture::new("retry").await;

    let (one, other) = tokio::join!(standing.with(1), standing.with(1));
    let again = standing.with(1).await;

    assert_eq!([one, other, again], [ContinueWith::Retry; 3]);
    let handed = standing.handed();
    assert_eq!(handed.len(), 1, "{handed:?}");
    let (kind, handoff) = &handed[0];
    assert_eq!(*kind, HandoffKind::ContinueRun);
    let body = &handoff["body"];
    assert_eq!((&body["standstill"], &body["continued"]), (&json!("not_started"), &json!(1)));
    assert_eq!(body["node"], "verify_step_result");
    assert_eq!(handoff["context"]["task"]["id"], json!(standing.fixture.task.id));
}

async fn a_manager_cannot_have_a_refused_result_taken_as_it_is() {
    let standing = SuspendedRunFixture::new("continue").await;

    assert_eq!(standing.with(0).await, ContinueWith::GiveUp);
}

async fn a_run_that_went_on_often_enough_is_handed_to_nobody() {
    let standing = SuspendedRunFixture::new("retry").await;

    assert_eq!(standing.with(3).await, ContinueWith::GiveUp);
    assert_eq!(standing.handed().len(), 0);
}

async fn how_often_a_run_went_on_is_counted_by_the_journal_and_not_by_its_runner() {
    let standing = SuspendedRunFixture::new("retry").await;
    for number in 0..3 {
        let key = format!("{number}/verify_step_result/continue/{}", JobId::generate());
        let effect = EffectView { key, answer: json!({}) };
        let body = RecordEffect { lease: standing.lease, effect };
        standing.workflow.effect(body).await.unwrap();
    }

    assert_eq!(standing.with(0).await, ContinueWith::GiveUp);
    assert_eq!(standing.handed().len(), 0);
}

async fn a_run_that_goes_on_is_no_more_for_a_runner_that_would_fail_it() {
    for (with, preference) in [("give_up", 1), ("retry", 2), ("ask_person", 2)] {
        let standing = SuspendedRunFixture::new(with).await;
        assert_eq!(standing.version().await, Some(1));

        standing.with(0).await;

        assert_eq!(standing.version().await, Some(preference), "{with}");
    }
}

async fn only_who_holds_a_run_whose_step_was_refused_is_answered() {
    let standing = SuspendedRunFixture::before("retry").await;

    let running = standing.ask(0).await;
    standing.fixture.close(standing.job).await;
    let unjudged = standing.ask(0).await;
    let stale = LeaseToken { epoch: standing.lease.epoch + 1, ..standing.lease };
    let body = ContinueRun { lease: stale, job_id: standing.job, continued: 0, wait_ms: 0 };
    let fenced = standing.workflow.decide_continuation(body).await;

    assert!(matches!(running, Err(WorkflowError::JobNotEnded(_))), "{running:?}");
    assert!(matches!(unjudged, Err(WorkflowError::Invalid(_))), "{unjudged:?}");
    assert!(matches!(fenced, Err(WorkflowError::Fenced(_))), "{fenced:?}");
    assert_eq!(standing.handed().len(), 0);
}

async fn without_a_project_manager_a_person_or_a_preference_decides_about_an_interrupted_step() {
    let standing = SuspendedRunFixture::without_manager(JobStatus::LeaseExpired).await;
    assert_eq!(standing.version().await, Some(1));

    let view = standing.ask(0).await.unwrap();

    let reason = "it may have done part of its work".to_owned();
    assert_eq!(view, ContinuationView::Settled { with: ContinueWith::AskPerson, reason });
    assert_eq!(standing.version().await, Some(2), "an older runner would fail the run");
    for (policy, preference) in [("retry", ContinueWith::Retry), ("give_up", ContinueWith::GiveUp)]
    {
        standing.prefer(policy).await;
        assert_eq!(standing.with(0).await, preference);
    }
    assert_eq!(standing.with(3).await, ContinueWith::GiveUp, "it continued often enough");
    let unstarted = SuspendedRunFixture::without_manager(JobStatus::Failed).await;
    let view = unstarted.ask(0).await.unwrap();
    assert!(matches!(view, ContinuationView::NoManager { .. }), "{view:?}");
}
