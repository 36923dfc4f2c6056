//! Rejected steps that a scripted project manager replans.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::{HolderId, JobId};
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::Step;
use cynode_domain::status::JobStatus;
use cynode_domain::suspension::{AUTHORED_BY_PERSON, REPLANNING_GRAPH_VERSION};
use cynode_execution::{WorkflowError, WorkflowService};
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::ProjectManager,
};
use cynode_resources::Signals;
use cynode_runtime::clock::SharedClock;
use cynode_wire::handoff::{Handoff, HandoffKind, ReplanHandoff};
use cynode_wire::jobs::{JobResult, Truncated};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::workflow::{
    DispatchStep, GraphVersions, LeaseToken, SaveCheckpoint, StartRun, VerifyStep,
};
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::engines::on_each_engine;

on_each_engine! {
    findings_go_to_the_project_manager_whose_command_is_run_next,
    a_command_of_a_person_is_handed_to_nobody,
    a_command_that_was_tried_is_no_new_plan,
    only_who_holds_a_run_whose_step_was_not_accepted_has_it_planned_anew,
}

/// Returns one answer and records the handoffs, which must have the production shape.
struct ScriptedReplanner {
    answer: Value,
    handed: Mutex<Vec<Handoff<ReplanHandoff>>>,
}

#[async_trait]
impl ProjectManager for ScriptedReplanner {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        assert_eq!(kind, HandoffKind::Replan);
        let handoff = serde_json::from_value(handoff).unwrap();
        self.handed.lock().unwrap().push(handoff);
        Ok(self.answer.clone())
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("it does not talk".to_owned()))
    }
}

/// A run of a prompt whose one step, planned by `author`, printed the wrong thing.
struct RejectedStepFixture {
    fixture: Catalogue,
    manager: Arc<ScriptedReplanner>,
    workflow: WorkflowService,
    lease: LeaseToken,
    job: JobId,
}

impl RejectedStepFixture {
    async fn new(author: &str, command: &str) -> Self {
        let mut fixture = Catalogue::new().await;
        let request = json!({
            "input_mode": "prompt", "prompt": "print ok",
            "acceptance_criteria": [{ "kind": "output_matches", "pattern": "ok" }],
            "attachments": [{ "name": "in.txt", "content_base64": "aGVsbG8=" }],
        });
        let request = serde_json::from_value(request).unwrap();
        fixture.task = fixture.tasks.create(fixture.bob(), request).await.unwrap();
        let outcome = json!({ "kind": "replanned", "command": command });
        let answer = json!({ "outcome": outcome, "reason": "it prints ok", "decisions": [] });
        let manager = Arc::new(ScriptedReplanner { answer, handed: Mutex::default() });
        let store = fixture.world.store.clone();
        let clock: SharedClock = fixture.world.clock.clone();
        let signals = Signals::new(store.engine());
        let handoffs = HandoffService::new(
            store.clone(),
            clock.clone(),
            signals.clone(),
            manager.clone(),
            HandoffOptions::default(),
        );
        let workflow = WorkflowService::new(store, clock, signals).with_handoffs(handoffs);
        let (task_id, holder_id) = (fixture.task.id, HolderId::generate());
        let graph_versions = Some(GraphVersions { oldest: 1, newest: 1 });
        let lease_ms = Some(3_600_000);
        let body = StartRun { task_id, holder_id, lease_ms, graph_versions };
        let lease = workflow.start(&body).await.unwrap().lease;
        let action = Action::Command { line: "echo no".to_owned() };
        let step = json!({ "action": action, "expected_outputs": [], "author": author });
        let state = json!({ "plan": { "steps": [step], "assumptions": [] } });
        workflow.checkpoint(planned(lease, state)).await.unwrap();
        let step = Step::new(action);
        let body = DispatchStep { lease, step_index: 0, attempt: 1, step };
        let job = workflow.dispatch(body).await.unwrap().job_id;
        Self { fixture, manager, workflow, lease, job }
    }

