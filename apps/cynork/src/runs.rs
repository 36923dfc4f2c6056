//! `run`: where runs stand, how they went and why, and what to do about them.
//!
//! One file for each group of verbs; [`view`] has what people see of a run.

mod steer;
mod view;

use clap::{Args, Subcommand};
use cynode_domain::ids::RunId;
use cynode_wire::page::{MAX_LIMIT, PageQuery};
use cynode_wire::runs::{DiffQuery, RunQuery};

use crate::app::App;
use crate::failure::Failure;
use steer::{AnswerArgs, ForkArgs, RetryArgs};

/// See where runs stand, how they went and why, and steer them. A RUN is the id of a run, or the name or id of its
/// task: that is the task's newest run.
#[derive(Debug, Subcommand)]
pub enum RunCommand {
    /// List runs, newest first.
    List(ListArgs),
    /// Show one run: its state, its step, who drives it, and what it waits for.
    Show {
        /// The run, or its task.
        run: String,
    },
    /// Show every transition of a run with what it changed, and what people did.
    History(PartArgs),
    /// Show what is different between two rows of a run, or of two runs.
    ///
    /// Without rows, the newest row is compared with the one before it.
    Diff(DiffArgs),
    /// Show for each decision what it was made from, what made it, and what it led to.
    Explain(PartArgs),
    /// Keep runners from a run: at once, or after the node that one is in.
    ///
    /// A paused run holds no runner. A job that is under way ends; its result is there when the run goes on.
    Pause {
        /// The run, or its task.
        run: String,
    },
    /// Let a paused run go on.
    Resume {
        /// The run, or its task.
        run: String,
    },
    /// Answer the question of a run, which then goes on. `run show` has the question.
    Answer(AnswerArgs),
    /// Go on from a node of a failed or canceled run, in a new run of the same task.
    ///
    /// The new run begins with the state before that node: jobs before it are not done again.
    Retry(RetryArgs),
    /// Go on from a row of a run in a new task, with a workspace of its own.
    ///
    /// Steps before that row are not done again; the files of the old task come along, and are not in
    /// its workspace. A step that was under way at that row is run anew.
    Fork(ForkArgs),
}

/// Which runs to list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only runs of this task, by name or id.
    #[arg(long)]
    task: Option<String>,
    /// Only runs of tasks of this project, by slug or id.
    #[arg(long)]
    project: Option<String>,
    /// Only runs in this state: queued, waiting, running, pausing, paused, `needs_answer`, completed,
    /// failed, canceled.
    #[arg(long)]
    state: Option<String>,
    /// How many at most, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue where the page before ended.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Every run, however many there are.
    #[arg(long, conflicts_with_all = ["limit", "cursor"])]
    all: bool,
}

/// Which part of a run's history.
#[derive(Debug, Args)]
pub struct PartArgs {
    /// The run, or its task.
    run: String,
    /// How many rows at most, 1 to 200 [default: all].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Begin after this row.
    #[arg(long, value_name = "ROW")]
    cursor: Option<String>,
}

/// What to compare.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The run, or its task.
    run: String,
    /// The row to compare from [default: the one before TO].
    from: Option<i64>,
    /// The row to compare with [default: the newest].
    to: Option<i64>,
    /// The run that TO is a row of, or its task [default: the same run].
    #[arg(long, value_name = "RUN")]
    with: Option<String>,
}

/// The run that is meant, by its id or its task's newest.
pub(crate) async fn id_of(app: &mut App, run: &str) -> Result<RunId, Failure> {
    if let Ok(id) = run.parse() {
        return Ok(id);
    }
    Ok(app.session.call(async |client| client.run_get(run).await).await?.run.id)
}

/// Does what the command says.
pub(crate) async fn run(command: RunCommand, app: &mut App) -> Result<(), Failure> {
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

async fn list(args: ListArgs, app: &mut App) -> Result<(), Failure> {
    let ListArgs { task, project, state, limit, cursor, all } = args;
    let limit = if all { Some(MAX_LIMIT) } else { limit };
    let mut query = RunQuery { limit, cursor, task, project, state };
    let mut page = app.session.call(async |client| client.run_list(&query).await).await?;
    while all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.run_list(&query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, look| view::runs(&page.items, look))?;
    if let Some(cursor) = &page.next_cursor {
        app.out.say(&format!("there are more: add --all or --cursor {cursor}"));
    }
    Ok(())
}

async fn history(args: PartArgs, app: &mut App) -> Result<(), Failure> {
    let PartArgs { run, limit, cursor } = args;
    let is_all = limit.is_none();
    let mut query = PageQuery { limit: limit.or(Some(MAX_LIMIT)), cursor };
    let mut page = app.session.call(async |client| client.run_history(&run, &query).await).await?;
    while is_all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.run_history(&run, &query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, look| view::history(&page.items, look))?;
    say_more(page.next_cursor.as_deref(), app);
    Ok(())
}

async fn explain(args: PartArgs, app: &mut App) -> Result<(), Failure> {
    let PartArgs { run, limit, cursor } = args;
    let is_all = limit.is_none();
    let mut query = PageQuery { limit: limit.or(Some(MAX_LIMIT)), cursor };
    let mut page = app.session.call(async |client| client.run_explain(&run, &query).await).await?;
    while is_all && page.next_cursor.is_some() {
        query.cursor = page.next_cursor.take();
        let next = app.session.call(async |client| client.run_explain(&run, &query).await).await?;
        page.items.extend(next.items);
        page.next_cursor = next.next_cursor;
    }
    app.out.show(&page, |page, look| view::decisions(&page.items, look))?;
    say_more(page.next_cursor.as_deref(), app);
    Ok(())
}

fn say_more(cursor: Option<&str>, app: &App) {
    if let Some(cursor) = cursor {
        app.out.say(&format!("there are more: add --cursor {cursor}"));
    }
}
