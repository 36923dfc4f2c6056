//! Renders tasks, runs, projects and worker nodes as short Markdown.
//!
//! Names and texts are untrusted: they are rendered inline and cannot form markup.

use cynode_domain::run::RunState;
use cynode_domain::text::last_chars;
use cynode_wire::apmas::MessageView;
use cynode_wire::nodes::NodeView;
use cynode_wire::projects::ProjectView;
use cynode_wire::runs::{RunDetail, RunView};
use cynode_wire::tasks::{LogsView, TaskView};

use crate::context::untrusted::inline;

/// The most characters of a task's output.
const LOG_CHARS: usize = 2000;

/// Renders a name as code.
pub(super) fn inline_code(text: &str) -> String {
    format!("`{}`", inline(text))
}

/// Renders lines under a heading, or `empty` if there are none.
pub(super) fn bullet_list(heading: &str, lines: &[String], empty: &str) -> String {
    if lines.is_empty() {
        return format!("{empty}\n");
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    format!("{heading}\n\n{}\n", lines.join("\n"))
}

pub(super) fn task_line(task: &TaskView) -> String {
    let mut line = format!("{} – {}", inline_code(&task.task_name), task.status);
    let more = task.summary.as_deref().or(task.blocked_reason.as_deref());
    if let Some(more) = more {
        line.push_str(": ");
        line.push_str(&inline(more));
    }
    line
}

pub(super) fn project_line(project: &ProjectView) -> String {
    let default = if project.is_default { ", the default one" } else { "" };
    let about = inline(&project.description);
    let about = if about.is_empty() { about } else { format!(": {about}") };
    format!("{} – {}{default}{about}", inline_code(&project.slug), inline(&project.display_name))
}

pub(super) fn node_line(node: &NodeView) -> String {
    let (slug, jobs) = (inline_code(&node.node_slug), node.running_jobs);
    let status = format!("{:?}", node.status).to_lowercase();
    format!("{slug} – {status}, {jobs} jobs, {} CPUs", node.capabilities.cpu_cores)
}

pub(super) fn run_line(run: &RunView) -> String {
    let waits = run.waits_for.as_deref().map(inline);
    let waits = waits.map(|what| format!(", waits for {what}")).unwrap_or_default();
    format!(
        "{} – {}{waits}, created {}",
        run.id,
        run.state,
        run.created_at.format("%Y-%m-%d %H:%M")
    )
}

/// Renders a task and its newest run.
pub(super) fn task_details(task: &TaskView, run: Option<&RunDetail>) -> String {
    let mut text = format!("{} is {}.", inline_code(&task.task_name), task.status);
    let mut add = |label: &str, value: &str| {
        text.extend(["\n- ", label, ": ", &inline(value)]);
    };
    if !task.prompt.trim().is_empty() {
        add("request", &task.prompt);
    }
    if !task.commands.is_empty() {
        add("commands", &task.commands.join("; "));
    }
    if let Some(summary) = &task.summary {
        add("result", summary);
    }
    if let Some(reason) = &task.blocked_reason {
        add("blocked", reason);
    }
    if let Some(run) = run {
        add("run", &format!("{} ({})", run.run.id, run.run.state));
        if let Some(step) = &run.step {
            let (at, of) = (step.index + 1, step.of);
            add("step", &format!("{at} of {of}, attempt {}: {}", step.attempt, step.action));
        }
        if let Some(waits) = &run.run.waits_for {
            add("waits for", waits);
        }
        if let Some(question) = open_question(run) {
            add("asks", question);
        }
    }
    text.push('\n');
    text
}

/// The open question of a run that waits for an answer.
pub(super) fn open_question(run: &RunDetail) -> Option<&str> {
    let pending = run.question.as_ref().filter(|pending| pending.answer.is_none())?;
    (run.run.state == RunState::NeedsAnswer).then_some(pending.question.text.as_str())
}

/// Renders a message of an agent that waits for a person, with the command that answers it.
pub(super) fn message_line(message: &MessageView, task: Option<&str>) -> String {
    let task = inline_code(task.unwrap_or(&message.task_id.to_string()));
    let (sender, content) = (inline(&message.sender), inline(&message.content));
    let reason = message.needs_person.as_ref().or(message.given_up.as_ref());
    let reason = reason.map(|reason| format!(" ({})", inline(reason))).unwrap_or_default();
    let how = inline_code(&format!("cynork inbox answer {} 'TEXT'", message.id));
    format!("{task}: message from {sender}: {content}{reason}. Answer with {how}")
}

/// Renders the end of a task's output.
pub(super) fn log_excerpt(name: &str, logs: &LogsView) -> String {
    let part = |label: &str, text: &str| {
        if text.trim().is_empty() {
            return format!("{label}: nothing\n");
        }
        let end = last_chars(text, LOG_CHARS);
        let note = if end.len() < text.len() { " (the end of it)" } else { "" };
        // The output must not close its own code block.
        let end = end.replace("```", "'''");
        format!("{label}{note}:\n\n```\n{}\n```\n", end.trim_end())
    };
    let (out, error) = (part("Output", &logs.stdout), part("Errors", &logs.stderr));
    format!("{}\n\n{out}\n{error}", inline_code(name))
}
