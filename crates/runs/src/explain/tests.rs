//! Every statement about a run is in one of its rows, or is "unknown".

use std::collections::BTreeSet;

use chrono::DateTime;
use cynode_domain::ids::{RunId, TaskId, UserId};
use cynode_domain::job::{Action, Ending};
use cynode_domain::plan::{Plan, Step};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::{Finding, Verdict};
use cynode_workflow_state::changes::StateRecord;
use cynode_workflow_state::{
    ContinuationOutcome, ContinuationRecord, DispatchedStepJob, Finish, JobResultSummary,
    NodeFailure, WorkflowStateSnapshot,
};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;

/// Every word of an explanation that is not quoted from a row. None of them attributes a decision or says that
/// something happened: those words are facts of the rows that record it.
const WORDS: &str = "a accepted again and another attempt checked command continuation end fails first follows \
                     for is it job last lines may met next no node not of on outcome placement plan prompt \
                     record retry run script so step steps task the unknown verification was which";
/// The same for the acts of a person.
const ACT_WORDS: &str = "of progress question run task the to unknown";
/// Words that attribute a decision. `made_by` has them only if they are recorded.
const ATTRIBUTIONS: &[&str] = &["model", "person", "manager", "fallback", "rule"];

/// The job of every recorded revision and continuation.
const JOB: &str = "00000000-0000-0000-0000-000000000000";

/// One row of a history, and the states around it.
#[derive(Debug, Clone)]
struct RecordedRow {
    row: Transition,
    before: Value,
    after: Value,
    /// The node of its job, and the author of the choice.
    placed: Option<(String, Option<String>)>,
}

/// A word that does not occur in the explanations.
fn marker() -> impl Strategy<Value = String> {
    "[q-z]{6,10}"
}

fn made_by() -> impl Strategy<Value = String> {
    (
        select(vec!["rule", "person", "project manager, model", "project manager, fallback"]),
        marker(),
    )
        .prop_map(|(who, why)| format!("{who}: {why}"))
}

/// A stored state with these fields besides the required ones.
fn stored(fields: &Value) -> Value {
    let task = "00000000-0000-0000-0000-000000000000";
    let mut state = json!({ "graph_version": 1, "task_id": task });
    state.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    state
}

fn states() -> impl Strategy<Value = (Value, Value)> {
    let request = (select(vec!["prompt", "commands", "script"]), marker(), marker());
    let finding = (select(vec!["pass", "fail", "unchecked", "unclear"]), marker(), marker());
    let replanning = (option::of(marker()), marker());
    let before = option::of(request).prop_map(|request| {
        let request = request.map(|(mode, prompt, command)| {
            json!({ "mode": mode, "prompt": prompt, "commands": [command], "expected_outputs": [] })
        });
        stored(&json!({ "request": request }))
    });
    let after = (
        option::of((proptest::collection::vec(marker(), 0..3), option::of(made_by()))),
        option::of(proptest::collection::vec(finding, 0..3)),
        option::of(1_u32..4),
        option::of(1_u32..4),
        option::of(marker()),
        option::of((marker(), select(vec!["completed", "failed"]))),
        option::of(replanning),
        option::of(marker()),
    );
    let after = after.prop_map(|recorded| {
        let (plan, findings, attempt, most, failure, finish, revision, continuation) = recorded;
        let mut state = stored(&json!({ "current_step_index": 0 }));
        if let Some((lines, made_by)) = plan {
            let step = |line: &String| json!({ "action": { "kind": "command", "line": line } });
            let steps: Vec<Value> = lines.iter().map(step).collect();
            state["plan"] = json!({ "steps": steps, "assumptions": [] });
            if let Some(made_by) = made_by {
                state["plan"]["made_by"] = made_by.into();
            }
        }
        if let Some(findings) = findings {
            let finding = |(status, rule, message): &(&str, String, String)| {
                json!({ "status": status, "rule": rule, "message": message })
            };
            let findings: Vec<Value> = findings.iter().map(finding).collect();
            state["verification"] = json!({ "status": "pass", "findings": findings, "recommended_actions": [] });
        }
        if let Some(attempt) = attempt {
            state["attempts_by_step"] = json!({ "0": attempt });
        }
        if let Some(most) = most {
            state["bounds"] =
                json!({ "limits": {}, "retry_interrupted": false, "max_attempts": most });
        }
        if let Some(reason) = failure {
            state["failure"] = json!({ "node": "n", "reason": reason });
        }
        if let Some((summary, outcome)) = finish {
            state["finish"] = json!({ "outcome": outcome, "summary": summary });
        }
        if let Some((line, reason)) = revision {
            let action = line.map(|line| json!({ "kind": "command", "line": line }));
            state["revision"] = json!({ "job_id": JOB, "action": action, "reason": reason });
        }
        if let Some(reason) = continuation {
            state["continuation"] =
                json!({ "job_id": JOB, "number": 1, "how": "retry", "reason": reason });
        }
        state
    });
    // A revision or continuation that was recorded before is not this transition's.
    (before, after, any::<bool>()).prop_map(|(mut before, after, is_old)| {
        for field in ["revision", "continuation"] {
            if let Some(recorded) = after.get(field).filter(|_| is_old) {
                before[field] = recorded.clone();
            }
        }
        (before, after)
    })
}

