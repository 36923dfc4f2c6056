//! The seam behind the verification of a step: whoever judges, the runner sees the same.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_domain::finding::{FindingAuthor, FindingStatus};
use cynode_domain::ids::{HolderId, JobId, RunId, TaskId, TraceId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_domain::status::RunStatus;
use cynode_domain::verdict::{Finding, Verdict};
use cynode_ops::analyst::{Analyst, AnalystError, Case, Opinion};
use cynode_ops::{Signals, Workflow, WorkflowError};
use cynode_store::{Run, WorkflowStore};
use cynode_wire::page::PageQuery;
use cynode_wire::workflow::{DispatchStep, Hold, ReleaseLease, StartRun, VerifyStep};

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    an_analyst_that_takes_its_time_is_asked_again,
    a_check_that_an_analyst_asks_for_comes_back_with_the_case,
    a_run_that_goes_on_from_another_checks_its_last_step_anew,
    a_step_waits_while_no_analyst_can_be_asked,
}

/// Says what it was told to say, last first.
struct Scripted {
    says: Mutex<Vec<Result<Opinion, AnalystError>>>,
    asked: Mutex<Vec<Case>>,
}

#[async_trait]
impl Analyst for Scripted {
    async fn examine(&self, case: &Case) -> Result<Opinion, AnalystError> {
        self.asked.lock().unwrap().push(case.clone());
        self.says.lock().unwrap().pop().unwrap()
    }
}

async fn start(workflow: &Workflow, task_id: TaskId) -> Hold {
    let holder_id = HolderId::generate();
    let lease_ms = Some(3_600_000);
    let body = StartRun { task_id, holder_id, lease_ms, graph_versions: None };
    workflow.start(&body).await.unwrap().hold
}

struct Judged {
    its: Catalogue,
    workflow: Workflow,
    analyst: Arc<Scripted>,
    hold: Hold,
    job: JobId,
}

impl Judged {
    /// A step that has failed, to be judged like this.
    async fn saying(says: Vec<Result<Opinion, AnalystError>>) -> Self {
        let its = Catalogue::new().await;
        let analyst = Arc::new(Scripted { says: Mutex::new(says), asked: Mutex::default() });
        let (store, clock) = (its.world.store.clone(), its.world.clock.clone());
        let signals = Signals::new(store.engine());
        let workflow = Workflow::new(store, clock, signals).judged_by(analyst.clone());
        let hold = start(&workflow, its.task.id).await;
        let action = Action::Command { line: "true".to_owned() };
        let step = Step::new(action);
        let body = DispatchStep { hold, step_index: 0, attempt: 1, step };
        let job = workflow.dispatch(body).await.unwrap().job_id;
        its.close(job).await;
        Self { its, workflow, analyst, hold, job }
    }

    /// Has the step judged by somebody who wants one check first: the job that was it.
    async fn checked(&self) -> JobId {
        let waiting = self.workflow.verify(self.request()).await.unwrap().waiting_for.unwrap();
        let check: JobId = waiting.split_whitespace().nth(2).unwrap().parse().unwrap();
        self.its.close(check).await;
        assert!(self.workflow.verify(self.request()).await.unwrap().verdict.is_some());
        check
    }

    fn request(&self) -> VerifyStep {
        VerifyStep {
            hold: self.hold,
            job_id: self.job,
            expected_outputs: vec![],
            criteria: vec![],
            is_last_step: true,
            wait_ms: 0,
        }
    }
}

async fn an_analyst_that_takes_its_time_is_asked_again() {
    let verdict = Verdict::of(vec![Finding::of("reading", true, "it reads well".to_owned())]);
    let later = Opinion::Later { waiting_for: "the analyst of the task".to_owned() };
    let judged = Judged::saying(vec![Ok(Opinion::Verdict(verdict.clone())), Ok(later)]).await;

    let first = judged.workflow.verify(judged.request()).await.unwrap();
    let second = judged.workflow.verify(judged.request()).await.unwrap();
    // From here on the analyst is not asked any more: it has nothing left to say.
    let third = judged.workflow.verify(judged.request()).await.unwrap();

    assert_eq!(first.waiting_for.as_deref(), Some("the analyst of the task"));
    assert_eq!((&second.verdict, &third.verdict), (&Some(verdict.clone()), &Some(verdict)));
    let Judged { its, analyst, .. } = judged;
    assert_eq!(analyst.asked.lock().unwrap().len(), 2);
    let listed = its.findings.list(its.bob(), &its.task.task_name, &PageQuery::default()).await;
    let listed = listed.unwrap().items;
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].status, listed[0].agent_type),
        (FindingStatus::Pass, FindingAuthor::Rule)
    );
}

async fn a_check_that_an_analyst_asks_for_comes_back_with_the_case() {
    let verdict = Verdict::of(vec![]);
    let check = Opinion::Check { command: "make lint".to_owned() };
    let judged = Judged::saying(vec![Ok(Opinion::Verdict(verdict.clone())), Ok(check)]).await;

    judged.checked().await;
    let answer = judged.workflow.verify(judged.request()).await.unwrap();

    assert_eq!(answer.verdict, Some(verdict));
    let asked = judged.analyst.asked.lock().unwrap();
    assert_eq!(asked[1].evidence.checks[0].command, "make lint");
    assert!(asked[0].evidence.checks.is_empty());
}

async fn a_run_that_goes_on_from_another_checks_its_last_step_anew() {
    let check = || Ok(Opinion::Check { command: "make lint".to_owned() });
    let verdict = || Ok(Opinion::Verdict(Verdict::of(vec![])));
    let mut judged = Judged::saying(vec![verdict(), check(), verdict(), check()]).await;
    let first = judged.checked().await;
    let (task, store) = (judged.its.task.id, judged.its.world.store.clone());
    judged.workflow.release(ReleaseLease::of(judged.hold)).await.unwrap();
    let next =
        Run { id: RunId::generate(), task, trace: TraceId::generate(), status: RunStatus::Pending };
    let made: Result<(), cynode_store::Error> =
        store.write(move |tx| Box::pin(async move { tx.run_insert(&next).await })).await;
    made.unwrap();

    judged.hold = start(&judged.workflow, task).await;
    let second = judged.checked().await;

    assert_ne!(first, second);
}

async fn a_step_waits_while_no_analyst_can_be_asked() {
    let judged = Judged::saying(vec![Err(AnalystError::Away("it starts".to_owned()))]).await;

    let refused = judged.workflow.verify(judged.request()).await;

    assert!(matches!(refused, Err(WorkflowError::NoAnalyst(_))), "{refused:?}");
    let Judged { its, .. } = judged;
    let listed = its.findings.list(its.bob(), &its.task.task_name, &PageQuery::default()).await;
    assert!(listed.unwrap().items.is_empty());
}