    /// The command succeeded, and its result was rejected.
    async fn judged(self) -> Self {
        let (job_id, result) = (self.job, printed("no\n", "a warning\n"));
        let closed: Result<_, cynode_store::Error> = self
            .fixture
            .world
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.job_close(job_id, JobStatus::Completed, Some(&json!(result))).await
                })
            })
            .await;
        assert!(closed.unwrap());
        let (lease, expected_outputs, criteria) = (self.lease, vec![], vec![]);
        let body = VerifyStep {
            lease,
            job_id,
            expected_outputs,
            criteria,
            is_last_step: true,
            wait_ms: 0,
        };
        self.workflow.verify_step(body).await.unwrap().verdict.unwrap();
        self
    }

    async fn replan(&self) -> Result<ReplanView, WorkflowError> {
        let (lease, job_id, wait_ms) = (self.lease, self.job, 30_000);
        self.workflow.replan_step(ReplanStep { lease, job_id, wait_ms }).await
    }

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

    fn handed(&self) -> Vec<Handoff<ReplanHandoff>> {
        self.manager.handed.lock().unwrap().clone()
    }
}

fn printed(stdout: &str, stderr: &str) -> JobResult {
    JobResult {
        ending: JobEnding::Exited { code: 0 },
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        truncated: Truncated::default(),
    }
}

fn planned(lease: LeaseToken, state: Value) -> SaveCheckpoint {
    SaveCheckpoint {
        lease,
        sequence: 1,
        last_node_id: "plan_steps".to_owned(),
        edge: "first_step".to_owned(),
        state: Some(state),
        changes: None,
        duration_ms: 1,
        lease_ms: None,
        step_index: None,
        job_id: None,
        finish: None,
    }
}

async fn findings_go_to_the_project_manager_whose_command_is_run_next() {
    let rejected = RejectedStepFixture::new("manager", "echo ok").await.judged().await;

    let (one, other) = tokio::join!(rejected.replan(), rejected.replan());

    let action = Action::Command { line: "echo ok".to_owned() };
    let reason = "it prints ok".to_owned();
    let view = ReplanView::Replanned { action, reason, needs_approval: false };
    assert_eq!((&one.unwrap(), &other.unwrap()), (&view, &view));
    let handed = rejected.handed();
    assert_eq!(handed.len(), 1, "asked twice, it is handed over once");
    let body = &handed[0].body;
    assert_eq!((body.request.as_str(), &body.tried[..]), ("print ok", &["echo no".to_owned()][..]));
    let finding = &body.findings[0];
    assert_eq!(body.findings.len(), 1, "what is met is not among them: {:?}", body.findings);
    assert_eq!(finding.message, "standard output does not match ok");
    assert_eq!(finding.location.as_deref(), Some("output_matches"));
    assert_eq!(finding.suggestion.as_deref(), Some("print output that matches ok"));
    let printed = (body.evidence.stdout.as_str(), body.evidence.stderr.as_str());
    assert_eq!(printed, ("no\n", "a warning\n"));
    let workspace = &handed[0].context.task.as_ref().unwrap().workspace;
    assert_eq!(workspace.attachments[0].path, "in.txt");
    assert_eq!(rejected.version().await, Some(REPLANNING_GRAPH_VERSION));
}

async fn a_command_of_a_person_is_handed_to_nobody() {
    let rejected = RejectedStepFixture::new("person", "echo ok").await.judged().await;

    let view = rejected.replan().await.unwrap();

    assert_eq!(view, ReplanView::Kept { reason: AUTHORED_BY_PERSON.to_owned() });
    assert!(rejected.handed().is_empty());
    assert_eq!(rejected.version().await, Some(1));
}

async fn a_command_that_was_tried_is_no_new_plan() {
    let rejected = RejectedStepFixture::new("manager", " echo no").await.judged().await;

    let view = rejected.replan().await.unwrap();

    let ReplanView::Kept { reason } = view else { panic!("{view:?}") };
    assert_eq!(reason, "the project manager proposed a command that was tried already");
}

async fn only_who_holds_a_run_whose_step_was_not_accepted_has_it_planned_anew() {
    let rejected = RejectedStepFixture::new("manager", "echo ok").await;
    let running = rejected.replan().await;
    let rejected = rejected.judged().await;
    let lease = LeaseToken { epoch: rejected.lease.epoch + 1, ..rejected.lease };
    let stale = ReplanStep { lease, job_id: rejected.job, wait_ms: 0 };

    let fenced = rejected.workflow.replan_step(stale).await;

    assert!(matches!(running, Err(WorkflowError::JobNotEnded(_))), "{running:?}");
    assert!(matches!(fenced, Err(WorkflowError::Fenced(_))), "{fenced:?}");
    assert!(rejected.handed().is_empty());
}