fn recorded() -> impl Strategy<Value = RecordedRow> {
    let nodes =
        select(vec![PLAN_NODE, DISPATCH_NODE, VERIFY_NODE, FINALIZE_NODE, MARK_FAILED_NODE]);
    let edges = select(vec![
        "first_step",
        "no_steps",
        "dispatched",
        "next_step",
        "retry_step",
        "all_verified",
        "no_retry_left",
        "finished",
        FAILED_EDGE,
    ]);
    let placed = option::of((marker(), option::of(made_by())));
    (nodes, edges, option::of(0_u32..3), any::<bool>(), states(), placed).prop_map(
        |(node, edge, step_index, has_job, (before, after), placed)| RecordedRow {
            row: Transition {
                run: RunId::generate(),
                task: TaskId::generate(),
                sequence: 1,
                node: node.to_owned(),
                edge: edge.to_owned(),
                step_index,
                job: has_job.then(JobId::generate),
                record: StateRecord::Full(Value::Null),
                epoch: 1,
                duration_ms: 1,
                recorded_at: Some(DateTime::UNIX_EPOCH),
            },
            before,
            after,
            placed: placed.filter(|_| has_job),
        },
    )
}

fn explained(recorded: &RecordedRow) -> Option<DecisionView> {
    let RecordedRow { row, before, after, placed: given } = recorded.clone();
    let (view, job) = explain_transition(row, Some(&before), &after)?;
    let mut places = JobPlacements::new();
    if let (Some(job), Some((node, chosen))) = (job, given) {
        places.insert(job, JobPlacement { node, chosen });
    }
    Some(add_placement(view, job, &places))
}

fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// Every word and number in the rows; explanations count steps from 1.
fn facts(recorded: &RecordedRow) -> BTreeSet<String> {
    let RecordedRow { row, before, after, placed } = recorded;
    let mut facts = words(&format!("{before} {after} {} {} {placed:?}", row.node, row.edge));
    facts.extend(row.job.iter().flat_map(|job| words(&job.to_string())));
    facts.extend(next_node(&row.node, &row.edge).iter().flat_map(|node| words(node)));
    let index = row.step_index.or(Some(0));
    facts.extend(index.iter().flat_map(|index| [index + 1, index + 2]).map(|n| n.to_string()));
    let steps = after["plan"]["steps"].as_array().map_or(0, Vec::len);
    let lines = before["request"]["prompt"].as_str().map_or(0, |text| text.lines().count());
    facts.extend([steps, lines].map(|count| count.to_string()));
    if row.node == VERIFY_NODE && row.edge != FAILED_EDGE {
        let findings = after["verification"]["findings"].as_array();
        let has =
            |status: &str| findings.iter().copied().flatten().any(|it| it["status"] == status);
        let is_new = |field: &str| !after[field].is_null() && after[field] != before[field];
        let replanned = is_new("revision") && !after["revision"]["action"].is_null();
        for (is_recorded, statement) in [
            (findings.is_some_and(|all| !all.is_empty()), "rule rules"),
            (has("unclear"), "unclear: a person decides"),
            (replanned, "replanned by the project manager"),
            (is_new("revision") && !replanned, "its command was kept"),
        ] {
            facts.extend(words(statement).into_iter().filter(|_| is_recorded));
        }
    }
    facts
}

