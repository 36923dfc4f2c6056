//! Explanations of runs whose states a runner recorded.

use cynode_domain::ids::TaskId;
use cynode_domain::job::{Action, JobEnding};
use cynode_domain::plan::{Plan, Step};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::{Finding, Verdict};
use cynode_workflow_state::{
    ContinuationOutcome, ContinuationRecord, DispatchedStepJob, Finish, JobResultSummary,
    NodeFailure, WorkflowStateSnapshot,
};
use serde_json::json;

use super::super::*;
use super::{stored, transition};

/// Records states as a runner sends them: the first in full, the others as changes.
struct RecordedRun {
    state: WorkflowState,
    stored: Option<Value>,
    snapshot: Option<WorkflowStateSnapshot>,
}

impl RecordedRun {
    fn new() -> Self {
        let state = WorkflowState::new(TaskId::generate());
        Self { state, stored: None, snapshot: None }
    }

    /// Applies a node's changes, stores the transition and explains it.
    fn advance(
        &mut self,
        (node, edge): (&str, &str),
        change: impl FnOnce(&mut WorkflowState),
    ) -> Option<DecisionView> {
        change(&mut self.state);
        let before = self.stored.clone();
        let after = match (&self.snapshot, before.clone()) {
            (Some(snapshot), Some(mut stored)) => {
                self.state.changes_since(snapshot).unwrap().apply(&mut stored).unwrap();
                stored
            }
            _ => serde_json::to_value(&self.state).unwrap(),
        };
        self.snapshot = Some(self.state.snapshot());
        self.stored = Some(after.clone());
        let decision = explain_transition(transition(node, edge), before.as_ref(), &after);
        decision.map(|(view, _)| view)
    }
}

fn parts(view: &DecisionView) -> (&str, Vec<&str>, &str, &str) {
    let input = view.input.iter().map(String::as_str).collect();
    (&view.about, input, &view.made_by, &view.led_to)
}

fn load_request(state: &mut WorkflowState) {
    let request = RunTaskRequest {
        mode: InputMode::Commands,
        prompt: String::new(),
        commands: vec!["make".to_owned(), "make test".to_owned()],
        expected_outputs: vec![],
        step_criteria: vec![],
        approve_plan: false,
    };
    state.request = Some(request.into());
    state.bounds.max_attempts = 2;
}

fn plan_steps(state: &mut WorkflowState) {
    let step = |line: &str| Step::new(Action::Command { line: line.to_owned() });
    let (assumptions, made_by) = (vec![], Some("rule: the commands of the task".to_owned()));
    let steps = vec![step("make"), step("make test")];
    state.plan = Plan { steps, assumptions, made_by }.into();
    state.request = None;
}

fn dispatch(state: &mut WorkflowState, job_id: JobId) {
    let (step_index, attempt) = (state.current_step_index, state.attempts() + 1);
    state.attempts_by_step.record(step_index, attempt);
    state.job = Some(DispatchedStepJob { job_id, step_index, attempt });
}

fn reject(state: &mut WorkflowState, job_id: JobId) {
    let result = JobResultSummary {
        job_id,
        status: JobStatus::Completed,
        ending: JobEnding::Exited { code: 3 },
        stdout_tail: String::new(),
        stderr_tail: String::new(),
    };
    state.last_result = Some(result.into());
    let finding = Finding::from_rule("exit_code", false, "it exited with code 3".to_owned());
    state.verification = Some(Verdict::from_findings(vec![finding]).into());
    let (how, reason) = (ContinuationOutcome::Retry, "it may be a hiccup".to_owned());
    state.continuation = Some(ContinuationRecord { job_id, number: 1, how, reason });
    let action = Some(Action::Command { line: "make -k".to_owned() });
    state.revision = Some(StepRevision { job_id, action, reason: "go on".to_owned() });
}

#[test]
fn a_run_is_explained_from_the_states_that_its_runner_writes() {
    let (mut run, job) = (RecordedRun::new(), JobId::generate());

    let loaded = run.advance(("load_task_context", "loaded"), load_request);
    let planned = run.advance((PLAN_NODE, "first_step"), plan_steps).unwrap();
    let dispatched =
        run.advance((DISPATCH_NODE, "dispatched"), |state| dispatch(state, job)).unwrap();
    let verified = run.advance((VERIFY_NODE, "retry_step"), |state| reject(state, job)).unwrap();
    let failed = run.advance((DISPATCH_NODE, FAILED_EDGE), |state| {
        let (node, reason) = (DISPATCH_NODE.to_owned(), "no node is left".to_owned());
        state.failure = Some(NodeFailure { node, reason, class: None, attempts: None });
    });
    let ended = run.advance((MARK_FAILED_NODE, "finished"), |state| {
        let (outcome, summary) = (Outcome::Failed, "Step 1 of 2 failed.".to_owned());
        state.finish = Some(Finish { outcome, summary, verification: None });
    });

    assert_eq!(loaded, None);
    assert_eq!(
        parts(&planned),
        (
            "plan of the task",
            vec!["command: make", "command: make test"],
            "rule: the commands of the task",
            "2 steps; the first: make"
        )
    );
    let (about, input, ..) = parts(&dispatched);
    assert_eq!((about, input), ("placement of step 1", vec!["attempt 1 of 2: make"]));
    assert_eq!(
        parts(&verified),
        (
            "verification of step 1",
            vec![
                "not met: it exited with code 3",
                "attempt 1 of 2",
                "continuation: it may be a hiccup",
                "replanned by the project manager: make -k (go on)",
            ],
            "rule: exit_code",
            "not accepted: another attempt follows"
        )
    );
    assert_eq!(failed.unwrap().input, ["no node is left"]);
    let ended = ended.unwrap();
    assert_eq!(
        (ended.input, &*ended.led_to),
        (vec!["Step 1 of 2 failed.".to_owned()], "the task is failed")
    );
}

#[test]
fn a_state_that_cannot_be_read_is_reported_and_explained_as_unknown() {
    let mut after = serde_json::to_value(WorkflowState::new(TaskId::generate())).unwrap();
    after["plan"]["steps"] = json!("two of them");
    let row = Transition { step_index: Some(1), ..transition(VERIFY_NODE, "all_verified") };

    let (view, job) = explain_transition(row, None, &after).unwrap();

    assert_eq!(job, None);
    assert_eq!(
        parts(&view),
        (
            "verification of step 2",
            vec!["unknown: the recorded state cannot be read"],
            "unknown",
            "finalize_summary"
        )
    );
}

#[test]
fn a_state_of_the_first_graph_version_is_explained_with_unknown_facts() {
    let row = Transition { step_index: Some(0), ..transition(DISPATCH_NODE, "dispatched") };

    let (view, _) = explain_transition(row, None, &stored(&json!({}))).unwrap();

    assert_eq!(view.input, ["attempt unknown of unknown: unknown"]);
}
