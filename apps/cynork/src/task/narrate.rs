//! Events told to people: one line for what happened, a few words for what goes on now.

use chrono::TimeDelta;
use cynode_domain::job::Ending;
use cynode_domain::status::ShownTaskStatus;
use cynode_domain::verification::VerificationStatus;
use cynode_wire::events::Event;
use cynode_wire::tasks::TaskView;
use serde_json::Value;

use super::checks;
use crate::age;
use crate::out::Out;
use crate::table::short;

const GREEN: u8 = 32;
const RED: u8 = 31;
const YELLOW: u8 = 33;
const DIM: u8 = 2;
/// What a task does whose run asked a question.
pub(super) const WAITS_FOR_ANSWER: &str = "waiting for your answer";

/// What to show of one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// A line that stays.
    pub(crate) line: Option<String>,
    /// What goes on from now.
    pub(crate) doing: Option<String>,
}

/// Tells one event of the task of this name. Kinds this version does not know are named as they are.
pub(crate) fn tell(event: &Event, task: &str, out: Out) -> Told {
    let data = &event.data;
    match event.kind.as_str() {
        "task.created" => line(format!("{} task created", out.paint(DIM, "•"))),
        "task.updated" => line(format!("{} changed by {}", out.paint(DIM, "•"), by(data))),
        "task.started" => doing("a runner has taken the task".to_owned()),
        "workflow.transition" => Told { line: Some(transition(data, out)), doing: None },
        "job.queued" => doing(format!("{}waiting for a worker node", step(data))),
        "job.placed" => line(placed(data, out)),
        "job.started" => doing(format!("{}running", step(data))),
        "job.ended" => line(job_ended(data, out)),
        "finding.created" => found(data, out),
        "analyst.died" => line(analyst_died(data, out)),
        "run.paused" => line(format!("{} paused by {}", out.paint(DIM, "•"), by(data))),
        "run.asked" => {
            Told { line: Some(asked(data, task, out)), doing: Some(WAITS_FOR_ANSWER.to_owned()) }
        }
        "run.answered" => Told {
            line: Some(format!("{} answered by {}", out.paint(DIM, "•"), by(data))),
            doing: Some("waiting for a runner".to_owned()),
        },
        "run.unanswered" => line(format!("{} nobody answered in time", out.paint(RED, "•"))),
        "run.retried" => line(format!("{} retried by {}", out.paint(DIM, "•"), by(data))),
        "run.forked" => line(format!("{} forked by {}", out.paint(DIM, "•"), by(data))),
        "run.resumed" => line(format!("{} resumed by {}", out.paint(DIM, "•"), by(data))),
        "task.closed" => Told { line: Some(closed(data, out)), doing: None },
        other => line(format!("{} {}", out.paint(DIM, "•"), short(other, 60))),
    }
}

/// The closing line of a task: its mark, status and summary.
pub(crate) fn closing(task: &TaskView, out: Out) -> String {
    ended(task.status.as_str(), task.verification, task.summary.as_deref(), out)
}

/// A status that this version does not know is named as it is, and is no success.
fn ended(
    status: &str,
    verification: Option<VerificationStatus>,
    summary: Option<&str>,
    out: Out,
) -> String {
    let is_completed = status.parse() == Ok(ShownTaskStatus::Completed);
    let (colour, mark) = match (is_completed, verification) {
        (true, Some(VerificationStatus::Unverified)) => (YELLOW, "?"),
        (true, _) => (GREEN, "✓"),
        (false, _) => (RED, "✗"),
    };
    let status = checks::status(status, verification);
    let summary =
        summary.filter(|text| !text.is_empty()).map(|text| format!(": {}", short(text, 300)));
    format!("{} {status}{}", out.paint(colour, mark), summary.unwrap_or_default())
}

/// Why a task does not go on.
pub(crate) fn waiting(reason: &str, out: Out) -> String {
    format!("{} {}", out.paint(YELLOW, "•"), short(reason, 200))
}

fn transition(data: &Value, out: Out) -> String {
    let node = data["node"].as_str().unwrap_or("a node");
    let mark = if node == "mark_failed" { out.paint(RED, "✗") } else { out.paint(GREEN, "✓") };
    let step = match data["step_index"].as_u64() {
        Some(index) => format!("step {}", index + 1),
        None => String::new(),
    };
    let took = match data["duration_ms"].as_i64() {
        Some(ms) => age::took(TimeDelta::milliseconds(ms)),
        None => String::new(),
    };
    format!("{mark} {:<20} {step:<8} {}", short(node, 40), out.paint(DIM, &took))
}

fn job_ended(data: &Value, out: Out) -> String {
    let ending: Option<Ending> = serde_json::from_value(data["ending"].clone()).ok();
    let success = ending.as_ref().is_some_and(Ending::is_success);
    let mark = if success { out.paint(GREEN, "•") } else { out.paint(RED, "•") };
    let words = ending.map_or_else(|| "ended".to_owned(), |ending| short(&ending.describe(), 200));
    format!("{mark} {}the command {words}", step(data))
}

fn placed(data: &Value, out: Out) -> String {
    let text = |name: &str| short(data[name].as_str().unwrap_or("?"), 120);
    format!("{} runs on node {}: {}", out.paint(DIM, "•"), text("node"), text("reason"))
}

