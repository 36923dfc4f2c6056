//! Renders runs for people.

use std::fmt::Write as _;

use chrono::TimeDelta;
use cynode_domain::run::RunState;
use cynode_wire::runs::{
    ActView, DecisionView, DiffView, HistoryItem, HistoryRow, PlaceView, QuestionView, RunDetail,
    RunView, StepView,
};
use serde_json::Value;

use crate::task::checks;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

pub(crate) fn runs(runs: &[RunView], ctx: RenderContext) -> String {
    let rows = runs.iter().map(|run| {
        vec![
            run.task_name.clone(),
            run.state.to_string(),
            run.place.as_ref().map(current_node).unwrap_or_default(),
            relative_time::format_relative(ctx.now, run.created_at),
            table::truncate(run.waits_for.as_deref().unwrap_or_default(), 60),
            run.id.to_string(),
        ]
    });
    table::render_table(&["TASK", "STATE", "NODE", "CREATED", "WAITS FOR", "RUN"], rows, ctx)
}

pub(crate) fn detail(found: &RunDetail, ctx: RenderContext) -> String {
    let run = &found.run;
    let lease = run.lease.map(|lease| {
        let (holder, ends) =
            (lease.holder_id, relative_time::format_relative(ctx.now, lease.expires_at));
        format!("runner {holder}, epoch {}, lease ends {ends}", lease.epoch)
    });
    let parent =
        run.parent.map(|parent| format!("row {} of run {}", parent.sequence, parent.run_id));
    let pairs = [
        ("run", Some(run.id.to_string())),
        ("task", Some(run.task_name.clone())),
        ("state", Some(run.state.to_string())),
        ("waits for", run.waits_for.clone()),
        ("question", found.question.as_ref().map(|pending| render_question(pending, ctx))),
        ("node", run.place.as_ref().map(current_node)),
        ("row", run.place.as_ref().map(format_row)),
        ("step", found.step.as_ref().map(format_step)),
        ("driven by", lease),
        ("derived from", parent),
        ("summary", found.summary.clone()),
        ("checked", checks::format_verification(found.verification)),
        ("created", Some(relative_time::format_relative(ctx.now, run.created_at))),
        ("started", run.started_at.map(|then| relative_time::format_relative(ctx.now, then))),
        ("ended", run.ended_at.map(|then| relative_time::format_relative(ctx.now, then))),
        ("graph", run.graph_version.map(|version| format!("version {version}"))),
        ("trace", Some(run.trace_id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

/// One line with the state of a run after a command.
pub(crate) fn render_outcome(found: &RunDetail, _look: RenderContext) -> String {
    let run = &found.run;
    let task = &run.task_name;
    if run.state == RunState::Pausing {
        return format!("{task} will pause after the current step");
    }
    if run.state == RunState::NeedsAnswer {
        return format!("{task} is waiting for your answer");
    }
    let waits_for = run.waits_for.as_ref().map(|what| format!(", waiting for {what}"));
    format!("{task} is {}{}", run.state, waits_for.unwrap_or_default())
}

fn current_node(place: &PlaceView) -> String {
    place.node.clone().unwrap_or_else(|| place.last_node.clone())
}

fn format_row(place: &PlaceView) -> String {
    format!("{} ({}, {})", place.sequence, place.last_node, place.edge)
}

fn format_step(step: &StepView) -> String {
    let StepView { index, of, action, attempt, max_attempts, .. } = step;
    let action = table::truncate(action, 80);
    format!("{} of {of}, attempt {attempt} of {max_attempts}: {action}", index + 1)
}

/// Renders a question with its context, and its answer.
pub(crate) fn render_question(pending: &QuestionView, ctx: RenderContext) -> String {
    let mut text = pending.question.text.clone();
    for line in &pending.question.about {
        let _ = write!(text, "\n  {}", table::truncate(line, 120));
    }
    let _ = write!(
        text,
        "\nasked by {} {}",
        pending.asked_by,
        relative_time::format_relative(ctx.now, pending.asked_at)
    );
    if let Some(until) = pending.answer_by {
        let _ = write!(text, ", answer due {}", relative_time::format_relative(ctx.now, until));
    }
    if let Some(answer) = &pending.answer {
        let by = answer.by.as_deref().unwrap_or("timeout");
        let form = answer.reply.as_ref().map_or("no answer", |reply| reply.form().as_str());
        let _ = write!(text, "\nanswered by {by}: {form}");
    }
    text
}

/// Transitions and interventions, one per line.
pub(crate) fn history(items: &[HistoryItem], ctx: RenderContext) -> String {
    let rows = items.iter().map(|item| match item {
        HistoryItem::Transition(row) => transition_row(row, ctx),
        HistoryItem::Act(act) => self::intervention_row(act, ctx),
    });
    table::render_table(&["ROW", "NODE", "EDGE", "STEP", "CHANGED", "TOOK", "WHEN"], rows, ctx)
}

fn transition_row(row: &HistoryRow, ctx: RenderContext) -> Vec<String> {
    vec![
        row.sequence.to_string(),
        row.node.clone(),
        row.edge.clone(),
        row.step_index.map(|index| (index + 1).to_string()).unwrap_or_default(),
        table::truncate(&row.changed.join(", "), 60),
        relative_time::format_duration(TimeDelta::milliseconds(row.duration_ms)),
        relative_time::format_relative(ctx.now, row.recorded_at),
    ]
}

fn intervention_row(act: &ActView, ctx: RenderContext) -> Vec<String> {
    let when = relative_time::format_relative(ctx.now, act.recorded_at);
    let none = String::new;
    vec![
        "-".to_owned(),
        act.by.clone(),
        act.verb.to_string(),
        none(),
        format_details(act),
        none(),
        when,
    ]
}

/// Formats the details of an intervention on one line.
fn format_details(act: &ActView) -> String {
    let Value::Object(details) = &act.detail else {
        return String::new();
    };
    let parts = details.iter().filter(|(_, value)| !value.is_null());
    let parts: Vec<_> =
        parts.map(|(name, value)| format!("{name}: {}", format_value(value))).collect();
    table::truncate(&parts.join(", "), 60)
}

/// Differences, one path per line.
pub(crate) fn diff(diff: &DiffView, ctx: RenderContext) -> String {
    let mut text = format!("from row {} of run {}\n", diff.from.sequence, diff.from.run_id);
    let _ = writeln!(text, "to   row {} of run {}", diff.to.sequence, diff.to.run_id);
    if diff.differences.is_empty() {
        text.push_str("no difference");
        return text;
    }
    let cell = |value: &Option<Value>| match value {
        Some(value) => table::truncate(&format_value(value), 60),
        None => "-".to_owned(),
    };
    let rows = diff
        .differences
        .iter()
        .map(|one| vec![one.path.clone(), cell(&one.before), cell(&one.after)]);
    text.push_str(&table::render_table(&["PATH", "BEFORE", "AFTER"], rows, ctx));
    if diff.left_out > 0 {
        let _ = write!(text, "\nand {} more", diff.left_out);
    }
    text
}

/// Decisions, one paragraph each.
pub(crate) fn render_decisions(decisions: &[DecisionView], ctx: RenderContext) -> String {
    let parts = decisions.iter().map(|decision| {
        let when = relative_time::format_relative(ctx.now, decision.recorded_at);
        let mut text =
            format!("row {} {}: {} ({when})\n", decision.sequence, decision.node, decision.about);
        for input in &decision.input {
            let _ = writeln!(text, "  from   {}", table::truncate(input, 200));
        }
        let _ = writeln!(text, "  by     {}", table::truncate(&decision.made_by, 200));
        let _ = write!(text, "  result {}", table::truncate(&decision.led_to, 200));
        text
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// A JSON value; strings without quotes.
fn format_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use serde_json::json;

    use super::*;

    fn render_context() -> RenderContext {
        let now = DateTime::from_timestamp(1_000, 0).unwrap();
        RenderContext { now, width: None }
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
        insta::assert_snapshot!(detail(&found(), render_context()));
    }

    #[test]
    fn runs_are_listed_with_their_state_and_node() {
        insta::assert_snapshot!(runs(&[found().run], render_context()));
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

        insta::assert_snapshot!(history(&items, render_context()));
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
            "sequence": 5, "node": "verify_step_result", "about": "verification of step 1",
            "input": ["met: the command exited with code 0", "attempt 1 of 1"],
            "made_by": "rule: exit_code", "led_to": "accepted: it was the last step",
            "recorded_at": "1970-01-01T00:16:00Z",
        }))
        .unwrap();

        insta::assert_snapshot!(self::diff(&diff, render_context()));
        insta::assert_snapshot!(render_decisions(&[decision], render_context()));
    }
}
