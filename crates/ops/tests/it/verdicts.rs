//! Verdicts: an unjudged criterion is not met, and only the analyst of a verification judges it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity, criterion_location};
use cynode_domain::ids::{HolderId, JobId, RunId};
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::Step;
use cynode_domain::policy::AgentType;
use cynode_domain::preference::{ScopeKind, ValueType};
use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::{Finding, Verdict, VerdictStatus};
use cynode_domain::verification::{
    ACCEPT_UNVERIFIED_KEY, CheckResult, Judge, VerificationKey, VerificationStatus,
};
use cynode_execution::WorkflowService;
use cynode_execution::{
    analyst::Analyst, analyst::AnalystError, analyst::AnalystOpinion, analyst::VerificationCase,
};
use cynode_execution::{findings::FindingError, findings::Source};
use cynode_resources::ActorKind;
use cynode_resources::Signals;
use cynode_runs::{RunError, RunOperations};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::checks::StepChecksView;
use cynode_wire::findings::{CreateFinding, FindingView};
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::page::PageQuery;
use cynode_wire::preferences::{PreferenceKey, WritePreference};
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::runs::AnswerRun;
use cynode_wire::workflow::{
    DispatchStep, Finish, LeaseToken, Outcome, SaveCheckpoint, StartRun, VerifyStep,
};
use serde_json::json;

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    a_person_accepts_what_nobody_judged_and_is_on_record_as_its_author,
    a_person_rejects_what_nobody_judged,
    an_agent_accepts_nothing_that_nobody_judged,
    a_result_is_judged_again_when_a_person_says_so,
    a_preference_accepts_what_nobody_judged_and_the_task_says_unverified,
    only_the_token_of_a_verification_writes_its_findings_and_only_after_the_job_ended,
    findings_of_rules_are_the_rules_own,
}

/// Leaves prose unjudged a given number of times, and then finds it met.
struct UnsureAnalyst(Mutex<u32>);

#[async_trait]
impl Analyst for UnsureAnalyst {
    async fn examine(&self, case: &VerificationCase) -> Result<AnalystOpinion, AnalystError> {
        let exit =
            Finding::from_rule("exit_code", true, "the command exited with code 0".to_owned());
        let mut left = self.0.lock().unwrap();
        let prose = if *left > 0 {
            *left -= 1;
            Finding::unchecked("it reads well (no model is configured)")
        } else {
            Finding::from_rule(
                "analyst",
                true,
                format!("it reads well: seen in round {}", case.round),
            )
        };
        Ok(AnalystOpinion::Verdict(Verdict::from_findings(vec![exit, prose])))
    }
}

/// A task whose only step has ended well, and whose prose is judged by [`UnsureAnalyst`].
struct VerdictFixture {
    fixture: Catalogue,
    workflow: WorkflowService,
    steering: RunOperations,
    lease: LeaseToken,
    job: JobId,
}

impl VerdictFixture {
    async fn unjudged(times: u32) -> Self {
        let judged = Self::running(times).await;
        judged.end(judged.job).await;
        judged
    }

    /// The same while the job runs.
    async fn running(times: u32) -> Self {
        let mut fixture = Catalogue::new().await;
        let request = json!({
            "input_mode": "commands", "commands": ["echo hello"],
            "acceptance_criteria": [{ "kind": "text", "description": "it reads well" }],
        });
        fixture.task = fixture
            .tasks
            .create(fixture.bob(), serde_json::from_value(request).unwrap())
            .await
            .unwrap();
        let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
        let signals = Signals::new(store.engine());
        let analyst = Arc::new(UnsureAnalyst(Mutex::new(times)));
        let workflow = WorkflowService::new(store.clone(), clock.clone(), signals.clone())
            .with_analyst(analyst);
        let steering = RunOperations::new(store, clock, signals);
        let lease = start(&workflow, &fixture).await;
        let action = Action::Command { line: "echo hello".to_owned() };
        let step = Step::new(action);
        let body = DispatchStep { lease, step_index: 0, attempt: 1, step };
        let job = workflow.dispatch(body).await.unwrap().job_id;
        Self { fixture, workflow, steering, lease, job }
    }

