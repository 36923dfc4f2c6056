//! Analysts that die, or whose findings are never written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_analysts::{AnalystOptions, AnalystService, ManagedAnalyst};
use cynode_domain::criteria::{Criterion, Evidence};
use cynode_domain::job::JobEnding;
use cynode_domain::verdict::{FindingStatus, Verdict, VerdictStatus};
use cynode_execution::{analyst::Analyst as _, analyst::AnalystOpinion, analyst::VerificationCase};
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::ProjectManager,
};
use cynode_resources::Caller;
use cynode_wire::handoff::HandoffKind;
use serde_json::{Value, json};

use super::AnalystProcessFixture;
use crate::engines::on_each_engine;

on_each_engine! {
    an_analyst_that_dies_is_started_again_and_its_death_is_on_record,
    a_criterion_stays_open_when_every_analyst_died,
    an_analyst_whose_orchestrator_died_with_it_is_asked_for_once_more,
    an_analyst_that_waits_for_its_turn_elsewhere_is_waited_for,
}

/// Requests analysts at an orchestrator that is never heard from again.
#[derive(Default)]
struct LostAnalystManager {
    requests: AtomicUsize,
    /// Its first answer.
    first: Mutex<VecDeque<Value>>,
}

#[async_trait]
impl ProjectManager for LostAnalystManager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        _: HandoffKind,
        _: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let first = self.first.lock().unwrap().pop_front();
        Ok(json!({ "outcome": first.unwrap_or_else(|| json!({ "kind": "analyst_requested" })) }))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("only verifications here".to_owned()))
    }
}

async fn case(verified: &AnalystProcessFixture) -> VerificationCase {
    let job = verified.job().await;
    let task = verified.fixture.task.id.to_string();
    let task =
        verified.fixture.tasks.get(verified.fixture.bob(), &task.as_str().into()).await.unwrap();
    VerificationCase {
        task: verified.fixture.task.id,
        user: verified.fixture.bob().user,
        run: task.run_id.unwrap(),
        job,
        step_index: 0,
        attempt: 1,
        round: 0,
        evidence: Evidence {
            ending: JobEnding::Exited { code: 0 },
            stdout: String::new(),
            stderr: String::new(),
            artifacts: vec![],
            stale: vec![],
            checks: vec![],
        },
        expected_outputs: vec![],
        criteria: vec![Criterion::Text { description: "it reads well".to_owned() }],
    }
}

async fn judged(verified: &AnalystProcessFixture, case: &VerificationCase) -> Verdict {
    let judge = ManagedAnalyst::new(verified.analysts.clone());
    loop {
        if let AnalystOpinion::Verdict(verdict) = judge.examine(case).await.unwrap() {
            return verdict;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The recorded deaths, as (attempt, of).
async fn deaths(verified: &AnalystProcessFixture) -> Vec<(u64, u64)> {
    let events = verified.fixture.world.events(Some(verified.fixture.task.id)).await;
    let died = events.iter().filter(|event| event.kind == "analyst.died");
    died.map(|event| {
        assert!(event.data["reason"].as_str().unwrap().contains("SIGKILL"), "{event:?}");
        (event.data["attempt"].as_u64().unwrap(), event.data["attempts"].as_u64().unwrap())
    })
    .collect()
}

async fn an_analyst_that_dies_is_started_again_and_its_death_is_on_record() {
    let verified = AnalystProcessFixture::with(AnalystOptions::default()).await;
    verified.launcher.dies.store(2, Ordering::SeqCst);
    verified.launcher.may_end.add_permits(1);
    let job = verified.job().await;

    verified.analysts.request(verified.fixture.bob(), job).await.unwrap();
    verified.until(1, |it| it.ended.load(Ordering::SeqCst)).await;

    let given = verified.launcher.given.lock().unwrap().clone();
    let tokens: std::collections::BTreeSet<_> =
        given.iter().map(|it| it["context"]["agent_token"].as_str().unwrap()).collect();
    assert_eq!((given.len(), tokens.len()), (3, 3), "each has a token of its own");
    assert_eq!(deaths(&verified).await, [(1, 3), (2, 3)]);
}

/// Requests an analyst here, as the project manager does.
struct LocalAnalystManager(Mutex<Option<(AnalystService, Caller)>>);

#[async_trait]
impl ProjectManager for LocalAnalystManager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        _: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        let requests = self.0.lock().unwrap().clone();
        let (analysts, caller) = requests.unwrap();
        let job = serde_json::from_value(handoff["body"]["job_id"].clone()).unwrap();
        analysts.request(&caller, job).await.unwrap();
        Ok(json!({ "outcome": { "kind": "analyst_requested" } }))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("only verifications here".to_owned()))
    }
}

async fn a_criterion_stays_open_when_every_analyst_died() {
    let manager = Arc::new(LocalAnalystManager(Mutex::default()));
    let verified = AnalystProcessFixture::new(AnalystOptions::default(), manager.clone()).await;
    let requests = (verified.analysts.clone(), verified.fixture.bob().clone());
    *manager.0.lock().unwrap() = Some(requests);
    verified.launcher.dies.store(usize::MAX, Ordering::SeqCst);
    let case = case(&verified).await;

    let verdict = judged(&verified, &case).await;

    assert_eq!(verdict.status, VerdictStatus::Unclear);
    let last = verdict.findings.last().unwrap();
    assert!(last.is_open() && last.message.contains("SIGKILL"), "{}", last.message);
    assert_eq!(deaths(&verified).await, [(1, 3), (2, 3), (3, 3)]);
    assert_eq!(verified.launcher.given.lock().unwrap().len(), 3);
}

async fn an_analyst_whose_orchestrator_died_with_it_is_asked_for_once_more() {
    left_without_findings([]).await;
}

async fn an_analyst_that_waits_for_its_turn_elsewhere_is_waited_for() {
    let looking = json!({ "kind": "analyst_requested", "is_looking": true });
    let later = json!({ "kind": "later", "reason": "too many wait" });
    left_without_findings([later, looking.clone(), looking.clone(), looking]).await;
}

/// Has prose judged by a project manager that first answers this, and then requests analysts that
/// never report.
async fn left_without_findings<const N: usize>(first: [Value; N]) {
    let options = AnalystOptions { timeout: Duration::from_millis(5), ..AnalystOptions::default() };
    let first = Mutex::new(VecDeque::from(first));
    let manager = Arc::new(LostAnalystManager { first, ..LostAnalystManager::default() });
    let verified = AnalystProcessFixture::new(options, manager.clone()).await;
    let case = case(&verified).await;

    let verdict = judged(&verified, &case).await;

    assert_eq!(manager.requests.load(Ordering::SeqCst), N + 2);
    let last = verdict.findings.last().unwrap();
    assert_eq!(last.status, FindingStatus::Unchecked);
    assert!(last.message.contains("the analyst wrote no findings"), "{}", last.message);
}
