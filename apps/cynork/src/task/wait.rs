//! Waiting for a task: live progress while it runs, its output when it has closed.

use cynode_domain::status::ShownTaskStatus;
use cynode_wire::events::EventQuery;
use cynode_wire::tasks::{LogQuery, TaskView};

use super::narrate;
use crate::age;
use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::follow::{Follow, News};
use crate::progress::Progress;

/// Waits until the task closes, then prints what it wrote; fails unless it completed.
pub(crate) async fn to_the_end(task: &TaskView, app: &mut App) -> Result<(), Failure> {
    let closed = with_progress(task, app).await?;
    let id = closed.id.to_string();
    if app.out.format == Format::Json {
        let result = app.session.read(async |client| client.task_result(&id).await).await?;
        app.out.json(&result)?;
    } else {
        let query = LogQuery::default();
        let logs = app.session.read(async |client| client.task_logs(&id, &query).await).await?;
        app.out.data(&logs.stdout)?;
        app.out.tell(&logs.stderr);
    }
    app.out.say(&last_line(&closed, app));
    judge(&closed)
}

/// Shows progress until the task closes. Ctrl-C ends the waiting, not the task.
pub(crate) async fn with_progress(task: &TaskView, app: &mut App) -> Result<TaskView, Failure> {
    let name = task.task_name.clone();
    let progress = Progress::start(app.out, &format!("{name}: waiting for a runner"));
    tokio::select! {
        closed = until_closed(task, app, &progress) => closed,
        _ = tokio::signal::ctrl_c() => Err(Failure::Left { task: name }),
    }
}

/// Only a completed task is a success.
pub(crate) fn judge(task: &TaskView) -> Result<(), Failure> {
    if task.status == ShownTaskStatus::Completed { Ok(()) } else { Err(Failure::NotCompleted) }
}

async fn until_closed(
    task: &TaskView,
    app: &mut App,
    progress: &Progress,
) -> Result<TaskView, Failure> {
    let id = task.id.to_string();
    let query = EventQuery { task: Some(id.clone()), after: Some("0".to_owned()) };
    let mut follow = Follow::new(query);
    let mut told_why = None;
    loop {
        match follow.next(&mut app.session).await? {
            News::Event(event) if event.kind == "task.closed" => break,
            News::Event(event) => {
                let told = narrate::tell(&event, &task.task_name, app.out);
                if let Some(line) = told.line {
                    progress.line(&line);
                }
                if let Some(doing) = told.doing {
                    progress.doing(&format!("{}: {doing}", task.task_name));
                }
            }
            News::LookYourself => {
                let now = app.session.read(async |client| client.task_get(&id).await).await?;
                if now.closed {
                    return Ok(now);
                }
                // What keeps a task waiting is no event; it is said once.
                if now.blocked_reason.is_some() && now.blocked_reason != told_why {
                    told_why = now.blocked_reason;
                    progress.line(&narrate::waiting(told_why.as_deref().unwrap_or(""), app.out));
                }
            }
        }
    }
    app.session.read(async |client| client.task_get(&id).await).await
}

fn last_line(task: &TaskView, app: &App) -> String {
    let closing = narrate::closing(task.status, task.summary.as_deref(), app.out);
    let name = &task.task_name;
    let took = task.ended_at.map(|ended| format!(", {}", age::took(ended - task.created_at)));
    let more = if task.status == ShownTaskStatus::Completed {
        String::new()
    } else {
        format!("\n  see more with `cynork task result {name}`")
    };
    format!("{closing} ({name}{}){more}", took.unwrap_or_default())
}
