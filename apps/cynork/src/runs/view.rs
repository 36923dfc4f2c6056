//! What people see of a run.

use std::fmt::Write as _;

use chrono::TimeDelta;
use cynode_wire::runs::{
    ActView, DecisionView, DiffView, HistoryItem, HistoryRow, PlaceView, QuestionView, RunDetail,
    RunView, StepView,
};
use serde_json::Value;

use crate::out::Look;
use crate::task::checks;
use crate::{age, table};

/// Runs, one a line.
pub(crate) fn runs(runs: &[RunView], look: Look) -> String {
    let rows = runs.iter().map(|run| {
        vec![
            run.task_name.clone(),
            run.state.to_string(),
            run.place.as_ref().map(at).unwrap_or_default(),
            age::ago(look.now, run.created_at),
            table::short(run.waits_for.as_deref().unwrap_or_default(), 60),
            run.id.to_string(),
        ]
    });
    table::rows(&["TASK", "STATE", "NODE", "CREATED", "WAITS FOR", "RUN"], rows, look)
}

/// One run.
pub(crate) fn detail(found: &RunDetail, look: Look) -> String {
    let run = &found.run;
    let lease = run.lease.map(|lease| {
        let (holder, ends) = (lease.holder_id, age::ago(look.now, lease.expires_at));
        format!("runner {holder}, epoch {}, lease ends {ends}", lease.epoch)
    });
    let parent =
        run.parent.map(|parent| format!("row {} of run {}", parent.sequence, parent.run_id));
    let pairs = [
        ("run", Some(run.id.to_string())),
        ("task", Some(run.task_name.clone())),
        ("state", Some(run.state.to_string())),
        ("waits for", run.waits_for.clone()),
        ("question", found.question.as_ref().map(|asked| question(asked, look))),
        ("node", run.place.as_ref().map(at)),
        ("row", run.place.as_ref().map(row)),
        ("step", found.step.as_ref().map(step)),
        ("driven by", lease),
        ("goes on from", parent),
        ("summary", found.summary.clone()),
        ("checked", checks::verification(found.verification)),
        ("created", Some(age::ago(look.now, run.created_at))),
        ("started", run.started_at.map(|then| age::ago(look.now, then))),
        ("ended", run.ended_at.map(|then| age::ago(look.now, then))),
        ("graph", run.graph_version.map(|version| format!("version {version}"))),
        ("trace", Some(run.trace_id.to_string())),
    ];
    table::pairs(&pairs, look)
}

/// What a verb made of a run, in one line.
pub(crate) fn outcome(found: &RunDetail, _look: Look) -> String {
    let run = &found.run;
    let waits_for = run.waits_for.as_ref().map(|what| format!(", waits for {what}"));
    format!("{} is {}{}", run.task_name, run.state, waits_for.unwrap_or_default())
}

fn at(place: &PlaceView) -> String {
    place.node.clone().unwrap_or_else(|| place.last_node.clone())
}

fn row(place: &PlaceView) -> String {
    format!("{} ({}, {})", place.sequence, place.last_node, place.edge)
}

fn step(step: &StepView) -> String {
    let StepView { index, of, action, attempt, max_attempts, .. } = step;
    let action = table::short(action, 80);
    format!("{} of {of}, attempt {attempt} of {max_attempts}: {action}", index + 1)
}

/// A question with what it is about, and its answer.
pub(crate) fn question(asked: &QuestionView, look: Look) -> String {
    let mut text = asked.question.text.clone();
    for line in &asked.question.about {
        let _ = write!(text, "\n  {}", table::short(line, 120));
    }
    let _ = write!(text, "\nasked by {} {}", asked.asked_by, age::ago(look.now, asked.asked_at));
    if let Some(until) = asked.answer_by {
        let _ = write!(text, ", to be answered {}", age::ago(look.now, until));
    }
    if let Some(answer) = &asked.answer {
        let by = answer.by.as_deref().unwrap_or("nobody");
        let form = answer.reply.as_ref().map_or("nothing", |reply| reply.form().as_str());
        let _ = write!(text, "\nanswered by {by}: {form}");
    }
    text
}

/// Transitions and acts, one a line.
pub(crate) fn history(items: &[HistoryItem], look: Look) -> String {
    let rows = items.iter().map(|item| match item {
        HistoryItem::Transition(row) => transition(row, look),
        HistoryItem::Act(act) => self::act(act, look),
    });
    table::rows(&["ROW", "NODE", "EDGE", "STEP", "CHANGED", "TOOK", "WHEN"], rows, look)
}

fn transition(row: &HistoryRow, look: Look) -> Vec<String> {
    vec![
        row.sequence.to_string(),
        row.node.clone(),
        row.edge.clone(),
        row.step_index.map(|index| (index + 1).to_string()).unwrap_or_default(),
        table::short(&row.changed.join(", "), 60),
        age::took(TimeDelta::milliseconds(row.duration_ms)),
        age::ago(look.now, row.recorded_at),
    ]
}

fn act(act: &ActView, look: Look) -> Vec<String> {
    let when = age::ago(look.now, act.recorded_at);
    let none = String::new;
    vec!["-".to_owned(), act.by.clone(), act.verb.to_string(), none(), details(act), none(), when]
}

/// The details of an act in one line.
fn details(act: &ActView) -> String {
    let Value::Object(details) = &act.detail else {
        return String::new();
    };
    let told = details.iter().filter(|(_, value)| !value.is_null());
    let told: Vec<_> = told.map(|(name, value)| format!("{name}: {}", plain(value))).collect();
    table::short(&told.join(", "), 60)
}

