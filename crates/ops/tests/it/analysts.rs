//! The seam behind step verification: the runner sees the same result from every judge.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_domain::finding::{FindingAuthor, FindingStatus};
use cynode_domain::ids::{HolderId, JobId, RunId, TaskId, TraceId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_domain::status::RunStatus;
use cynode_domain::verdict::{Finding, Verdict};
use cynode_execution::{WorkflowError, WorkflowService};
use cynode_execution::{
    analyst::Analyst, analyst::AnalystError, analyst::AnalystOpinion, analyst::VerificationCase,
};
use cynode_resources::Signals;
use cynode_store::Run;
use cynode_wire::page::PageQuery;
use cynode_wire::workflow::{DispatchStep, LeaseToken, ReleaseLease, StartRun, VerifyStep};

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    an_analyst_that_takes_its_time_is_asked_again,
    a_check_that_an_analyst_asks_for_comes_back_with_the_case,
    a_run_that_goes_on_from_another_checks_its_last_step_anew,
    a_step_waits_while_no_analyst_can_be_asked,
}

/// Returns scripted answers, last first.
struct ScriptedAnalyst {
    says: Mutex<Vec<Result<AnalystOpinion, AnalystError>>>,
    requests: Mutex<Vec<VerificationCase>>,
}

#[async_trait]
impl Analyst for ScriptedAnalyst {
    async fn examine(&self, case: &VerificationCase) -> Result<AnalystOpinion, AnalystError> {
        self.requests.lock().unwrap().push(case.clone());
        self.says.lock().unwrap().pop().unwrap()
    }
}

async fn start(workflow: &WorkflowService, task_id: TaskId) -> LeaseToken {
    let holder_id = HolderId::generate();
    let lease_ms = Some(3_600_000);
    let body = StartRun { task_id, holder_id, lease_ms, graph_versions: None };
    workflow.start(&body).await.unwrap().lease
}

struct AnalystStepFixture {
    fixture: Catalogue,
    workflow: WorkflowService,
    analyst: Arc<ScriptedAnalyst>,
    lease: LeaseToken,
    job: JobId,
}

impl AnalystStepFixture {
    /// A step that has failed, to be judged like this.
    async fn saying(says: Vec<Result<AnalystOpinion, AnalystError>>) -> Self {
        let fixture = Catalogue::new().await;
        let analyst =
            Arc::new(ScriptedAnalyst { says: Mutex::new(says), requests: Mutex::default() });
        let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
        let signals = Signals::new(store.engine());
        let workflow = WorkflowService::new(store, clock, signals).with_analyst(analyst.clone());
        let lease = start(&workflow, fixture.task.id).await;
        let action = Action::Command { line: "true".to_owned() };
        let step = Step::new(action);
        let body = DispatchStep { lease, step_index: 0, attempt: 1, step };
        let job = workflow.dispatch(body).await.unwrap().job_id;
        fixture.close(job).await;
        Self { fixture, workflow, analyst, lease, job }
    }

    /// Has the step judged by an analyst that requests one check first; returns that job.
    async fn checked(&self) -> JobId {
        let waiting = self.workflow.verify_step(self.request()).await.unwrap().waiting_for.unwrap();
        let check: JobId = waiting.split_whitespace().nth(2).unwrap().parse().unwrap();
        self.fixture.close(check).await;
        assert!(self.workflow.verify_step(self.request()).await.unwrap().verdict.is_some());
        check
    }

    fn request(&self) -> VerifyStep {
        VerifyStep {
            lease: self.lease,
            job_id: self.job,
            expected_outputs: vec![],
            criteria: vec![],
            is_last_step: true,
            wait_ms: 0,
        }
    }
}

async fn an_analyst_that_takes_its_time_is_asked_again() {
    let verdict = Verdict::from_findings(vec![Finding::from_rule(
        "reading",
        true,
        "it reads well".to_owned(),
    )]);
    let later = AnalystOpinion::Pending { waiting_for: "the analyst of the task".to_owned() };
    let judged =
        AnalystStepFixture::saying(vec![Ok(AnalystOpinion::Verdict(verdict.clone())), Ok(later)])
            .await;

    let first = judged.workflow.verify_step(judged.request()).await.unwrap();
    let second = judged.workflow.verify_step(judged.request()).await.unwrap();
    // From here on the analyst is not asked: its script is empty.
    let third = judged.workflow.verify_step(judged.request()).await.unwrap();

    assert_eq!(first.waiting_for.as_deref(), Some("the analyst of the task"));
    assert_eq!((&second.verdict, &third.verdict), (&Some(verdict.clone()), &Some(verdict)));
    let AnalystStepFixture { fixture, analyst, .. } = judged;
    assert_eq!(analyst.requests.lock().unwrap().len(), 2);
    let listed = fixture
        .findings
        .list(fixture.bob(), &fixture.task.task_name.as_str().into(), &PageQuery::default())
        .await;
    let listed = listed.unwrap().items;
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].status, listed[0].agent_type),
        (FindingStatus::Pass, FindingAuthor::Rule)
    );
}

async fn a_check_that_an_analyst_asks_for_comes_back_with_the_case() {
    let verdict = Verdict::from_findings(vec![]);
    let check = AnalystOpinion::NeedsCheck { command: "make lint".to_owned() };
    let judged =
        AnalystStepFixture::saying(vec![Ok(AnalystOpinion::Verdict(verdict.clone())), Ok(check)])
            .await;

    judged.checked().await;
    let answer = judged.workflow.verify_step(judged.request()).await.unwrap();

    assert_eq!(answer.verdict, Some(verdict));
    let requests = judged.analyst.requests.lock().unwrap();
    assert_eq!(requests[1].evidence.checks[0].command, "make lint");
    assert!(requests[0].evidence.checks.is_empty());
}

async fn a_run_that_goes_on_from_another_checks_its_last_step_anew() {
    let check = || Ok(AnalystOpinion::NeedsCheck { command: "make lint".to_owned() });
    let verdict = || Ok(AnalystOpinion::Verdict(Verdict::from_findings(vec![])));
    let mut judged = AnalystStepFixture::saying(vec![verdict(), check(), verdict(), check()]).await;
    let first = judged.checked().await;
    let (task, store) = (judged.fixture.task.id, judged.fixture.world.store.clone());
    judged.workflow.release(ReleaseLease::new(judged.lease)).await.unwrap();
    let next =
        Run { id: RunId::generate(), task, trace: TraceId::generate(), status: RunStatus::Pending };
    let made: Result<(), cynode_store::Error> =
        store.write(move |tx| Box::pin(async move { tx.run_insert(&next).await })).await;
    made.unwrap();

    judged.lease = start(&judged.workflow, task).await;
    let second = judged.checked().await;

    assert_ne!(first, second);
}

async fn a_step_waits_while_no_analyst_can_be_asked() {
    let judged =
        AnalystStepFixture::saying(vec![Err(AnalystError::Unavailable("it starts".to_owned()))])
            .await;

    let refused = judged.workflow.verify_step(judged.request()).await;

    assert!(matches!(refused, Err(WorkflowError::AnalystUnavailable(_))), "{refused:?}");
    let AnalystStepFixture { fixture, .. } = judged;
    let listed = fixture
        .findings
        .list(fixture.bob(), &fixture.task.task_name.as_str().into(), &PageQuery::default())
        .await;
    assert!(listed.unwrap().items.is_empty());
}
