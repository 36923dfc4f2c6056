//! `run`: inspect and steer runs.
//!
//! One file per group of verbs; [`view`] renders runs for people.

mod steer;
mod view;

use clap::{Args, Subcommand};
use cynode_domain::ids::RunId;
use cynode_wire::page::{MAX_LIMIT, PageQuery};
use cynode_wire::runs::{DiffQuery, RunQuery};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use steer::{AnswerArgs, RunForkArgs, RunRetryArgs};

/// Inspect and steer runs. RUN is a run id, or the name or id of a task, which means its newest run.
#[derive(Debug, Subcommand)]
pub enum RunCommand {
    /// List runs, newest first.
    List(RunListArgs),
    /// Show one run: its state, its step, its runner, and what it waits for.
    Show {
        /// The run, or its task.
        run: String,
    },
    /// Show the transitions of a run with their changes, and the interventions of people.
    History(RunHistoryArgs),
    /// Compare two history rows of a run, or of two runs.
    ///
    /// Without rows, compares the newest row with the previous one.
    Diff(DiffArgs),
    /// Explain each decision: its input, its author and its consequence.
    Explain(RunHistoryArgs),
    /// Pause a run, after the current workflow node.
    ///
    /// A paused run holds no runner. A running job finishes; its result is used when the run resumes.
    Pause {
        /// The run, or its task.
        run: String,
    },
    /// Resume a paused run.
    Resume {
        /// The run, or its task.
        run: String,
    },
    /// Answer the question of a run, which then resumes. `run show` prints the question.
    Answer(AnswerArgs),
    /// Retry a failed or canceled run from a workflow node, in a new run of the same task.
    ///
    /// The new run starts with the state before that node; earlier jobs are not repeated.
    Retry(RunRetryArgs),
    /// Fork a run at a history row into a new task with its own workspace.
    ///
    /// Steps before that row are not repeated; the files of the old task are copied, and its workspace is not
    /// changed. A step that was running at that row is run again.
    Fork(RunForkArgs),
}

/// Arguments of `run list`.
#[derive(Debug, Args)]
pub struct RunListArgs {
    /// Only runs of this task, by name or id.
    #[arg(long)]
    task: Option<String>,
    /// Only runs in this project, by slug or id.
    #[arg(long)]
    project: Option<String>,
    /// Only runs in this state: queued, waiting, running, pausing, paused, `needs_answer`, completed,
    /// failed, canceled.
    #[arg(long)]
    state: Option<String>,
    /// Page size, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue after the previous page.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// List all pages.
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    all: bool,
}

/// Arguments of `run history` and `run explain`.
#[derive(Debug, Args)]
pub struct RunHistoryArgs {
    /// The run, or its task.
    run: String,
    /// Maximum rows, 1 to 200 [default: all].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Start after this row.
    #[arg(long, value_name = "ROW")]
    cursor: Option<String>,
}

/// Arguments of `run diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The run, or its task.
    run: String,
    /// The first row [default: the row before TO].
    from: Option<i64>,
    /// The second row [default: the newest].
    to: Option<i64>,
    /// The run that TO belongs to, or its task [default: the same run].
    #[arg(long, value_name = "RUN")]
    with: Option<String>,
}

/// Resolves a run: by its id, or the newest run of a task.
pub(crate) async fn resolve_id(app: &mut CliContext, run: &str) -> Result<RunId, CliFailure> {
    if let Ok(id) = run.parse() {
        return Ok(id);
    }
    Ok(app.session.call(async |client| client.run_get(run).await).await?.run.id)
}

pub(crate) async fn run(command: RunCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        RunCommand::List(args) => list(args, app).await,
        RunCommand::Show { run } => {
            let found = app.session.call(async |client| client.run_get(&run).await).await?;
            app.out.show(&found, view::detail)
        }
        RunCommand::History(args) => history(args, app).await,
        RunCommand::Diff(DiffArgs { run, from, to, with }) => {
            let query = DiffQuery { from, to, with };
            let call = async |client: &cynode_client::Client| client.run_diff(&run, &query).await;
            let diff = app.session.call(call).await?;
            app.out.show(&diff, view::diff)
        }
        RunCommand::Explain(args) => explain(args, app).await,
        RunCommand::Pause { run } => steer::pause(&run, app).await,
        RunCommand::Resume { run } => steer::resume(&run, app).await,
        RunCommand::Answer(args) => steer::answer(args, app).await,
        RunCommand::Retry(args) => steer::retry(args, app).await,
        RunCommand::Fork(args) => steer::fork(args, app).await,
    }
}

async fn list(args: RunListArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let RunListArgs { task, project, state, limit, cursor, all } = args;
    let limit = if all { Some(MAX_LIMIT) } else { limit };
    let mut query = RunQuery { limit, cursor, task, project, state };
    let mut page = app.session.call(async |client| client.run_list(&query).await).await?;
    while all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.run_list(&query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, ctx| view::runs(&page.items, ctx))?;
    if let Some(cursor) = &page.next_cursor {
        app.out.print_message(&format!("more results: add --all or --cursor {cursor}"));
    }
    Ok(())
}

async fn history(args: RunHistoryArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let RunHistoryArgs { run, limit, cursor } = args;
    let is_all = limit.is_none();
    let mut query = PageQuery { limit: limit.or(Some(MAX_LIMIT)), cursor };
    let mut page = app.session.call(async |client| client.run_history(&run, &query).await).await?;
    while is_all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.run_history(&run, &query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, ctx| view::history(&page.items, ctx))?;
    print_next_page(page.next_cursor.as_deref(), app);
    Ok(())
}

async fn explain(args: RunHistoryArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let RunHistoryArgs { run, limit, cursor } = args;
    let is_all = limit.is_none();
    let mut query = PageQuery { limit: limit.or(Some(MAX_LIMIT)), cursor };
    let mut page = app.session.call(async |client| client.run_explain(&run, &query).await).await?;
    while is_all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.run_explain(&run, &query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, ctx| view::render_decisions(&page.items, ctx))?;
    print_next_page(page.next_cursor.as_deref(), app);
    Ok(())
}

fn print_next_page(cursor: Option<&str>, app: &CliContext) {
    if let Some(cursor) = cursor {
        app.out.print_message(&format!("more results: add --cursor {cursor}"));
    }
}
