//! `task watch`: events as they happen.

use std::collections::HashMap;

use cynode_domain::ids::TaskId;
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::tasks::TaskView;

use super::{narrate, wait};
use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::follow::{Follow, News};

/// Shows what happens to one task, from its beginning, until it closes.
pub(crate) async fn one(task: &str, app: &mut App) -> Result<(), Failure> {
    let view = app.session.call(async |client| client.task_get(task).await).await?;
    let closed = match app.out.format {
        Format::Json => as_lines(&view, app).await?,
        Format::Table => {
            app.out.say(&format!("task {} ({})", view.task_name, view.status));
            wait::with_progress(&view, None, app).await?
        }
    };
    if app.out.format == Format::Table {
        let text = narrate::closing(&closed, app.out);
        app.out.data(format!("{text}\n"))?;
    }
    wait::judge(&closed)
}

/// Shows what happens to all tasks from now on, until it is interrupted.
pub(crate) async fn all(app: &mut App) -> Result<(), Failure> {
    // Following bears with a gateway that goes away; one that is not there is said at once.
    app.session.call(async |client| client.status().await).await?;
    if app.out.format == Format::Table {
        app.out.say("watching all tasks; Ctrl-C ends");
    }
    let mut names = HashMap::new();
    let mut follow = Follow::new(EventQuery::default());
    loop {
        let News::Event(event) = follow.next(&mut app.session).await? else {
            continue;
        };
        if app.out.format == Format::Json {
            print(&event, app)?;
            continue;
        }
        let name = name_of(event.task_id, &mut names, app).await;
        let told = narrate::tell(&event, &name, app.out);
        if let Some(text) = told.line.or(told.doing.map(|doing| format!("• {doing}"))) {
            app.out.data(format!("{name:<24} {text}\n"))?;
        }
    }
}

async fn as_lines(task: &TaskView, app: &mut App) -> Result<TaskView, Failure> {
    let id = task.id.to_string();
    let query = EventQuery { task: Some(id.clone()), after: Some("0".to_owned()) };
    let mut follow = Follow::new(query);
    loop {
        let closing = match follow.next(&mut app.session).await? {
            News::Event(event) => {
                print(&event, app)?;
                if event.kind != "task.closed" {
                    continue;
                }
                Some(event)
            }
            News::LookYourself => None,
        };
        let now = app.session.read(async |client| client.task_get(&id).await).await?;
        if wait::has_ended(closing.as_deref(), &now) {
            return Ok(now);
        }
    }
}

fn print(event: &Event, app: &App) -> Result<(), Failure> {
    let line = serde_json::to_string(event).map_err(std::io::Error::from)?;
    app.out.data(line + "\n")
}

/// Events carry ids; people know names. A name that cannot be had is no reason to stop watching.
async fn name_of(
    task: Option<TaskId>,
    names: &mut HashMap<TaskId, String>,
    app: &mut App,
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
