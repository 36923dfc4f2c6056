//! Every statement about a run is in one of its rows, or is "unknown".

mod recorded_runs;

use std::collections::BTreeSet;

use chrono::DateTime;
use cynode_domain::ids::{RunId, TaskId, UserId};
use cynode_workflow_state::changes::StateRecord;
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
