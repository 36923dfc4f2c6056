//! `task`: create tasks, watch them, read their results.
//!
//! One file per verb that is more than a call; [`view`] renders tasks for people.

mod accept;
mod artifacts;
pub(crate) mod checks;
mod create;
pub(crate) mod diff;
pub(crate) mod input;
pub(crate) mod limit_args;
mod logs;
mod narrate;
mod output;
mod push;
pub(crate) mod repository_args;
mod result;
pub(crate) mod span;
mod transcript;
mod update;
mod view;
mod wait;
mod watch;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use cynode_domain::ids::TaskId;
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::page::MAX_LIMIT;
use cynode_wire::tasks::{TaskQuery, TaskView};

use artifacts::ArtifactsCommand;
use create::TaskCreateArgs;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use diff::TaskDiffArgs;
use logs::TaskLogsArgs;
use push::TaskPushArgs;
use update::TaskUpdateArgs;

/// Create tasks, watch them, read their results. TASK is a name or an id.
#[derive(Debug, Subcommand)]
pub enum TaskCommand {
    /// Create a task.
    Create(Box<TaskCreateArgs>),
    /// List your tasks, newest first.
    List(TaskListArgs),
    /// Show one task.
    Get {
        /// The task, by name or id.
        task: String,
    },
    /// Update the name or the acceptance criteria of an open task.
    Update(TaskUpdateArgs),
    /// Watch the events of one task until it closes, or of all tasks.
    Watch {
        /// The task, by name or id [default: all tasks].
        task: Option<String>,
    },
    /// Print the output of a task's jobs.
    Logs(TaskLogsArgs),
    /// Show the result of a task, job by job.
    Result {
        /// The task, by name or id.
        task: String,
        /// Wait until the task closes; exit code 1 if it did not complete, 9 if it completed unverified.
        #[arg(short, long)]
        wait: bool,
    },
    /// Print the newest changes of a task in its repository as a patch, for `git apply`.
    Diff(TaskDiffArgs),
    /// Push the changes of a task to a branch of its repository.
    Push(TaskPushArgs),
    /// Cancel a task and the tasks that depend on it.
    Cancel {
        /// The task, by name or id.
        task: String,
    },
    /// List, download and delete the files of a task.
    #[command(subcommand)]
    Artifacts(ArtifactsCommand),
    /// Show the transitions of a task's workflow.
    History {
        /// The task, by name or id.
        task: String,
    },
}

/// Arguments of `task list`.
#[derive(Debug, Args)]
pub struct TaskListArgs {
    /// Page size, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue after the previous page.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// List all pages.
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    all: bool,
    /// Only tasks with this status.
    #[arg(long, value_parser = status_parser())]
    status: Option<ShownTaskStatus>,
    /// Only tasks of this project, by slug or id.
    #[arg(long)]
    project: Option<String>,
}

/// Resolves a task, by name or id.
pub(crate) async fn resolve_id(app: &mut CliContext, task: &str) -> Result<TaskId, CliFailure> {
    if let Ok(id) = task.parse() {
        return Ok(id);
    }
    Ok(app.session.call(async |client| client.task_get(task).await).await?.id)
}

/// Shows progress until the task closes.
pub(crate) async fn wait_until_closed(
    task: &TaskView,
    app: &mut CliContext,
) -> Result<TaskView, CliFailure> {
    wait::wait_with_progress(task, None, app).await
}

pub(crate) async fn run(command: TaskCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        TaskCommand::Create(args) => create::run(*args, app).await,
        TaskCommand::List(args) => list(args, app).await,
        TaskCommand::Get { task } => {
            let view = app.session.call(async |client| client.task_get(&task).await).await?;
            app.out.show(&view, view::task)
        }
        TaskCommand::Update(args) => update::run(args, app).await,
        TaskCommand::Watch { task: Some(task) } => watch::watch_task(&task, app).await,
        TaskCommand::Watch { task: None } => watch::watch_all(app).await,
        TaskCommand::Logs(args) => logs::run(args, app).await,
        TaskCommand::Result { task, wait } => result::run(&task, wait, app).await,
        TaskCommand::Diff(args) => diff::run(args, app).await,
        TaskCommand::Push(args) => push::run(args, app).await,
        TaskCommand::Cancel { task } => cancel(&task, app).await,
        TaskCommand::Artifacts(command) => artifacts::run(command, app).await,
        TaskCommand::History { task } => {
            let rows = app.session.call(async |client| client.task_history(&task).await).await?;
            app.out.list(rows, view::history)
        }
    }
}

/// Parses a status, and lists the allowed values in the help.
fn status_parser() -> impl TypedValueParser<Value = ShownTaskStatus> {
    let words = ShownTaskStatus::ALL.iter().map(|status| status.as_str());
    PossibleValuesParser::new(words).try_map(|word| word.parse::<ShownTaskStatus>())
}

async fn list(args: TaskListArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let TaskListArgs { limit, cursor, all, status, project } = args;
    let limit = if all { Some(MAX_LIMIT) } else { limit };
    let mut query = TaskQuery { limit, cursor, status, project };
    let mut page = app.session.call(async |client| client.task_list(&query).await).await?;
    while all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.task_list(&query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, ctx| view::render_tasks(&page.items, ctx))?;
    match &page.next_cursor {
        Some(cursor) => {
            app.out.print_message(&format!("more results: add --all or --cursor {cursor}"));
        }
        None if page.items.is_empty() && (query.status.is_some() || query.project.is_some()) => {
            app.out.print_message("no task matches; `cynork task list` lists all tasks");
        }
        None if page.items.is_empty() => {
            app.out.print_message(
                "no tasks yet; create one with `cynork task create --command 'echo hello' --wait`",
            );
        }
        None => {}
    }
    Ok(())
}

async fn cancel(task: &str, app: &mut CliContext) -> Result<(), CliFailure> {
    let view = app.session.call(async |client| client.task_cancel(task).await).await?;
    app.out.show(&view, |view, _| {
        let with_it = match view.cascaded.len() {
            0 => String::new(),
            1 => ", and one task that depends on it".to_owned(),
            n => format!(", and {n} tasks that depend on it"),
        };
        if view.canceled {
            format!("task {task} canceled{with_it}")
        } else {
            format!("task {task} is already closed; nothing was canceled")
        }
    })
}
