//! Criteria in prose of a step that is not the last: an analyst judges them when that step has ended.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_analysts::{
    AnalystLaunchError, AnalystLauncher, AnalystOptions, AnalystService, ManagedAnalyst,
};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity, criterion_location};
use cynode_domain::ids::{HolderId, JobId};
use cynode_domain::job::JobEnding;
use cynode_domain::plan::{self, Plan, Step};
use cynode_domain::question::{Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::status::JobStatus;
use cynode_domain::suspension::REPLANNING_GRAPH_VERSION;
use cynode_domain::verdict::{Verdict, VerdictStatus};
use cynode_execution::{WorkflowError, WorkflowService};
use cynode_execution::{findings::FindingService, findings::Source};
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::ProjectManager,
};
use cynode_resources::ActorKind;
use cynode_resources::agents::AgentTokens;
use cynode_resources::{Caller, Signals};
use cynode_runs::RunOperations;
use cynode_runtime::clock::SharedClock;
use cynode_wire::findings::{CreateFinding, FindingView};
use cynode_wire::handoff::HandoffKind;
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::page::PageQuery;
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::runs::AnswerRun;
use cynode_wire::workflow::{
    DispatchStep, GraphVersions, LeaseToken, SaveCheckpoint, StartRun, VerifyStep,
};
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    a_step_whose_prose_an_analyst_finds_met_is_accepted,
    a_step_whose_prose_an_analyst_finds_unmet_is_not_accepted,
    a_step_without_prose_of_its_own_costs_no_analyst,
    a_person_is_asked_about_the_prose_of_a_step_whose_analysts_died,
    a_run_with_criteria_of_steps_is_kept_from_older_runners,
}

/// Analysts with scripted findings, or that die without any.
struct ScriptedStepAnalyst {
    agents: AgentTokens,
    findings: FindingService,
    finds: Option<FindingStatus>,
    given: Mutex<Vec<Value>>,
}

#[async_trait]
impl AnalystLauncher for ScriptedStepAnalyst {
    async fn launch(&self, handoff: Value, _: Duration) -> Result<Value, AnalystLaunchError> {
        self.given.lock().unwrap().push(handoff["body"].clone());
        let Some(status) = self.finds else {
            return Err(AnalystLaunchError::Died("it ended with signal: 9 (SIGKILL)".to_owned()));
        };
        let token = handoff["context"]["agent_token"].as_str().unwrap();
        let identity = self.agents.authenticate(token).await.unwrap();
        let source = Source {
            author: FindingAuthor::Pa,
            token: Some(identity.token_id),
            verification: identity.origin.verification,
        };
        let finding = CreateFinding {
            status,
            severity: Severity::Info,
            message: "the list is sorted: as seen".to_owned(),
            location: Some(criterion_location(0)),
            suggestion: None,
            step_index: None,
            job_id: None,
        };
        let task = identity.task.unwrap().to_string();
        self.findings
            .create(&identity.caller, source, &task.as_str().into(), finding)
            .await
            .unwrap();
        Ok(json!({ "status": status, "findings": [] }))
    }
}

/// Requests an analyst of this orchestrator, as the project manager does.
#[derive(Default)]
struct StepCriteriaManager(Mutex<Option<(AnalystService, Caller)>>);

#[async_trait]
impl ProjectManager for StepCriteriaManager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        assert_eq!(kind, HandoffKind::Verify);
        let known = self.0.lock().unwrap().clone();
        let (analysts, caller) = known.unwrap();
        let job = serde_json::from_value(handoff["body"]["job_id"].clone()).unwrap();
        analysts.request(&caller, job).await.unwrap();
        Ok(json!({ "outcome": { "kind": "analyst_requested" } }))
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("only verifications here".to_owned()))
    }
}

/// A task of two commands and a criterion in prose of its own, before its run begins.
struct TwoStepFixture {
    fixture: Catalogue,
    workflow: WorkflowService,
    steering: RunOperations,
    launcher: Arc<ScriptedStepAnalyst>,
}