    async fn end(&self, job: JobId) {
        let result = json!(JobResult {
            ending: JobEnding::Exited { code: 0 },
            stdout: "hello\n".to_owned(),
            stderr: String::new(),
            truncated: Truncated::default(),
        });
        let store = &self.fixture.world.store;
        let closed: Result<_, cynode_store::Error> = store
            .write(move |tx| {
                Box::pin(
                    async move { tx.job_close(job, JobStatus::Completed, Some(&result)).await },
                )
            })
            .await;
        assert!(closed.unwrap());
    }

    async fn verdict(&self) -> Verdict {
        let body = VerifyStep {
            lease: self.lease,
            job_id: self.job,
            expected_outputs: vec![],
            criteria: vec![],
            is_last_step: true,
            wait_ms: 0,
        };
        self.workflow.verify_step(body).await.unwrap().verdict.unwrap()
    }

    /// Suspends the run with the question of a runner, for the nth time.
    async fn ask(&self, nth: u32) {
        let suffix = if nth == 0 { String::new() } else { format!("/{nth}") };
        let question = Question {
            kind: QuestionKind::Approval,
            text: "1 acceptance criterion could not be judged".to_owned(),
            about: vec![],
            accepts: vec![ReplyForm::Yes, ReplyForm::No, ReplyForm::Retry],
        };
        let body = SuspendForQuestion {
            lease: self.lease,
            key: format!("1/verify_step_result/ask/clarify{suffix}"),
            node: "verify_step_result".to_owned(),
            question,
        };
        self.workflow.ask(body).await.unwrap();
    }

    async fn answer(&self, reply: Reply, voice: ActorKind) -> Result<(), RunError> {
        let body = AnswerRun { reply, comment: None };
        let task = self.fixture.task.id.to_string();
        self.steering
            .answer_as(self.fixture.bob(), &task.as_str().into(), body, voice)
            .await
            .map(drop)
    }

    async fn findings(&self) -> Vec<FindingView> {
        let task = self.fixture.task.id.to_string();
        let page = PageQuery::default();
        let found = self
            .fixture
            .findings
            .list(self.fixture.bob(), &task.as_str().into(), &page)
            .await
            .unwrap();
        found.items.into_iter().rev().collect()
    }

    /// The checks of the only step, as shown to users.
    async fn step(&self) -> StepChecksView {
        let task = self.fixture.task.id.to_string();
        let view = self.fixture.tasks.get(self.fixture.bob(), &task.as_str().into()).await.unwrap();
        let result =
            self.fixture.tasks.result(self.fixture.bob(), &task.as_str().into()).await.unwrap();
        assert_eq!(view.steps, result.steps);
        let [step] = view.steps.try_into().unwrap();
        step
    }
}

async fn start(workflow: &WorkflowService, fixture: &Catalogue) -> LeaseToken {
    let (task_id, holder_id) = (fixture.task.id, HolderId::generate());
    let lease_ms = Some(3_600_000);
    let body = StartRun { task_id, holder_id, lease_ms, graph_versions: None };
    workflow.start(&body).await.unwrap().lease
}

