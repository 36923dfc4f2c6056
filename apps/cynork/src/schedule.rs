//! `schedule`: work that comes due by the clock.

mod ask;
mod view;

use clap::{Args, Subcommand};
use cynode_wire::page::PageQuery;
use cynode_wire::schedules::{
    CreateSchedule, ScheduleQuery, ScheduleRunView, ScheduleView, UpdateSchedule,
};
use serde_json::json;

use self::ask::{Rules, What, When};
use crate::app::App;
use crate::cli::Format;
use crate::failure::Failure;
use crate::out::Talk;

const EXAMPLES: &str = "\
Examples:
  cynork schedule create nightly --cron '0 3 * * *' --time-zone Europe/Berlin --command 'make clean'
  cynork schedule create report --every 24h --prompt 'Summarise what changed since yesterday'
  cynork schedule create once --at '2026-11-16 03:00 Europe/Berlin' --script upgrade.sh
  cynork schedule create soon --in 90m --command 'date'";

/// Have work come due by the clock, and see what came of it.
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Make a schedule.
    #[command(after_help = EXAMPLES)]
    Create(Box<CreateArgs>),
    /// List your schedules.
    List(ListArgs),
    /// Show one schedule, and what came of it last.
    #[command(visible_alias = "get")]
    Show(Which),
    /// The times it came due, and what came of each.
    Runs(RunsArgs),
    /// Change a schedule; what is not named stays as it is.
    Update(Box<UpdateArgs>),
    /// Let it come due no more, until it is resumed.
    Pause(Which),
    /// Let it come due again.
    Resume(Which),
    /// Fire now; when it is due next stays as it is.
    Fire(Which),
    /// Pass over the next due time.
    SkipNext(Which),
    /// Delete a schedule and its runs; the tasks that were made for it stay.
    #[command(visible_alias = "remove")]
    Delete(Which),
}

/// Which schedule.
#[derive(Debug, Args)]
pub struct Which {
    /// The schedule, by name or id.
    schedule: String,
}

/// What a new schedule is.
#[derive(Debug, Args)]
pub struct CreateArgs {
    /// What it is called.
    name: String,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    rules: Rules,
    /// The project in which its tasks are made, by slug or id; your default one when absent.
    #[arg(long, visible_alias = "project-id")]
    project: Option<String>,
    /// Make it, and let it come due when it is resumed.
    #[arg(long)]
    paused: bool,
}

/// What to change.
#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// The schedule, by name or id.
    schedule: String,
    /// The new name.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    rules: Rules,
}

/// Which schedules.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// How many at most, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue where the page before ended.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Only those of this project, by slug or id.
    #[arg(long, visible_alias = "project-id")]
    project: Option<String>,
}

/// Which runs.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// The schedule, by name or id.
    schedule: String,
    /// How many at most, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue where the page before ended.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Does what the command says.
pub(crate) async fn run(command: ScheduleCommand, app: &mut App) -> Result<(), Failure> {
    match command {
        ScheduleCommand::Create(args) => create(*args, app).await,
        ScheduleCommand::List(args) => list(args, app).await,
        ScheduleCommand::Show(Which { schedule }) => {
            let found = app.session.call(async |client| client.schedule_get(&schedule).await);
            let found = found.await?;
            show(&found, app).await
        }
        ScheduleCommand::Runs(args) => runs(args, app).await,
        ScheduleCommand::Update(args) => {
            let schedule = args.schedule.clone();
            let body = changes(*args, app)?;
            change(&schedule, body, app).await
        }
        ScheduleCommand::Pause(which) => enable(&which, false, app).await,
        ScheduleCommand::Resume(which) => enable(&which, true, app).await,
        ScheduleCommand::Fire(Which { schedule }) => {
            let fired = app.session.call(async |client| client.schedule_fire(&schedule).await);
            let fired = fired.await?;
            app.out.show(&fired, view::run)?;
            app.out.say(&format!("see what comes of it with `cynork schedule runs {schedule}`"));
            Ok(())
        }
        ScheduleCommand::SkipNext(Which { schedule }) => {
            let left = app.session.call(async |client| client.schedule_skip_next(&schedule).await);
            let left = left.await?;
            show(&left, app).await
        }
        ScheduleCommand::Delete(Which { schedule }) => delete(&schedule, app).await,
    }
}

