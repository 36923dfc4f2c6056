//! `render_schedule`: recurring and one-off work.

mod arguments;
mod view;

use clap::{Args, Subcommand};
use cynode_wire::page::PageQuery;
use cynode_wire::schedules::{
    CreateSchedule, ScheduleQuery, ScheduleRunView, ScheduleView, UpdateSchedule,
};
use serde_json::json;

use self::arguments::{SchedulePayloadArgs, SchedulePolicyArgs, ScheduleTimingArgs};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::out::Verbosity;

const EXAMPLES: &str = "\
Examples:
  cynork schedule create nightly --cron '0 3 * * *' --time-zone Europe/Berlin --command 'make clean'
  cynork schedule create report --every 24h --prompt 'Summarise what changed since yesterday'
  cynork schedule create once --at '2026-11-16 03:00 Europe/Berlin' --script upgrade.sh
  cynork schedule create soon --in 90m --command 'date'
  cynork schedule create deps --cron '0 4 * * 1' --submit 'Update the dependencies' --repo https://example.com/shop.git";

/// Run work on a schedule, and list its runs.
#[derive(Debug, Subcommand)]
pub enum ScheduleCommand {
    /// Create a schedule.
    #[command(after_help = EXAMPLES)]
    Create(Box<ScheduleCreateArgs>),
    /// List your schedules.
    List(ScheduleListArgs),
    /// Show one schedule and its last run.
    #[command(visible_alias = "get")]
    Show(ScheduleArg),
    /// List the runs of a schedule.
    Runs(ScheduleRunsArgs),
    /// Update a schedule; omitted fields do not change.
    Update(Box<ScheduleUpdateArgs>),
    /// Pause a schedule.
    Pause(ScheduleArg),
    /// Resume a paused schedule.
    Resume(ScheduleArg),
    /// Fire a schedule now; its next due time does not change.
    Fire(ScheduleArg),
    /// Skip the next due time.
    SkipNext(ScheduleArg),
    /// Delete a schedule and its runs; tasks it created are kept.
    #[command(visible_alias = "remove")]
    Delete(ScheduleArg),
}

/// Names one schedule.
#[derive(Debug, Args)]
pub struct ScheduleArg {
    /// The schedule, by name or id.
    schedule: String,
}

/// Arguments of `schedule create`.
#[derive(Debug, Args)]
pub struct ScheduleCreateArgs {
    /// The name.
    name: String,
    #[command(flatten)]
    when: ScheduleTimingArgs,
    #[command(flatten)]
    what: SchedulePayloadArgs,
    #[command(flatten)]
    rules: SchedulePolicyArgs,
    /// The project for its tasks, by slug or id [default: your default project].
    #[arg(long, visible_alias = "project-id")]
    project: Option<String>,
    /// Create it paused.
    #[arg(long)]
    paused: bool,
}

/// Arguments of `schedule update`.
#[derive(Debug, Args)]
pub struct ScheduleUpdateArgs {
    /// The schedule, by name or id.
    schedule: String,
    /// The new name.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    when: ScheduleTimingArgs,
    #[command(flatten)]
    what: SchedulePayloadArgs,
    #[command(flatten)]
    rules: SchedulePolicyArgs,
}

/// Arguments of `schedule list`.
#[derive(Debug, Args)]
pub struct ScheduleListArgs {
    /// Page size, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue after the previous page.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Only schedules of this project, by slug or id.
    #[arg(long, visible_alias = "project-id")]
    project: Option<String>,
}

/// Arguments of `schedule runs`.
#[derive(Debug, Args)]
pub struct ScheduleRunsArgs {
    /// The schedule, by name or id.
    schedule: String,
    /// Page size, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue after the previous page.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) async fn run(command: ScheduleCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        ScheduleCommand::Create(args) => create(*args, app).await,
        ScheduleCommand::List(args) => list(args, app).await,
        ScheduleCommand::Show(ScheduleArg { schedule }) => {
            let found = app.session.call(async |client| client.schedule_get(&schedule).await);
            let found = found.await?;
            print_schedule(&found, app).await
        }
        ScheduleCommand::Runs(args) => list_runs(args, app).await,
        ScheduleCommand::Update(args) => {
            let schedule = args.schedule.clone();
            let body = build_update(*args, app)?;
            update_schedule(&schedule, body, app).await
        }
        ScheduleCommand::Pause(which) => set_enabled(&which, false, app).await,
        ScheduleCommand::Resume(which) => set_enabled(&which, true, app).await,
        ScheduleCommand::Fire(ScheduleArg { schedule }) => {
            let fired = app.session.call(async |client| client.schedule_fire(&schedule).await);
            let fired = fired.await?;
            app.out.show(&fired, view::render_run)?;
            app.out.print_message(&format!("follow it with `cynork schedule runs {schedule}`"));
            Ok(())
        }
        ScheduleCommand::SkipNext(ScheduleArg { schedule }) => {
            let left = app.session.call(async |client| client.schedule_skip_next(&schedule).await);
            let left = left.await?;
            print_schedule(&left, app).await
        }
        ScheduleCommand::Delete(ScheduleArg { schedule }) => delete(&schedule, app).await,
    }
}

