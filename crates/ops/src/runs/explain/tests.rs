//! Generated histories: every statement about a run is in one of its rows, or says that it is unknown.

use std::collections::BTreeSet;

use chrono::DateTime;
use cynode_domain::changes::StateRecord;
use cynode_domain::ids::{RunId, TaskId};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::*;

/// Every word that explanations put around what is recorded. None of them says who decided, or why.
const WORDS: &[&str] = &[
    "accepted", "again", "and", "another", "attempt", "checked", "clear", "command", "done", "end",
    "ends", "fails", "first", "follows", "for", "goes", "how", "is", "it", "job", "last", "lines",
    "may", "met", "next", "no", "node", "not", "of", "on", "person", "prompt", "record", "rule",
    "rules", "run", "runs", "says", "script", "so", "step", "steps", "takes", "task", "the",
    "tried", "unknown", "was", "where", "whether", "which", "a",
];
/// Words that attribute a decision. `made_by` says them only of what is recorded with them.
const ATTRIBUTIONS: &[&str] = &["model", "person", "manager", "fallback", "rule"];

/// One row of a history, and the states around it.
#[derive(Debug, Clone)]
struct Recorded {
    row: Transition,
    before: Value,
    after: Value,
    /// Where its job was placed: the node, and by what.
    placed: Option<(String, Option<String>)>,
}

/// A word that occurs nowhere else.
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

fn states() -> impl Strategy<Value = (Value, Value)> {
    let request = (select(vec!["prompt", "commands", "script"]), marker(), marker());
    let finding = (select(vec!["pass", "fail", "unchecked"]), marker(), marker());
    let before = option::of(request).prop_map(|request| {
        let request = request.map(|(mode, prompt, command)| {
            json!({ "mode": mode, "prompt": prompt, "commands": [command] })
        });
        json!({ "request": request })
    });
    let after = (
        option::of((proptest::collection::vec(marker(), 0..3), option::of(made_by()))),
        option::of(proptest::collection::vec(finding, 0..3)),
        option::of(1_u32..4),
        option::of(1_u32..4),
        option::of(marker()),
        option::of((marker(), select(vec!["completed", "failed"]))),
    );
    let after = after.prop_map(|(plan, findings, attempt, most, failure, finish)| {
        let mut state = json!({ "current_step_index": 0 });
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
            state["bounds"] = json!({ "max_attempts": most });
        }
        if let Some(reason) = failure {
            state["failure"] = json!({ "node": "n", "reason": reason });
        }
        if let Some((summary, outcome)) = finish {
            state["finish"] = json!({ "outcome": outcome, "summary": summary });
        }
        state
    });
    (before, after)
}

fn recorded() -> impl Strategy<Value = Recorded> {
    let nodes = select(vec![PLAN, DISPATCH, VERIFY, FINALIZE, MARK_FAILED]);
    let edges = select(vec![
        "first_step",
        "no_steps",
        "dispatched",
        "next_step",
        "retry_step",
        "all_verified",
        "no_retry_left",
        "finished",
        FAILED,
    ]);
    let placed = option::of((marker(), option::of(made_by())));
    (nodes, edges, option::of(0_u32..3), any::<bool>(), states(), placed).prop_map(
        |(node, edge, step_index, has_job, (before, after), placed)| Recorded {
            row: Transition {
                run: RunId::generate(),
                task: TaskId::generate(),
                sequence: 1,
                node: node.to_owned(),
                edge: edge.to_owned(),
                step_index,
                job: has_job.then(JobId::generate),
                record: StateRecord::Whole(Value::Null),
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

fn explained(recorded: &Recorded) -> Option<DecisionView> {
    let Recorded { row, before, after, placed: given } = recorded.clone();
    let (view, job) = decision(row, &before, &after)?;
    let mut places = Places::new();
    if let (Some(job), Some((node, chosen))) = (job, given) {
        places.insert(job, Given { node, chosen });
    }
    Some(placed(view, job, &places))
}

fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// Every word and number in the rows; a step is counted from 1 in what is said.
fn facts(recorded: &Recorded) -> BTreeSet<String> {
    let Recorded { row, before, after, placed } = recorded;
    let mut facts = words(&format!("{before} {after} {} {} {placed:?}", row.node, row.edge));
    facts.extend(row.job.iter().flat_map(|job| words(&job.to_string())));
    facts.extend(next_node(&row.node, &row.edge).iter().flat_map(|node| words(node)));
    let index = row.step_index.or(Some(0));
    facts.extend(index.iter().flat_map(|index| [index + 1, index + 2]).map(|n| n.to_string()));
    let steps = after["plan"]["steps"].as_array().map_or(0, Vec::len);
    let lines = before["request"]["prompt"].as_str().map_or(0, |text| text.lines().count());
    facts.extend([steps, lines].map(|count| count.to_string()));
    facts
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
                    facts.contains(&word) || WORDS.contains(&word.as_str()),
                    "\"{word}\" of \"{statement}\" is in no row: {recorded:?}"
                );
            }
        }
        for who in ATTRIBUTIONS.iter().filter(|who| words(&view.made_by).contains(**who)) {
            let is_finding = *who == "rule" && recorded.row.node == VERIFY;
            prop_assert!(is_finding || facts.contains(*who), "{who} is in no row: {view:?}");
        }
    }

    #[test]
    fn who_decided_is_unknown_where_it_was_not_recorded(recorded in recorded()) {
        let mut blank = recorded;
        blank.placed = None;
        for state in [&mut blank.before, &mut blank.after] {
            state["plan"]["made_by"] = Value::Null;
            state["verification"] = Value::Null;
        }
        let Some(view) = explained(&blank) else { return Ok(()) };

        let says_node = blank.row.edge == FAILED || [FINALIZE, MARK_FAILED].contains(&&*blank.row.node);
        let expected = if says_node { format!("node: {}", blank.row.node) } else { UNKNOWN.to_owned() };
        prop_assert_eq!(view.made_by, expected);
    }
}

#[test]
fn a_plan_is_attributed_to_whoever_made_it() {
    let row = |made_by: Option<&str>| Recorded {
        row: Transition {
            run: RunId::generate(),
            task: TaskId::generate(),
            sequence: 1,
            node: PLAN.to_owned(),
            edge: "first_step".to_owned(),
            step_index: None,
            job: None,
            record: StateRecord::Whole(Value::Null),
            epoch: 1,
            duration_ms: 1,
            recorded_at: None,
        },
        before: json!({ "request": { "mode": "prompt", "prompt": "wash", "commands": [] } }),
        after: json!({ "plan": { "steps": [], "assumptions": [], "made_by": made_by } }),
        placed: None,
    };

    let by_model = explained(&row(Some("project manager, model m1: 1 commands"))).unwrap();
    let of_old = explained(&row(None)).unwrap();

    assert_eq!(by_model.made_by, "project manager, model m1: 1 commands");
    assert_eq!(of_old.made_by, "unknown");
}
