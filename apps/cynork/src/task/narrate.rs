//! Renders events for people: a line that stays, or the current activity.

use chrono::TimeDelta;
use cynode_domain::job::JobEnding;
use cynode_domain::status::ShownTaskStatus;
use cynode_domain::verification::VerificationStatus;
use cynode_wire::events::Event;
use cynode_wire::tasks::TaskView;
use serde_json::Value;

use super::checks;
use cynode_cli::out::CommandOutput;
use cynode_cli::relative_time;
use cynode_cli::table::truncate;

const GREEN: u8 = 32;
const RED: u8 = 31;
const YELLOW: u8 = 33;
const DIM: u8 = 2;
/// Activity of a task whose run asked a question.
pub(super) const WAITING_FOR_ANSWER: &str = "waiting for your answer";

/// Rendering of one event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RenderedEvent {
    /// A line that stays.
    pub(crate) line: Option<String>,
    /// The current activity.
    pub(crate) activity: Option<String>,
}

/// Renders one event of `task`. Unknown kinds are printed by name.
pub(crate) fn render_event(event: &Event, task: &str, out: CommandOutput) -> RenderedEvent {
    let data = &event.data;
    match event.kind.as_str() {
        "task.created" => with_line(format!("{} task created", out.paint(DIM, "•"))),
        "task.updated" => {
            with_line(format!("{} changed by {}", out.paint(DIM, "•"), format_actor(data)))
        }
        "task.artifacts_deleted" => {
            with_line(format!("{} files deleted by {}", out.paint(DIM, "•"), format_actor(data)))
        }
        "task.started" => with_activity("claimed by a runner".to_owned()),
        "workflow.transition" => {
            RenderedEvent { line: Some(render_transition(data, out)), activity: None }
        }
        "job.queued" => with_activity(format!("{}waiting for a worker node", step_prefix(data))),
        "job.placed" => with_line(render_placed(data, out)),
        "job.started" => with_activity(format!("{}running", step_prefix(data))),
        "job.ended" => with_line(render_job_ended(data, out)),
        "finding.created" => render_finding(data, out),
        "analyst.died" => with_line(render_analyst_failed(data, out)),
        "run.paused" => {
            with_line(format!("{} paused by {}", out.paint(DIM, "•"), format_actor(data)))
        }
        "run.asked" => RenderedEvent {
            line: Some(render_question(data, task, out)),
            activity: Some(WAITING_FOR_ANSWER.to_owned()),
        },
        "run.answered" => RenderedEvent {
            line: Some(format!("{} answered by {}", out.paint(DIM, "•"), format_actor(data))),
            activity: Some("waiting for a runner".to_owned()),
        },
        "run.unanswered" => with_line(format!("{} no answer in time", out.paint(RED, "•"))),
        "run.retried" => {
            with_line(format!("{} retried by {}", out.paint(DIM, "•"), format_actor(data)))
        }
        "run.forked" => {
            with_line(format!("{} forked by {}", out.paint(DIM, "•"), format_actor(data)))
        }
        "run.resumed" => {
            with_line(format!("{} resumed by {}", out.paint(DIM, "•"), format_actor(data)))
        }
        "task.closed" => RenderedEvent { line: Some(render_closed(data, out)), activity: None },
        other => with_line(format!("{} {}", out.paint(DIM, "•"), truncate(other, 60))),
    }
}

/// The closing line of a task: mark, status and summary.
pub(crate) fn render_closing(task: &TaskView, out: CommandOutput) -> String {
    format_outcome(task.status.as_str(), task.verification, task.summary.as_deref(), out)
}

/// An unknown status is printed as it is and counts as a failure.
fn format_outcome(
    status: &str,
    verification: Option<VerificationStatus>,
    summary: Option<&str>,
    out: CommandOutput,
) -> String {
    let is_completed = status.parse() == Ok(ShownTaskStatus::Completed);
    let (colour, mark) = match (is_completed, verification) {
        (true, Some(VerificationStatus::Unverified)) => (YELLOW, "?"),
        (true, _) => (GREEN, "✓"),
        (false, _) => (RED, "✗"),
    };
    let status = checks::format_status(status, verification);
    let summary =
        summary.filter(|text| !text.is_empty()).map(|text| format!(": {}", truncate(text, 300)));
    format!("{} {status}{}", out.paint(colour, mark), summary.unwrap_or_default())
}

/// Why a task is blocked.
pub(crate) fn render_blocked(reason: &str, out: CommandOutput) -> String {
    format!("{} {}", out.paint(YELLOW, "•"), truncate(reason, 200))
}