/// An act of a person, with some of the details that its verb may have.
fn act() -> impl Strategy<Value = RunAction> {
    let verbs = [RunVerb::Pause, RunVerb::Resume, RunVerb::Answer, RunVerb::Retry, RunVerb::Fork];
    let detail = proptest::collection::btree_map(
        select(vec!["question", "comment", "reply", "run_id", "task"]),
        marker(),
        0..5,
    );
    (select(verbs.to_vec()), marker(), detail).prop_map(|(verb, handle, detail)| RunAction {
        run: RunId::generate(),
        task: TaskId::generate(),
        sequence: 1,
        verb,
        user: UserId::generate(),
        handle,
        detail: json!(detail),
        recorded_at: Some(DateTime::UNIX_EPOCH),
    })
}

proptest! {
    #[test]
    fn every_statement_about_a_run_is_on_record_or_unknown(recorded in recorded()) {
        let Some(view) = explained(&recorded) else { return Ok(()) };
        let facts = facts(&recorded);
        let statements = view.input.iter().chain([&view.about, &view.made_by, &view.led_to]);

        for statement in statements {
            for word in words(statement) {
                prop_assert!(
                    facts.contains(&word) || words(WORDS).contains(&word),
                    "\"{word}\" of \"{statement}\" is in no row: {recorded:?}"
                );
            }
        }
        for who in ATTRIBUTIONS.iter().filter(|who| words(&view.made_by).contains(**who)) {
            prop_assert!(facts.contains(*who), "{who} is in no row: {view:?}");
        }
        let RecordedRow { before, after, .. } = &recorded;
        let is_continued = view.input.iter().any(|line| line.starts_with("continuation: "));
        prop_assert!(!is_continued || after["continuation"] != before["continuation"], "{view:?}");
    }

    #[test]
    fn every_statement_about_an_act_of_a_person_is_on_record_or_unknown(act in act()) {
        let view = explain_act(act.clone());
        let facts = words(&format!("{} {}", act.verb, act.detail));

        prop_assert_eq!((view.node.as_str(), &view.made_by), (PERSON, &act.handle));
        for statement in view.input.iter().chain([&view.about, &view.led_to]) {
            for word in words(statement) {
                prop_assert!(
                    facts.contains(&word) || words(ACT_WORDS).contains(&word),
                    "\"{word}\" of \"{statement}\" is in no row: {act:?}"
                );
            }
        }
        for (verb, field) in [(RunVerb::Answer, "reply"), (RunVerb::Retry, "run_id"), (RunVerb::Fork, "task")] {
            if act.verb == verb {
                let recorded = act.detail[field].as_str().unwrap_or(UNKNOWN);
                prop_assert!(view.led_to.ends_with(recorded), "{view:?} {act:?}");
            }
        }
    }

    #[test]
    fn who_decided_is_unknown_where_it_was_not_recorded(recorded in recorded()) {
        let mut blank = recorded;
        blank.placed = None;
        for state in [&mut blank.before, &mut blank.after] {
            if let Some(plan) = state.get_mut("plan") {
                plan["made_by"] = Value::Null;
            }
            state["verification"] = Value::Null;
        }
        let Some(view) = explained(&blank) else { return Ok(()) };

        let says_node = blank.row.edge == FAILED_EDGE || [FINALIZE_NODE, MARK_FAILED_NODE].contains(&&*blank.row.node);
        let expected = if says_node { format!("node: {}", blank.row.node) } else { UNKNOWN.to_owned() };
        prop_assert_eq!(view.made_by, expected);
    }
}

fn transition(node: &str, edge: &str) -> Transition {
    Transition {
        run: RunId::generate(),
        task: TaskId::generate(),
        sequence: 1,
        node: node.to_owned(),
        edge: edge.to_owned(),
        step_index: None,
        job: None,
        record: StateRecord::Full(Value::Null),
        epoch: 1,
        duration_ms: 1,
        recorded_at: None,
    }
}

#[test]
fn a_plan_is_attributed_to_whoever_made_it() {
    let request =
        json!({ "mode": "prompt", "prompt": "wash", "commands": [], "expected_outputs": [] });
    let row = |made_by: Option<&str>| RecordedRow {
        row: transition(PLAN_NODE, "first_step"),
        before: stored(&json!({ "request": request })),
        after: stored(&json!({ "plan": { "steps": [], "assumptions": [], "made_by": made_by } })),
        placed: None,
    };

    let by_model = explained(&row(Some("project manager, model m1: 1 commands"))).unwrap();
    let of_old = explained(&row(None)).unwrap();

    assert_eq!(by_model.made_by, "project manager, model m1: 1 commands");
    assert_eq!(of_old.made_by, "unknown");
}

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
        ending: Ending::Exited { code: 3 },
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
