//! Waits for a task with live progress and output.

use std::time::Duration;

use cynode_domain::status::ShownTaskStatus;
use cynode_domain::verification::VerificationStatus;
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::tasks::TaskView;

use super::checks;
use super::logs::POLL;
use super::narrate::{self, WAITING_FOR_ANSWER};
use super::output::TaskOutputPrinter;
use crate::follow::{EventFollower, FollowedEvent};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::progress::CommandProgress;
use cynode_cli::relative_time;

/// Wait for events while no job runs whose output could grow.
const IDLE: Duration = Duration::from_mins(1);

/// Waits until the task closes and prints its output; fails unless it completed.
pub(crate) async fn wait_and_print(
    task: &TaskView,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let closed = if app.out.format == Format::Json {
        let closed = wait_with_progress(task, None, app).await?;
        super::create::print_json_result(&closed, app).await?;
        closed
    } else {
        let mut output = TaskOutputPrinter::new(app.out, task.input_mode);
        let closed = wait_with_progress(task, Some(&mut output), app).await?;
        output.finish(&closed, app).await?;
        closed
    };
    let checked = checks::render_checks(&closed.steps).join("\n");
    if !checked.is_empty() {
        app.out.print_message(&checked);
    }
    app.out.print_message(&closing_line(&closed, app));
    check_outcome(&closed)
}

/// Shows progress, and `output` if given, until the task closes. Ctrl-C stops waiting, not the task.
pub(crate) async fn wait_with_progress(
    task: &TaskView,
    output: Option<&mut TaskOutputPrinter>,
    app: &mut CliContext,
) -> Result<TaskView, CliFailure> {
    let name = task.task_name.clone();
    let progress = CommandProgress::start(app.out, &format!("{name}: waiting for a runner"));
    tokio::select! {
        closed = follow_until_closed(task, output, app, &progress) => closed,
        _ = tokio::signal::ctrl_c() => Err(CliFailure::WaitInterrupted { task: name }),
    }
}

/// Fails unless the task completed; an unverified result fails too.
pub(crate) fn check_outcome(task: &TaskView) -> Result<(), CliFailure> {
    match (task.status, task.verification) {
        (ShownTaskStatus::Completed, Some(VerificationStatus::Unverified)) => {
            Err(CliFailure::Unverified)
        }
        (ShownTaskStatus::Completed, _) => Ok(()),
        _ => Err(CliFailure::NotCompleted),
    }
}

/// Whether a task is over. A retry reopens a closed task, so a `task.closed` event counts only for the newest run.
pub(crate) fn has_ended(closing: Option<&Event>, now: &TaskView) -> bool {
    let of_run = closing.and_then(|event| event.run_id);
    now.closed && (of_run.is_none() || of_run == now.run_id)
}

async fn follow_until_closed(
    task: &TaskView,
    mut output: Option<&mut TaskOutputPrinter>,
    app: &mut CliContext,
    progress: &CommandProgress,
) -> Result<TaskView, CliFailure> {
    let id = task.id.to_string();
    let query = EventQuery { task: Some(id.clone()), after: Some("0".to_owned()) };
    let mut follow = EventFollower::new(query);
    let mut told_why = None;
    let mut is_job_running = false;
    loop {
        let limit = if is_job_running && output.is_some() { POLL } else { IDLE };
        let news = follow.next_within(limit, &mut app.session).await?;
        if let Some(output) = &mut output
            && is_job_running
        {
            output.print_new(task, progress, app).await?;
        }
        match news {
            None => {}
            Some(FollowedEvent::Event(event)) => {
                match event.kind.as_str() {
                    "job.started" => is_job_running = true,
                    "job.ended" => is_job_running = false,
                    "task.closed" => {
                        let now =
                            app.session.read(async |client| client.task_get(&id).await).await?;
                        if has_ended(Some(&event), &now) {
                            return Ok(now);
                        }
                    }
                    _ => {}
                }
                show_event(&event, task, app, progress);
            }
            Some(FollowedEvent::PollNeeded) => {
                let now = app.session.read(async |client| client.task_get(&id).await).await?;
                if now.closed {
                    return Ok(now);
                }
                if now.status == ShownTaskStatus::Waiting {
                    // The question itself arrives as an event.
                    progress.set_activity(&format!("{}: {WAITING_FOR_ANSWER}", task.task_name));
                } else if now.blocked_reason.is_some() && now.blocked_reason != told_why {
                    // There is no event for a blocked task; the reason is printed once.
                    told_why = now.blocked_reason;
                    progress
                        .line(&narrate::render_blocked(told_why.as_deref().unwrap_or(""), app.out));
                }
            }
        }
    }
}

fn show_event(event: &Event, task: &TaskView, app: &CliContext, progress: &CommandProgress) {
    let rendered = narrate::render_event(event, &task.task_name, app.out);
    if let Some(line) = rendered.line {
        progress.line(&line);
    }
    if let Some(doing) = rendered.activity {
        progress.set_activity(&format!("{}: {doing}", task.task_name));
    }
}

fn closing_line(task: &TaskView, app: &CliContext) -> String {
    let closing = narrate::render_closing(task, app.out);
    let name = &task.task_name;
    let took = task
        .ended_at
        .map(|ended| format!(", {}", relative_time::format_duration(ended - task.created_at)));
    let more = if check_outcome(task).is_ok() {
        String::new()
    } else {
        format!("\n  details: `cynork task result {name}`")
    };
    format!("{closing} ({name}{}){more}", took.unwrap_or_default())
}