fn render_transition(data: &Value, out: CommandOutput) -> String {
    let node = data["node"].as_str().unwrap_or("a node");
    let mark = if node == "mark_failed" { out.paint(RED, "✗") } else { out.paint(GREEN, "✓") };
    let step = match data["step_index"].as_u64() {
        Some(index) => format!("step {}", index + 1),
        None => String::new(),
    };
    let took = match data["duration_ms"].as_i64() {
        Some(ms) => relative_time::format_duration(TimeDelta::milliseconds(ms)),
        None => String::new(),
    };
    format!("{mark} {:<20} {step:<8} {}", truncate(node, 40), out.paint(DIM, &took))
}

fn render_job_ended(data: &Value, out: CommandOutput) -> String {
    let ending: Option<JobEnding> = serde_json::from_value(data["ending"].clone()).ok();
    let success = ending.as_ref().is_some_and(JobEnding::is_success);
    let mark = if success { out.paint(GREEN, "•") } else { out.paint(RED, "•") };
    let words =
        ending.map_or_else(|| "ended".to_owned(), |ending| truncate(&ending.describe(), 200));
    format!("{mark} {}the command {words}", step_prefix(data))
}

fn render_placed(data: &Value, out: CommandOutput) -> String {
    let text = |name: &str| truncate(data[name].as_str().unwrap_or("?"), 120);
    format!("{} runs on node {}: {}", out.paint(DIM, "•"), text("node"), text("reason"))
}

fn render_analyst_failed(data: &Value, out: CommandOutput) -> String {
    let number = |name: &str| data[name].as_u64().unwrap_or(0);
    format!(
        "{} {}analyst failed (attempt {} of {}): {}",
        out.paint(YELLOW, "•"),
        step_prefix(data),
        number("attempt"),
        number("attempts"),
        truncate(data["reason"].as_str().unwrap_or("unknown"), 120)
    )
}

/// A passing finding prints nothing; the verdict follows.
fn render_finding(data: &Value, out: CommandOutput) -> RenderedEvent {
    match data["status"].as_str() {
        Some("pass") => RenderedEvent::default(),
        status => {
            let status = truncate(&status.unwrap_or("unknown").replace('_', " "), 40);
            with_line(format!("{} {}finding: {status}", out.paint(YELLOW, "•"), step_prefix(data)))
        }
    }
}

fn render_closed(data: &Value, out: CommandOutput) -> String {
    let status = data["status"].as_str().unwrap_or("closed");
    let verification = data["verification"].as_str().and_then(|word| word.parse().ok());
    format_outcome(&truncate(status, 40), verification, data["summary"].as_str(), out)
}

/// A question with its context and the command that answers it.
fn render_question(data: &Value, task: &str, out: CommandOutput) -> String {
    let question = &data["question"];
    let mut text = format!(
        "{} {}",
        out.paint(YELLOW, "?"),
        truncate(question["text"].as_str().unwrap_or(""), 200)
    );
    for line in question["about"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text.push_str("\n    ");
        text.push_str(&truncate(line, 120));
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
    format!("{text}\n  waiting for your answer: `cynork run answer {task} {how}`")
}

fn format_actor(data: &Value) -> String {
    truncate(data["by"].as_str().unwrap_or("unknown user"), 40)
}

fn step_prefix(data: &Value) -> String {
    if let Some(number) = data["exec"].as_u64() {
        return format!("exec {number} of the project manager: ");
    }
    data["step_index"].as_u64().map(|index| format!("step {}: ", index + 1)).unwrap_or_default()
}

fn with_line(text: String) -> RenderedEvent {
    RenderedEvent { line: Some(text), activity: None }
}

fn with_activity(text: String) -> RenderedEvent {
    RenderedEvent { line: None, activity: Some(text) }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use serde_json::json;

    use super::*;
    use cynode_cli::global_args::Format;
    use cynode_cli::out::{TerminalStyle, Verbosity};

    const OUT: CommandOutput = CommandOutput {
        format: Format::Table,
        verbosity: Verbosity::Normal,
        style: TerminalStyle::Lines,
        is_raw: false,
    };

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
        let request = |accepts: Value| {
            let question = json!({ "text": "Which files?", "accepts": accepts });
            let event = event("run.asked", json!({ "question": question }));
            render_event(&event, "nicer", OUT).line.unwrap_or_default()
        };

        assert_eq!(
            request(json!(["commands", "no"])),
            "? Which files?\n  waiting for your answer: `cynork run answer nicer --command \
             'COMMAND'` or `--no`"
        );
        assert!(request(json!(["yes", "no"])).ends_with("answer nicer --yes` or `--no`"));
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
            .map(|event| render_event(event, "build", OUT))
            .map(|told| {
                told.line.unwrap_or_else(|| format!("({})", told.activity.unwrap_or_default()))
            })
            .collect();

        insta::assert_snapshot!(story.join("\n"));
    }
}