/// What differs, a path each.
pub(crate) fn diff(diff: &DiffView, look: Look) -> String {
    let mut text = format!("from row {} of run {}\n", diff.from.sequence, diff.from.run_id);
    let _ = writeln!(text, "to   row {} of run {}", diff.to.sequence, diff.to.run_id);
    if diff.differences.is_empty() {
        text.push_str("no difference");
        return text;
    }
    let cell = |value: &Option<Value>| match value {
        Some(value) => table::short(&plain(value), 60),
        None => "-".to_owned(),
    };
    let rows = diff
        .differences
        .iter()
        .map(|one| vec![one.path.clone(), cell(&one.before), cell(&one.after)]);
    text.push_str(&table::rows(&["PATH", "BEFORE", "AFTER"], rows, look));
    if diff.left_out > 0 {
        let _ = write!(text, "\nand {} more", diff.left_out);
    }
    text
}

/// Decisions, a paragraph each.
pub(crate) fn decisions(decisions: &[DecisionView], look: Look) -> String {
    let told = decisions.iter().map(|decision| {
        let when = age::ago(look.now, decision.recorded_at);
        let mut text =
            format!("row {} {}: {} ({when})\n", decision.sequence, decision.node, decision.about);
        for input in &decision.input {
            let _ = writeln!(text, "  from   {}", table::short(input, 200));
        }
        let _ = writeln!(text, "  by     {}", table::short(&decision.made_by, 200));
        let _ = write!(text, "  led to {}", table::short(&decision.led_to, 200));
        text
    });
    told.collect::<Vec<_>>().join("\n")
}

/// A value without the quotes that a text has in JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use serde_json::json;

    use super::*;

    fn look() -> Look {
        let now = DateTime::from_timestamp(1_000, 0).unwrap();
        Look { now, width: None }
    }

    fn found() -> RunDetail {
        serde_json::from_value(json!({
            "id": "00000000-0000-0000-0000-000000000001",
            "task_id": "00000000-0000-0000-0000-000000000002",
            "task_name": "build",
            "project_id": "00000000-0000-0000-0000-000000000003",
            "trace_id": "00000000-0000-0000-0000-000000000004",
            "status": "running",
            "state": "needs_answer",
            "place": {"sequence": 1, "last_node": "load_task_context", "edge": "loaded", "node": "plan_steps"},
            "lease": {"holder_id": "00000000-0000-0000-0000-000000000005", "epoch": 2,
                "expires_at": "1970-01-01T00:16:50Z"},
            "waits_for": "a person's answer",
            "parent": {"run_id": "00000000-0000-0000-0000-000000000006", "sequence": 4},
            "created_at": "1970-01-01T00:10:00Z",
            "started_at": "1970-01-01T00:11:00Z",
            "ended_at": null,
            "step": {"index": 0, "of": 2, "action": "make", "attempt": 1, "max_attempts": 3},
            "question": {"kind": "approval", "text": "Run this plan?", "about": ["1. make"],
                "accepts": ["yes", "no"], "asked_by": "plan_steps",
                "asked_at": "1970-01-01T00:16:00Z", "answer_by": "1970-01-01T00:20:00Z"},
        }))
        .unwrap()
    }

    #[test]
    fn a_run_is_shown_with_what_it_waits_for() {
        insta::assert_snapshot!(detail(&found(), look()));
    }

    #[test]
    fn runs_are_listed_with_their_state_and_node() {
        insta::assert_snapshot!(runs(&[found().run], look()));
    }

    #[test]
    fn a_history_tells_transitions_and_acts_in_order() {
        let at = |seconds| DateTime::<Utc>::from_timestamp(seconds, 0).unwrap();
        let row = HistoryRow {
            sequence: 1,
            node: "load_task_context".to_owned(),
            edge: "loaded".to_owned(),
            next_node: Some("plan_steps".to_owned()),
            step_index: None,
            job_id: None,
            changed: vec!["bounds".to_owned(), "request".to_owned()],
            duration_ms: 12,
            recorded_at: at(990),
        };
        let act = ActView {
            sequence: 1,
            verb: cynode_domain::run::RunVerb::Pause,
            by: "ada".to_owned(),
            detail: json!({"reason": "lunch", "other": null}),
            recorded_at: at(995),
        };
        let items = [HistoryItem::Transition(row), HistoryItem::Act(act)];

        insta::assert_snapshot!(history(&items, look()));
    }

    #[test]
    fn a_diff_shows_both_sides_and_a_decision_its_whole_story() {
        let diff: DiffView = serde_json::from_value(json!({
            "from": {"run_id": "00000000-0000-0000-0000-000000000001", "sequence": 1},
            "to": {"run_id": "00000000-0000-0000-0000-000000000001", "sequence": 2},
            "differences": [{"path": "/plan/steps/0", "after": {"line": "make"}}, {"path": "/a", "before": 1, "after": "x"}],
            "left_out": 3,
        }))
        .unwrap();
        let decision: DecisionView = serde_json::from_value(json!({
            "sequence": 5, "node": "verify_step_result", "about": "whether step 1 is done",
            "input": ["met: the command exited with code 0", "attempt 1 of 1"],
            "made_by": "rule: exit_code", "led_to": "accepted: it was the last step",
            "recorded_at": "1970-01-01T00:16:00Z",
        }))
        .unwrap();

        insta::assert_snapshot!(self::diff(&diff, look()));
        insta::assert_snapshot!(decisions(&[decision], look()));
    }
}