impl TwoStepFixture {
    /// The first command has these criteria; analysts find this, or die without it.
    async fn new(criteria_of_first: &[Value], finds: Option<FindingStatus>) -> Self {
        let mut fixture = Catalogue::new().await;
        let of_first = |criterion: &Value| json!({ "step_index": 0, "criterion": criterion });
        let step_criteria: Vec<Value> = criteria_of_first.iter().map(of_first).collect();
        let request = json!({
            "input_mode": "commands", "commands": ["seq 9", "true"],
            "acceptance_criteria": [text("it is complete")], "step_criteria": step_criteria,
        });
        let request = serde_json::from_value(request).unwrap();
        fixture.task = fixture.tasks.create(fixture.bob(), request).await.unwrap();
        let store = fixture.world.store.clone();
        let clock: SharedClock = fixture.world.clock.clone();
        let signals = Signals::new(store.engine());
        let manager = Arc::new(StepCriteriaManager::default());
        let handoffs = HandoffService::new(
            store.clone(),
            clock.clone(),
            signals.clone(),
            manager.clone(),
            HandoffOptions::default(),
        );
        let (agents, findings) = (fixture.world.agents.clone(), fixture.findings.clone());
        let launcher =
            Arc::new(ScriptedStepAnalyst { agents, findings, finds, given: Mutex::default() });
        let analysts = AnalystService::new(
            store.clone(),
            signals.clone(),
            handoffs,
            launcher.clone(),
            AnalystOptions::default(),
        );
        *manager.0.lock().unwrap() = Some((analysts.clone(), fixture.bob().clone()));
        let workflow = WorkflowService::new(store.clone(), clock.clone(), signals.clone())
            .with_analyst(Arc::new(ManagedAnalyst::new(analysts)));
        let steering = RunOperations::new(store, clock, signals);
        Self { fixture, workflow, steering, launcher }
    }

    async fn start(
        &self,
        graph_versions: Option<GraphVersions>,
    ) -> Result<LeaseToken, WorkflowError> {
        let (task_id, holder_id) = (self.fixture.task.id, HolderId::generate());
        let lease_ms = Some(3_600_000);
        let body = StartRun { task_id, holder_id, lease_ms, graph_versions };
        Ok(self.workflow.start(&body).await?.lease)
    }

