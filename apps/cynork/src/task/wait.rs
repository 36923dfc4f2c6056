//! Waiting for a task: live progress and output while it runs, until it has closed.

use std::time::Duration;

use cynode_domain::status::ShownTaskStatus;
use cynode_domain::verification::VerificationStatus;
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::tasks::TaskView;

use super::checks;
use super::logs::POLL;
use super::narrate::{self, WAITS_FOR_ANSWER};
use super::output::Output;
use crate::age;
use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::follow::{Follow, News};
use crate::progress::Progress;

/// How long news are waited for while no job runs, whose output could grow.
const IDLE: Duration = Duration::from_mins(1);

/// Waits until the task closes and prints what it writes; fails unless it completed.
pub(crate) async fn to_the_end(task: &TaskView, app: &mut App) -> Result<(), Failure> {
    let closed = if app.out.format == Format::Json {
        let closed = with_progress(task, None, app).await?;
        super::create::show_json(&closed, app).await?;
        closed
    } else {
        let mut output = Output::default();
        let closed = with_progress(task, Some(&mut output), app).await?;
        output.finish(&closed, app).await?;
        closed
    };
    let checked = checks::lines(&closed.steps).join("\n");
    if !checked.is_empty() {
        app.out.say(&checked);
    }
    app.out.say(&last_line(&closed, app));
    judge(&closed)
}

/// Shows progress, and output where it is wanted, until the task closes. Ctrl-C ends the waiting, not
/// the task.
pub(crate) async fn with_progress(
    task: &TaskView,
    output: Option<&mut Output>,
    app: &mut App,
) -> Result<TaskView, Failure> {
    let name = task.task_name.clone();
    let progress = Progress::start(app.out, &format!("{name}: waiting for a runner"));
    tokio::select! {
        closed = until_closed(task, output, app, &progress) => closed,
        _ = tokio::signal::ctrl_c() => Err(Failure::Left { task: name }),
    }
}

/// Only a completed task is a success, and not if its result was accepted without being judged.
pub(crate) fn judge(task: &TaskView) -> Result<(), Failure> {
    match (task.status, task.verification) {
        (ShownTaskStatus::Completed, Some(VerificationStatus::Unverified)) => {
            Err(Failure::Unverified)
        }
        (ShownTaskStatus::Completed, _) => Ok(()),
        _ => Err(Failure::NotCompleted),
    }
}

/// Whether a task is over. A retry opens a closed task again, so that a closing counts only if it is
/// that of the newest run.
pub(crate) fn has_ended(closing: Option<&Event>, now: &TaskView) -> bool {
    let of_run = closing.and_then(|event| event.run_id);
    now.closed && (of_run.is_none() || of_run == now.run_id)
}

async fn until_closed(
    task: &TaskView,
    mut output: Option<&mut Output>,
    app: &mut App,
    progress: &Progress,
) -> Result<TaskView, Failure> {
    let id = task.id.to_string();
    let query = EventQuery { task: Some(id.clone()), after: Some("0".to_owned()) };
    let mut follow = Follow::new(query);
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
            Some(News::Event(event)) => {
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
                tell(&event, task, app, progress);
            }
            Some(News::LookYourself) => {
                let now = app.session.read(async |client| client.task_get(&id).await).await?;
                if now.closed {
                    return Ok(now);
                }
                if now.status == ShownTaskStatus::Waiting {
                    // The question itself is an event.
                    progress.doing(&format!("{}: {WAITS_FOR_ANSWER}", task.task_name));
                } else if now.blocked_reason.is_some() && now.blocked_reason != told_why {
                    // What keeps a task waiting is no event; it is said once.
                    told_why = now.blocked_reason;
                    progress.line(&narrate::waiting(told_why.as_deref().unwrap_or(""), app.out));
                }
            }
        }
    }
}

fn tell(event: &Event, task: &TaskView, app: &App, progress: &Progress) {
    let told = narrate::tell(event, &task.task_name, app.out);
    if let Some(line) = told.line {
        progress.line(&line);
    }
    if let Some(doing) = told.doing {
        progress.doing(&format!("{}: {doing}", task.task_name));
    }
}

fn last_line(task: &TaskView, app: &App) -> String {
    let closing = narrate::closing(task, app.out);
    let name = &task.task_name;
    let took = task.ended_at.map(|ended| format!(", {}", age::took(ended - task.created_at)));
    let more = if judge(task).is_ok() {
        String::new()
    } else {
        format!("\n  see more with `cynork task result {name}`")
    };
    format!("{closing} ({name}{}){more}", took.unwrap_or_default())
}
