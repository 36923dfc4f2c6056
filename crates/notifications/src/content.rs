//! The message that an event sends to a person.

use cynode_domain::notice::{NoticeKind, NoticeMessage};
use cynode_domain::plan::InputMode;
use cynode_store::{OutboxEvent, Task};
use serde_json::Value;

use crate::text::{clean_block, clean_line};

const MAX_NAME_CHARS: usize = 100;
const MAX_TEXT_CHARS: usize = 2_000;
const MAX_DETAILS: usize = 20;
const MAX_DETAIL_CHARS: usize = 300;

/// The message of an event about a task; `None` if it notifies no person.
pub(crate) fn compose(event: &OutboxEvent, task: Option<&Task>) -> Option<NoticeMessage> {
    let name = task.map(|task| clean_line(&task.spec.name, MAX_NAME_CHARS));
    let shown = name.clone().unwrap_or_default();
    let argument = task.map(command_argument).unwrap_or_default();
    let is_request = task.is_some_and(|task| task.spec.input_mode == InputMode::Request);
    let data = &event.data;
    let (kind, title, command) = match event.kind.as_str() {
        "run.asked" => {
            let kind = match data["question"]["kind"].as_str() {
                Some("approval") => NoticeKind::Approval,
                _ => NoticeKind::Question,
            };
            let title = if kind == NoticeKind::Approval {
                format!("Task {shown} needs your approval")
            } else {
                format!("Task {shown} asks a question")
            };
            (kind, title, format!("cynork run show {argument}"))
        }
        "request.waiting" => {
            let (kind, what) = match data["question"]["subject"]["about"].as_str() {
                Some("budget") => (NoticeKind::BudgetStop, "has spent its budget"),
                Some("review") => (NoticeKind::Approval, "needs your review"),
                Some("phase" | "unit_failed" | "review_cap") => {
                    (NoticeKind::Escalation, "cannot go on without you")
                }
                _ => (NoticeKind::Question, "asks a question"),
            };
            (kind, format!("Request {shown} {what}"), format!("cynork pm show {argument}"))
        }
        "agent.needs_person" => {
            let title = format!("An agent of {shown} asks for a person");
            (NoticeKind::Question, title, format!("cynork inbox list --task {argument}"))
        }
        "agent.report_given_up" => {
            let title = format!("A report of an agent of {shown} could not be processed");
            (NoticeKind::Escalation, title, format!("cynork inbox list --task {argument}"))
        }
        "task.closed" if is_request => {
            let status = clean_line(data["status"].as_str().unwrap_or("closed"), 20);
            let title = format!("Request {shown} has ended: {status}");
            (NoticeKind::RequestEnded, title, format!("cynork pm show {argument}"))
        }
        "tool.changed" => {
            let title = "A tool waits for approval".to_owned();
            (NoticeKind::ToolChanged, title, "cynork tools review".to_owned())
        }
        _ => return None,
    };
    let (text, details) = quoted_text(event);
    Some(NoticeMessage {
        kind,
        title,
        task_id: task.map(|task| task.spec.id),
        task_name: name,
        project_id: task.map(|task| task.spec.project),
        text: clean_block(&text, MAX_TEXT_CHARS),
        details: details
            .iter()
            .take(MAX_DETAILS)
            .map(|line| clean_line(line, MAX_DETAIL_CHARS))
            .filter(|line| !line.is_empty())
            .collect(),
        command: Some(command),
        occurred_at: event.occurred_at,
    })
}

/// What agents, models and people wrote.
fn quoted_text(event: &OutboxEvent) -> (String, Vec<String>) {
    let data = &event.data;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(text).collect()
    };
    match event.kind.as_str() {
        "run.asked" => (text(&data["question"]["text"]), lines(&data["question"]["about"])),
        "request.waiting" => {
            let question = &data["question"]["question"];
            (text(&question["text"]), lines(&question["about"]))
        }
        "tool.changed" => {
            let change = match data["change"].as_str() {
                Some("new") => "new",
                _ => "changed",
            };
            (format!("{} ({change})", text(&data["tool"])), vec![])
        }
        "task.closed" => (text(&data["summary"]), vec![]),
        _ => (text(&data["reason"]), vec![]),
    }
}

/// The name if a shell takes it as one word, else the id.
fn command_argument(task: &Task) -> String {
    let name = task.spec.name.as_str();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        task.spec.id.to_string()
    }
}
