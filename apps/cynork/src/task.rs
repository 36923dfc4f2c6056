//! `task`: create tasks, watch them, read their results.
//!
//! One file for each verb that is more than a call; [`view`] has what people see of a task.

mod accept;
mod artifacts;
pub(crate) mod bounds;
pub(crate) mod checks;
mod create;
pub(crate) mod input;
mod logs;
mod narrate;
mod output;
mod result;
pub(crate) mod span;
mod update;
mod view;
mod wait;
mod watch;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use cynode_domain::ids::TaskId;
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::page::MAX_LIMIT;
use cynode_wire::tasks::TaskQuery;

use crate::app::App;
use crate::failure::Failure;
use artifacts::ArtifactsCommand;
use create::CreateArgs;
use logs::LogsArgs;
use update::UpdateArgs;

/// Create tasks, watch them, read their results. A TASK is a name or an id.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Hand in work.
    Create(Box<CreateArgs>),
    /// List your tasks, newest first.
    List(ListArgs),
    /// Show one task.
    Get {
        /// The task, by name or id.
        task: String,
    },
    /// Change the name or the acceptance criteria of an open task.
    Update(UpdateArgs),
    /// Show live what happens, to one task or to all; ends when the task closes.
    Watch {
        /// The task, by name or id; all tasks when absent.
        task: Option<String>,
    },
    /// Print what a task's jobs wrote.
    Logs(LogsArgs),
    /// Show what came of a task, job by job.
    Result {
        /// The task, by name or id.
        task: String,
        /// Wait until the task closes; exit code 1 if it did not complete, 9 if it completed unverified.
        #[arg(short, long)]
        wait: bool,
    },
    /// Stop a task, and the tasks that depend on it.
    Cancel {
        /// The task, by name or id.
        task: String,
    },
    /// The files that belong to a task.
    #[command(subcommand)]
    Artifacts(ArtifactsCommand),
    /// Show every transition of a task's workflow.
    History {
        /// The task, by name or id.
        task: String,
    },
}

/// Which tasks to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// How many at most, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue where the page before ended.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Every task, however many there are.
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    all: bool,
    /// Only tasks with this status.
    #[arg(long, value_parser = status_parser())]
    status: Option<ShownTaskStatus>,
    /// Only tasks of this project, by slug or id.
    #[arg(long)]
    project: Option<String>,
}

/// The task that is meant, by name or id.
pub(crate) async fn id_of(app: &mut App, task: &str) -> Result<TaskId, Failure> {
    if let Ok(id) = task.parse() {
        return Ok(id);
    }
    Ok(app.session.call(async |client| client.task_get(task).await).await?.id)
}

/// Does what the command says.
pub(crate) async fn run(command: TaskCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        TaskCommand::Create(args) => create::run(*args, app).await,
        TaskCommand::List(args) => list(args, app).await,
        TaskCommand::Get { task } => {
            let view = app.session.call(async |client| client.task_get(&task).await).await?;
            app.out.show(&view, view::task)
        }
        TaskCommand::Update(args) => update::run(args, app).await,
        TaskCommand::Watch { task: Some(task) } => watch::one(&task, app).await,
        TaskCommand::Watch { task: None } => watch::all(app).await,
        TaskCommand::Logs(args) => logs::run(args, app).await,
        TaskCommand::Result { task, wait } => result::run(&task, wait, app).await,
        TaskCommand::Cancel { task } => cancel(&task, app).await,
        TaskCommand::Artifacts(command) => artifacts::run(command, app).await,
        TaskCommand::History { task } => {
            let rows = app.session.call(async |client| client.task_history(&task).await).await?;
            app.out.list(rows, view::history)
        }
    }
}

/// Reads a status, and lists the words for it in the help.
fn status_parser() -> impl TypedValueParser<Value = ShownTaskStatus> {
    let words = ShownTaskStatus::ALL.iter().map(|status| status.as_str());
    PossibleValuesParser::new(words).try_map(|word| word.parse::<ShownTaskStatus>())
}

async fn list(args: ListArgs, app: &mut App) -> Result<(), Failure> {
    let ListArgs { limit, cursor, all, status, project } = args;
    let limit = if all { Some(MAX_LIMIT) } else { limit };
    let mut query = TaskQuery { limit, cursor, status, project };
    let mut page = app.session.call(async |client| client.task_list(&query).await).await?;
    while all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.task_list(&query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, look| view::tasks(&page.items, look))?;
    match &page.next_cursor {
        Some(cursor) => app.out.say(&format!("there are more: add --all or --cursor {cursor}")),
        None if page.items.is_empty() && (query.status.is_some() || query.project.is_some()) => {
            app.out.say("no task is like that; `cynork task list` lists all");
        }
        None if page.items.is_empty() => {
            app.out.say(
                "no tasks yet; make one with `cynork task create --command 'echo hello' --wait`",
            );
        }
        None => {}
    }
    Ok(())
}

async fn cancel(task: &str, app: &mut App) -> Result<(), Failure> {
    let view = app.session.call(async |client| client.task_cancel(task).await).await?;
    app.out.show(&view, |view, _| {
        let with_it = match view.cascaded.len() {
            0 => String::new(),
            1 => ", and one task that depends on it".to_owned(),
            n => format!(", and {n} tasks that depend on it"),
        };
        if view.canceled {
            format!("task {task} is canceled{with_it}")
        } else {
            format!("task {task} had closed before; nothing was canceled")
        }
    })
}