async fn create(args: CreateArgs, app: &mut App) -> Result<(), Failure> {
    let (when, what) = (args.when.asked(app.out.look().now), args.what.asked()?);
    ask::check(&when, &what)?;
    let body = CreateSchedule {
        name: args.name,
        project: args.project,
        cron: when.cron,
        every_s: when.every_s,
        at: when.at,
        time_zone: when.time_zone,
        prompt: what.prompt,
        task: what.task,
        enabled: args.paused.then_some(false),
        if_missed: args.rules.if_missed,
        overlap: args.rules.overlap,
    };
    let made = app.session.call(async |client| client.schedule_create(&body).await).await?;
    if app.out.talk == Talk::Quiet && app.out.format == Format::Table {
        return app.out.data(format!("{}\n", made.id));
    }
    app.out.show(&made, |made, look| view::schedule(made, None, look))?;
    if made.name != body.name {
        app.out.say(&format!("it is called {}: a name has letters, digits and dashes", made.name));
    }
    Ok(())
}

fn changes(args: UpdateArgs, app: &App) -> Result<UpdateSchedule, Failure> {
    let (when, what) = (args.when.asked(app.out.look().now), args.what.asked()?);
    Ok(UpdateSchedule {
        name: args.name,
        cron: when.cron,
        every_s: when.every_s,
        at: when.at,
        time_zone: when.time_zone,
        prompt: what.prompt,
        task: what.task,
        enabled: None,
        if_missed: args.rules.if_missed,
        overlap: args.rules.overlap,
    })
}

async fn enable(which: &Which, enabled: bool, app: &mut App) -> Result<(), Failure> {
    let body = UpdateSchedule { enabled: Some(enabled), ..UpdateSchedule::default() };
    change(&which.schedule, body, app).await
}

async fn change(schedule: &str, body: UpdateSchedule, app: &mut App) -> Result<(), Failure> {
    let changed = app.session.call(async |client| client.schedule_update(schedule, &body).await);
    let changed = changed.await?;
    show(&changed, app).await
}

async fn show(schedule: &ScheduleView, app: &mut App) -> Result<(), Failure> {
    let past = hidden(schedule, app).await?;
    app.out.show(schedule, |schedule, look| view::schedule(schedule, past.as_ref(), look))
}

/// What came of a schedule last, where its newest run is a time to come that is skipped already.
async fn hidden(
    schedule: &ScheduleView,
    app: &mut App,
) -> Result<Option<ScheduleRunView>, Failure> {
    let now = app.out.look().now;
    let is_hidden = schedule.last_run.as_ref().is_some_and(|run| run.due_at > now);
    if !is_hidden || app.out.format == Format::Json {
        return Ok(None);
    }
    let (id, query) = (schedule.id.to_string(), PageQuery { limit: Some(200), cursor: None });
    let page = app.session.call(async |client| client.schedule_runs(&id, &query).await).await?;
    Ok(page.items.into_iter().find(|run| run.due_at <= now))
}

async fn list(args: ListArgs, app: &mut App) -> Result<(), Failure> {
    let query = ScheduleQuery { limit: args.limit, cursor: args.cursor, project: args.project };
    let page = app.session.call(async |client| client.schedule_list(&query).await).await?;
    let mut past = vec![];
    for schedule in &page.items {
        past.push(hidden(schedule, app).await?);
    }
    app.out.show(&page, |page, look| view::schedules(page, &past, look))?;
    say_more(page.next_cursor.as_deref(), app);
    Ok(())
}

async fn runs(args: RunsArgs, app: &mut App) -> Result<(), Failure> {
    let RunsArgs { schedule, limit, cursor } = args;
    let query = PageQuery { limit, cursor };
    let page = app.session.call(async |client| client.schedule_runs(&schedule, &query).await);
    let page = page.await?;
    app.out.show(&page, view::runs)?;
    say_more(page.next_cursor.as_deref(), app);
    Ok(())
}

async fn delete(schedule: &str, app: &mut App) -> Result<(), Failure> {
    app.session.call(async |client| client.schedule_delete(schedule).await).await?;
    if app.out.format == Format::Json {
        app.out.json(&json!({ "schedule": schedule, "deleted": true }))?;
    }
    app.out.say(&format!("schedule {schedule} and its runs are deleted"));
    Ok(())
}

fn say_more(cursor: Option<&str>, app: &App) {
    if let Some(cursor) = cursor {
        app.out.say(&format!("there are more: add --cursor {cursor}"));
    }
}
