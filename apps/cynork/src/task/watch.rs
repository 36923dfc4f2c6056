//! `task watch`: prints events as they happen.

use std::collections::HashMap;

use cynode_domain::ids::TaskId;
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::tasks::TaskView;

use super::{narrate, wait};
use crate::follow::{EventFollower, FollowedEvent};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;

/// Prints the events of one task, from its creation until it closes.
pub(crate) async fn watch_task(task: &str, app: &mut CliContext) -> Result<(), CliFailure> {
    let view = app.session.call(async |client| client.task_get(task).await).await?;
    let closed = match app.out.format {
        Format::Json => watch_as_json(&view, app).await?,
        Format::Table => {
            app.out.print_message(&format!("task {} ({})", view.task_name, view.status));
            wait::wait_with_progress(&view, None, app).await?
        }
    };
    if app.out.format == Format::Table {
        let text = narrate::render_closing(&closed, app.out);
        app.out.data(format!("{text}\n"))?;
    }
    wait::check_outcome(&closed)
}

/// Prints the events of all tasks from now on, until interrupted.
pub(crate) async fn watch_all(app: &mut CliContext) -> Result<(), CliFailure> {
    // Following retries an unreachable gateway; a gateway that is down from the start is reported at once.
    app.session.call(async |client| client.status().await).await?;
    if app.out.format == Format::Table {
        app.out.print_message("watching all tasks; press Ctrl-C to stop");
    }
    let mut names = HashMap::new();
    let mut follow = EventFollower::new(EventQuery::default());
    loop {
        let FollowedEvent::Event(event) = follow.next(&mut app.session).await? else {
            continue;
        };
        if app.out.format == Format::Json {
            print_event(&event, app)?;
            continue;
        }
        let name = task_name(event.task_id, &mut names, app).await;
        let rendered = narrate::render_event(&event, &name, app.out);
        if let Some(text) = rendered.line.or(rendered.activity.map(|doing| format!("• {doing}")))
        {
            app.out.data(format!("{name:<24} {text}\n"))?;
        }
    }
}

async fn watch_as_json(task: &TaskView, app: &mut CliContext) -> Result<TaskView, CliFailure> {
    let id = task.id.to_string();
    let query = EventQuery { task: Some(id.clone()), after: Some("0".to_owned()) };
    let mut follow = EventFollower::new(query);
    loop {
        let closing = match follow.next(&mut app.session).await? {
            FollowedEvent::Event(event) => {
                print_event(&event, app)?;
                if event.kind != "task.closed" {
                    continue;
                }
                Some(event)
            }
            FollowedEvent::PollNeeded => None,
        };
        let now = app.session.read(async |client| client.task_get(&id).await).await?;
        if wait::has_ended(closing.as_deref(), &now) {
            return Ok(now);
        }
    }
}

fn print_event(event: &Event, app: &CliContext) -> Result<(), CliFailure> {
    let line = serde_json::to_string(event).map_err(std::io::Error::from)?;
    app.out.data(line + "\n")
}

/// Name of a task for its events; the id if the task cannot be loaded.
async fn task_name(
    task: Option<TaskId>,
    names: &mut HashMap<TaskId, String>,
    app: &mut CliContext,
) -> String {
    let Some(id) = task else {
        return "-".to_owned();
    };
    if let Some(name) = names.get(&id) {
        return name.clone();
    }
    let text = id.to_string();
    match app.session.call(async |client| client.task_get(&text).await).await {
        Ok(view) => names.entry(id).or_insert(view.task_name).clone(),
        Err(_) => text,
    }
}