fn analyst_died(data: &Value, out: Out) -> String {
    let number = |name: &str| data[name].as_u64().unwrap_or(0);
    format!(
        "{} {}the analyst died (attempt {} of {}): {}",
        out.paint(YELLOW, "•"),
        step(data),
        number("attempt"),
        number("attempts"),
        short(data["reason"].as_str().unwrap_or("unknown"), 120)
    )
}

/// That all is well is said by the verdict that follows.
fn found(data: &Value, out: Out) -> Told {
    match data["status"].as_str() {
        Some("pass") => Told::default(),
        status => {
            let status = short(&status.unwrap_or("unknown").replace('_', " "), 40);
            line(format!("{} {}a finding: {status}", out.paint(YELLOW, "•"), step(data)))
        }
    }
}

fn closed(data: &Value, out: Out) -> String {
    let status = data["status"].as_str().unwrap_or("closed");
    let verification = data["verification"].as_str().and_then(|word| word.parse().ok());
    ended(&short(status, 40), verification, data["summary"].as_str(), out)
}

/// A question stands still until somebody reads it, so that it is told whole.
fn asked(data: &Value, task: &str, out: Out) -> String {
    let question = &data["question"];
    let mut text = format!(
        "{} {}",
        out.paint(YELLOW, "?"),
        short(question["text"].as_str().unwrap_or(""), 200)
    );
    for line in question["about"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text.push_str("\n    ");
        text.push_str(&short(line, 120));
    }
    let accepts =
        |form: &str| question["accepts"].as_array().is_some_and(|all| all.contains(&form.into()));
    let forms = [
        ("yes", "--yes"),
        ("commands", "--command 'COMMAND'"),
        ("text", "--text 'ANSWER'"),
        ("no", "--no"),
        ("retry", "--retry"),
    ];
    let flags: Vec<_> =
        forms.iter().filter(|(form, _)| accepts(form)).map(|(_, flag)| *flag).collect();
    let how = if flags.is_empty() { "--help" } else { &flags.join("` or `") };
    format!("{text}\n  the run waits for you: answer with `cynork run answer {task} {how}`")
}

fn by(data: &Value) -> String {
    short(data["by"].as_str().unwrap_or("somebody"), 40)
}

fn step(data: &Value) -> String {
    if let Some(number) = data["exec"].as_u64() {
        return format!("exec {number} of the project manager: ");
    }
    data["step_index"].as_u64().map(|index| format!("step {}: ", index + 1)).unwrap_or_default()
}

fn line(text: String) -> Told {
    Told { line: Some(text), doing: None }
}

fn doing(text: String) -> Told {
    Told { line: None, doing: Some(text) }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;
    use crate::cli::Format;
    use crate::out::{Style, Talk};

    const OUT: Out = Out { format: Format::Table, talk: Talk::Normal, style: Style::Lines };

    fn event(kind: &str, data: Value) -> Event {
        Event {
            id: "1".to_owned(),
            kind: kind.to_owned(),
            project_id: None,
            task_id: None,
            run_id: None,
            job_id: None,
            data,
            occurred_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_question_says_what_to_type() {
        let asked = |accepts: Value| {
            let question = json!({ "text": "Which files?", "accepts": accepts });
            let event = event("run.asked", json!({ "question": question }));
            tell(&event, "nicer", OUT).line.unwrap_or_default()
        };

        assert_eq!(
            asked(json!(["commands", "no"])),
            "? Which files?\n  the run waits for you: answer with `cynork run answer nicer --command \
             'COMMAND'` or `--no`"
        );
        assert!(asked(json!(["yes", "no"])).ends_with("answer nicer --yes` or `--no`"));
    }

    #[test]
    fn a_whole_run_reads_as_a_short_story() {
        let events = [
            event("task.created", json!({})),
            event("task.started", json!({})),
            event(
                "workflow.transition",
                json!({"node": "plan_steps", "edge": "planned", "duration_ms": 3}),
            ),
            event("job.queued", json!({"step_index": 0})),
            event("job.placed", json!({"node": "mill", "reason": "it has the most room"})),
            event("job.started", json!({"step_index": 0})),
            event("job.ended", json!({"step_index": 0, "ending": {"kind": "exited", "code": 3}})),
            event(
                "workflow.transition",
                json!({"node": "verify_step_result", "step_index": 0, "duration_ms": 1200}),
            ),
            event("workflow.transition", json!({"node": "mark_failed", "duration_ms": 1})),
            event(
                "task.closed",
                json!({"status": "failed", "summary": "the command exited with code 3"}),
            ),
            event("finding.created", json!({"status": "pass", "step_index": 0})),
            event("finding.created", json!({"status": "needs_clarification", "step_index": 0})),
            event(
                "analyst.died",
                json!({"step_index": 0, "attempt": 1, "attempts": 3, "reason": "signal: 9"}),
            ),
            event(
                "task.closed",
                json!({"status": "completed", "verification": "unverified", "summary": "so so"}),
            ),
            event("something.new", json!(null)),
        ];
        let story: Vec<String> = events
            .iter()
            .map(|event| tell(event, "build", OUT))
            .map(|told| {
                told.line.unwrap_or_else(|| format!("({})", told.doing.unwrap_or_default()))
            })
            .collect();

        insta::assert_snapshot!(story.join("\n"));
    }
}