async fn create(args: ScheduleCreateArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let (when, what) =
        (args.when.resolve_timing(app.out.render_context().now), args.what.resolve_payload()?);
    arguments::require_complete(&when, &what)?;
    let body = CreateSchedule {
        name: args.name,
        project: args.project,
        cron: when.cron,
        every_s: when.every_s,
        at: when.at,
        time_zone: when.time_zone,
        prompt: what.prompt,
        task: what.task,
        request: what.request,
        enabled: args.paused.then_some(false),
        if_missed: args.rules.if_missed,
        overlap: args.rules.overlap,
    };
    let made = app.session.call(async |client| client.schedule_create(&body).await).await?;
    if app.out.verbosity == Verbosity::Quiet && app.out.format == Format::Table {
        return app.out.data(format!("{}\n", made.id));
    }
    app.out.show(&made, |made, ctx| view::render_schedule(made, None, ctx))?;
    if made.name != body.name {
        app.out.print_message(&format!(
            "named {}: names consist of letters, digits and dashes",
            made.name
        ));
    }
    Ok(())
}

fn build_update(args: ScheduleUpdateArgs, app: &CliContext) -> Result<UpdateSchedule, CliFailure> {
    let (when, what) =
        (args.when.resolve_timing(app.out.render_context().now), args.what.resolve_payload()?);
    Ok(UpdateSchedule {
        name: args.name,
        cron: when.cron,
        every_s: when.every_s,
        at: when.at,
        time_zone: when.time_zone,
        prompt: what.prompt,
        task: what.task,
        request: what.request,
        enabled: None,
        if_missed: args.rules.if_missed,
        overlap: args.rules.overlap,
    })
}

async fn set_enabled(
    which: &ScheduleArg,
    enabled: bool,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let body = UpdateSchedule { enabled: Some(enabled), ..UpdateSchedule::default() };
    update_schedule(&which.schedule, body, app).await
}

async fn update_schedule(
    schedule: &str,
    body: UpdateSchedule,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let changed = app.session.call(async |client| client.schedule_update(schedule, &body).await);
    let changed = changed.await?;
    print_schedule(&changed, app).await
}

async fn print_schedule(schedule: &ScheduleView, app: &mut CliContext) -> Result<(), CliFailure> {
    let past = load_past_run(schedule, app).await?;
    app.out.show(schedule, |schedule, ctx| view::render_schedule(schedule, past.as_ref(), ctx))
}

/// Loads the newest past run if the schedule's newest run is a skipped future one.
async fn load_past_run(
    schedule: &ScheduleView,
    app: &mut CliContext,
) -> Result<Option<ScheduleRunView>, CliFailure> {
    let now = app.out.render_context().now;
    let is_hidden = schedule.last_run.as_ref().is_some_and(|run| run.due_at > now);
    if !is_hidden || app.out.format == Format::Json {
        return Ok(None);
    }
    let (id, query) = (schedule.id.to_string(), PageQuery { limit: Some(200), cursor: None });
    let page = app.session.call(async |client| client.schedule_runs(&id, &query).await).await?;
    Ok(page.items.into_iter().find(|run| run.due_at <= now))
}

async fn list(args: ScheduleListArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let query = ScheduleQuery { limit: args.limit, cursor: args.cursor, project: args.project };
    let page = app.session.call(async |client| client.schedule_list(&query).await).await?;
    let mut past = vec![];
    for schedule in &page.items {
        past.push(load_past_run(schedule, app).await?);
    }
    app.out.show(&page, |page, ctx| view::render_schedules(page, &past, ctx))?;
    print_next_page(page.next_cursor.as_deref(), app);
    Ok(())
}

async fn list_runs(args: ScheduleRunsArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let ScheduleRunsArgs { schedule, limit, cursor } = args;
    let query = PageQuery { limit, cursor };
    let page = app.session.call(async |client| client.schedule_runs(&schedule, &query).await);
    let page = page.await?;
    app.out.show(&page, view::render_runs)?;
    print_next_page(page.next_cursor.as_deref(), app);
    Ok(())
}

async fn delete(schedule: &str, app: &mut CliContext) -> Result<(), CliFailure> {
    app.session.call(async |client| client.schedule_delete(schedule).await).await?;
    if app.out.format == Format::Json {
        app.out.print_json(&json!({ "schedule": schedule, "deleted": true }))?;
    }
    app.out.print_message(&format!("schedule {schedule} and its runs deleted"));
    Ok(())
}

fn print_next_page(cursor: Option<&str>, app: &CliContext) {
    if let Some(cursor) = cursor {
        app.out.print_message(&format!("more results: add --cursor {cursor}"));
    }
}