async fn a_person_accepts_what_nobody_judged_and_is_on_record_as_its_author() {
    let judged = VerdictFixture::unjudged(1).await;

    let verdict = judged.verdict().await;
    assert_eq!((verdict.status, verdict.is_accepted()), (VerdictStatus::Unclear, false));
    assert_eq!(judged.step().await.checks[1].result, CheckResult::NotJudged);
    judged.ask(0).await;
    judged.answer(Reply::Yes {}, ActorKind::Person).await.unwrap();

    let found = judged.findings().await;
    let last = found.last().unwrap();
    assert_eq!((last.agent_type, last.status), (FindingAuthor::User, FindingStatus::Pass));
    assert_eq!((last.user_id, last.job_id), (judged.fixture.bob().user, Some(judged.job)));
    assert_eq!(last.location, Some(criterion_location(0)));
    assert!(last.message.ends_with("(bob accepted it)"), "{}", last.message);
    let step = judged.step().await;
    assert_eq!((step.command.as_str(), step.checks.len()), ("echo hello", 2));
    let checks: Vec<_> = step.checks.iter().map(|it| (it.result, it.judged_by)).collect();
    let expected = [(CheckResult::Met, Some(Judge::Rule)), (CheckResult::Met, Some(Judge::Person))];
    assert_eq!(checks, expected);
}

async fn a_person_rejects_what_nobody_judged() {
    let judged = VerdictFixture::unjudged(1).await;
    judged.verdict().await;
    judged.ask(0).await;

    judged.answer(Reply::No {}, ActorKind::Person).await.unwrap();

    let found = judged.findings().await;
    let last = found.last().unwrap();
    assert_eq!((last.agent_type, last.status), (FindingAuthor::User, FindingStatus::Fail));
    assert_eq!(judged.step().await.checks[1].result, CheckResult::NotMet);
}

async fn an_agent_accepts_nothing_that_nobody_judged() {
    let judged = VerdictFixture::unjudged(1).await;
    judged.verdict().await;
    judged.ask(0).await;

    let rejected = judged.answer(Reply::Yes {}, ActorKind::Agent).await;

    assert!(matches!(rejected, Err(RunError::Rejected(_))), "{rejected:?}");
    assert_eq!(judged.step().await.checks[1].result, CheckResult::NotJudged);
}

async fn a_result_is_judged_again_when_a_person_says_so() {
    let mut judged = VerdictFixture::unjudged(2).await;
    for nth in 0..2 {
        assert_eq!(judged.verdict().await.status, VerdictStatus::Unclear);
        judged.ask(nth).await;
        judged.answer(Reply::Retry {}, ActorKind::Person).await.unwrap();
        judged.lease = start(&judged.workflow, &judged.fixture).await;
    }

    let verdict = judged.verdict().await;

    assert_eq!(verdict.status, VerdictStatus::Pass);
    assert_eq!(verdict.findings[1].message, "it reads well: seen in round 2");
    assert_eq!(judged.step().await.checks[1].judged_by, Some(Judge::Analyst));
}

async fn a_preference_accepts_what_nobody_judged_and_the_task_says_unverified() {
    let judged = VerdictFixture::unjudged(1).await;
    let project = judged.fixture.task.project_id;
    let key = PreferenceKey {
        scope_type: ScopeKind::Project,
        scope_id: Some(project.into()),
        key: ACCEPT_UNVERIFIED_KEY.to_owned(),
    };
    let value = WritePreference {
        value: json!(true),
        value_type: ValueType::Boolean,
        expected_version: None,
        reason: None,
    };
    judged.fixture.preferences.create(judged.fixture.bob(), key, value).await.unwrap();

    let verdict = judged.verdict().await;
    let finish = Finish {
        outcome: Outcome::Completed,
        summary: "Unverified: done.".to_owned(),
        verification: Some(VerificationStatus::Unverified),
    };
    let body = SaveCheckpoint {
        lease: judged.lease,
        sequence: 1,
        last_node_id: "finalize_summary".to_owned(),
        edge: "finished".to_owned(),
        state: Some(json!({})),
        changes: None,
        duration_ms: 1,
        lease_ms: None,
        step_index: None,
        job_id: None,
        finish: Some(finish),
    };
    judged.workflow.checkpoint(body).await.unwrap();

    assert_eq!((verdict.status, verdict.is_accepted()), (VerdictStatus::Unverified, true));
    assert_eq!(judged.step().await.checks[1].result, CheckResult::NotJudged);
    let (bob, task) = (judged.fixture.bob(), judged.fixture.task.id.to_string());
    let view = judged.fixture.tasks.get(bob, &task.as_str().into()).await.unwrap();
    assert_eq!(view.verification, Some(VerificationStatus::Unverified));
    let run = judged.fixture.runs.get_detail(bob, &task.as_str().into()).await.unwrap();
    assert_eq!(run.verification, Some(VerificationStatus::Unverified));
    let events = judged.fixture.world.events(Some(judged.fixture.task.id)).await;
    let closed = events.iter().find(|event| event.kind == "task.closed").unwrap();
    assert_eq!(closed.data["verification"], "unverified");
}