    /// Plans the run as its runner does, and carries out the first step, which ends well.
    async fn first_step(self) -> FirstStepFixture {
        let lease = self.start(None).await.unwrap();
        let plan = self.plan().await;
        self.workflow.checkpoint(planned(lease, &plan)).await.unwrap();
        let step = plan.steps[0].clone();
        let body = DispatchStep { lease, step_index: 0, attempt: 1, step: step.clone() };
        let job = self.workflow.dispatch(body).await.unwrap().job_id;
        let result = json!(JobResult {
            ending: JobEnding::Exited { code: 0 },
            stdout: "1\n2\n".to_owned(),
            stderr: "seq: two are missing\n".to_owned(),
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
        FirstStepFixture { run: self, lease, job, step }
    }

    async fn plan(&self) -> Plan {
        let task = self.workflow.load_context(self.fixture.task.id).await.unwrap();
        let request = plan::PlannerInput {
            mode: task.input_mode,
            prompt: &task.prompt,
            commands: &task.commands,
            expected_outputs: &task.expected_outputs,
            step_criteria: &task.step_criteria,
        };
        plan::plan_by_rule(&request).unwrap()
    }

    /// The handoffs that analysts have received, oldest first.
    fn analyst_handoffs(&self) -> Vec<Value> {
        self.launcher.given.lock().unwrap().clone()
    }

    /// The findings about the task, oldest first.
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
}

/// The first of two steps, whose job has ended well.
struct FirstStepFixture {
    run: TwoStepFixture,
    lease: LeaseToken,
    job: JobId,
    step: Step,
}

impl FirstStepFixture {
    async fn verdict(&self) -> Verdict {
        loop {
            let body = VerifyStep {
                lease: self.lease,
                job_id: self.job,
                expected_outputs: vec![],
                criteria: self.step.criteria.clone(),
                is_last_step: false,
                wait_ms: 30_000,
            };
            if let Some(verdict) = self.run.workflow.verify_step(body).await.unwrap().verdict {
                return verdict;
            }
        }
    }
}

fn text(description: &str) -> Value {
    json!({ "kind": "text", "description": description })
}

fn planned(lease: LeaseToken, plan: &Plan) -> SaveCheckpoint {
    SaveCheckpoint {
        lease,
        sequence: 1,
        last_node_id: "plan_steps".to_owned(),
        edge: "first_step".to_owned(),
        state: Some(json!({ "plan": plan })),
        changes: None,
        duration_ms: 1,
        lease_ms: None,
        step_index: None,
        job_id: None,
        finish: None,
    }
}

async fn a_step_whose_prose_an_analyst_finds_met_is_accepted() {
    let run = TwoStepFixture::new(&[text("the list is sorted")], Some(FindingStatus::Pass)).await;
    let first = run.first_step().await;

    let verdict = first.verdict().await;

    assert_eq!(verdict.status, VerdictStatus::Pass, "{verdict:?}");
    let given = first.run.analyst_handoffs();
    assert_eq!(given.len(), 1);
    assert_eq!(given[0]["criteria"], json!(["the list is sorted"]), "and none of the task");
    assert_eq!((&given[0]["step_index"], &given[0]["attempt"]), (&json!(0), &json!(1)));
    assert_eq!(given[0]["evidence"]["stdout"], "1\n2\n");
    assert_eq!(given[0]["evidence"]["stderr"], "seq: two are missing\n");
    assert_eq!(given[0]["command"], "seq 9");
}

async fn a_step_whose_prose_an_analyst_finds_unmet_is_not_accepted() {
    let run = TwoStepFixture::new(&[text("the list is sorted")], Some(FindingStatus::Fail)).await;
    let first = run.first_step().await;

    let verdict = first.verdict().await;

    assert_eq!((verdict.status, verdict.is_accepted()), (VerdictStatus::Fail, false));
    assert_eq!(verdict.first_failure(), Some("the list is sorted: as seen"));
    let found = first.run.findings().await;
    let by_analyst = found.iter().find(|it| it.agent_type == FindingAuthor::Pa).unwrap();
    assert_eq!((by_analyst.step_index, by_analyst.job_id), (Some(0), Some(first.job)));
}

async fn a_step_without_prose_of_its_own_costs_no_analyst() {
    let by_rule = json!({ "kind": "output_matches", "pattern": "2" });
    for criteria in [vec![], vec![by_rule]] {
        let run = TwoStepFixture::new(&criteria, None).await;
        let first = run.first_step().await;

        let verdict = first.verdict().await;

        assert_eq!(verdict.status, VerdictStatus::Pass, "{verdict:?}");
        assert_eq!(verdict.findings.len(), 1 + criteria.len());
        assert!(first.run.analyst_handoffs().is_empty());
    }
}

async fn a_person_is_asked_about_the_prose_of_a_step_whose_analysts_died() {
    let run = TwoStepFixture::new(&[text("the list is sorted")], None).await;
    let first = run.first_step().await;

    let verdict = first.verdict().await;

    assert_eq!((verdict.status, verdict.is_accepted()), (VerdictStatus::Unclear, false));
    let open = verdict.open().next().unwrap();
    assert!(open.message.starts_with("the list is sorted (the analyst failed: 3 attempts"));
    assert_eq!(first.run.analyst_handoffs().len(), 3);
    let question = Question {
        kind: QuestionKind::Approval,
        text: "Step 1 of 2: 1 acceptance criterion could not be judged".to_owned(),
        about: vec![],
        accepts: vec![ReplyForm::Yes, ReplyForm::No, ReplyForm::Retry],
    };
    let (lease, node) = (first.lease, "verify_step_result".to_owned());
    let key = format!("2/{node}/ask/clarify");
    let TwoStepFixture { fixture, workflow, steering, .. } = &first.run;
    workflow.ask(SuspendForQuestion { lease, key, node, question }).await.unwrap();
    let answer = AnswerRun { reply: Reply::Yes {}, comment: None };
    let task = fixture.task.id.to_string();
    steering
        .answer_as(fixture.bob(), &task.as_str().into(), answer, ActorKind::Person)
        .await
        .unwrap();
    let found = first.run.findings().await;
    let last = found.last().unwrap();
    assert_eq!((last.agent_type, last.status), (FindingAuthor::User, FindingStatus::Pass));
    assert_eq!((last.step_index, last.job_id), (Some(0), Some(first.job)));
}

async fn a_run_with_criteria_of_steps_is_kept_from_older_runners() {
    let run = TwoStepFixture::new(&[text("the list is sorted")], None).await;
    let until = |newest| Some(GraphVersions { oldest: 1, newest });

    let older = run.start(until(REPLANNING_GRAPH_VERSION - 1)).await;
    let newer = run.start(until(REPLANNING_GRAPH_VERSION)).await;

    assert!(matches!(older, Err(WorkflowError::StartDenied { .. })), "{older:?}");
    assert!(newer.is_ok(), "{newer:?}");
}