fn met() -> CreateFinding {
    CreateFinding {
        status: FindingStatus::Pass,
        severity: Severity::Info,
        message: "it reads well".to_owned(),
        location: Some(criterion_location(0)),
        suggestion: None,
        step_index: None,
        job_id: None,
    }
}

async fn only_the_token_of_a_verification_writes_its_findings_and_only_after_the_job_ended() {
    let judged = VerdictFixture::running(0).await;
    let (fixture, job) = (&judged.fixture, judged.job);
    let (task, run) = (fixture.task.id.to_string(), fixture.task.run_id.unwrap());
    // A token of an analyst that a user issues, bound as closely as it can be.
    let binding = BindingView { task_id: Some(fixture.task.id), ..BindingView::default() };
    let issued = IssueAgentToken {
        agent_type: AgentType::Pa,
        name: "by hand".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding,
    };
    let issued = fixture.world.agents.issue(fixture.bob(), issued).await.unwrap();
    let identity = fixture.world.agents.authenticate(&issued.secret).await.unwrap();
    assert_eq!(identity.origin.verification, None);
    let of = |verification| Source {
        author: FindingAuthor::Pa,
        token: Some(identity.token_id),
        verification,
    };
    let key = VerificationKey { run, job, round: 0 };
    let write = async |source: Source, request: CreateFinding| {
        fixture.findings.create(fixture.bob(), source, &task.as_str().into(), request).await
    };
    let rejected = |written: Result<FindingView, FindingError>, why: &str| {
        let Err(FindingError::NotVerifier(said)) = written else { panic!("{why}: {written:?}") };
        assert!(said.contains(why), "{said}");
    };

    rejected(write(of(None), met()).await, "issued for no verification");
    rejected(write(of(Some(key)), met()).await, "has not ended");
    judged.end(job).await;
    rejected(write(of(None), met()).await, "issued for no verification");
    let elsewhere = CreateFinding { job_id: Some(JobId::generate()), ..met() };
    rejected(write(of(Some(key)), elsewhere).await, "issued to verify job");
    let strange = VerificationKey { job: JobId::generate(), ..key };
    rejected(write(of(Some(strange)), met()).await, "of another task");
    let past = VerificationKey { run: RunId::generate(), ..key };
    rejected(write(of(Some(past)), met()).await, "no longer the run");
    assert_eq!(judged.findings().await, []);

    let written = write(of(Some(key)), met()).await.unwrap();

    assert_eq!((written.agent_type, written.job_id), (FindingAuthor::Pa, Some(job)));
    assert_eq!((written.run_id, written.step_index), (Some(run), Some(0)));
}

async fn findings_of_rules_are_the_rules_own() {
    let judged = VerdictFixture::unjudged(1).await;

    judged.verdict().await;

    let found = judged.findings().await;
    let by: Vec<_> = found.iter().map(|it| (it.agent_type, it.token_id)).collect();
    assert_eq!(by, [(FindingAuthor::Rule, None), (FindingAuthor::Rule, None)]);
    assert_eq!(found[0].location.as_deref(), Some("exit_code"));
    assert_eq!(found[1].location, Some(criterion_location(0)));
    assert_eq!(found[1].status, FindingStatus::NeedsClarification);
}
