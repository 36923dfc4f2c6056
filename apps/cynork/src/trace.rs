//! `trace`: one request from its start to its end.

mod tree;

use clap::{Args, Subcommand};
use cynode_domain::ids::TraceId;
use cynode_domain::status::RunStatus;
use cynode_wire::page::Page;
use cynode_wire::traces::{TraceListQuery, TraceQuery, TraceSummary};

use crate::runs;
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Show one request from its start to its end, with times and cost.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// List traces, the one with the newest run first.
    List(TraceListArgs),
    /// Show a trace as a tree: tasks, runs, transitions, jobs, steps of agents, tool calls, model calls, decisions.
    ///
    /// Example: `cynork trace show --task build --failed`
    Show(TraceShowArgs),
}

/// Arguments of `trace list`.
#[derive(Debug, Args)]
pub struct TraceListArgs {
    /// Only traces whose newest run failed.
    #[arg(long)]
    failed: bool,
    /// Page size, 1 to 200.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: Option<u32>,
    /// Continue after the previous page.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Arguments of `trace show`.
#[derive(Debug, Args)]
pub struct TraceShowArgs {
    /// The id of the trace.
    #[arg(required_unless_present_any = ["task", "run", "request"])]
    trace: Option<TraceId>,
    /// The trace of the newest run of this task, by name or id.
    #[arg(long, conflicts_with_all = ["trace", "run", "request"])]
    task: Option<String>,
    /// The trace of this run.
    #[arg(long, conflicts_with_all = ["trace", "request"])]
    run: Option<String>,
    /// The trace of this request, by name or id.
    #[arg(long, conflicts_with = "trace")]
    request: Option<String>,
    /// Show only what failed, and what it belongs to.
    #[arg(long)]
    failed: bool,
    /// How many levels to show [default: all].
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// The most spans of one kind, 1 to 2000 [default: 500].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2000))]
    limit: Option<u32>,
}

pub(crate) async fn run(command: TraceCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        TraceCommand::List(args) => list(args, app).await,
        TraceCommand::Show(args) => show(args, app).await,
    }
}

async fn list(args: TraceListArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let status = args.failed.then_some(RunStatus::Failed);
    let query = TraceListQuery { status, limit: args.limit, cursor: args.cursor };
    let page = app.session.call(async |client| client.trace_list(&query).await).await?;
    app.out.show(&page, render_list)
}

fn render_list(page: &Page<TraceSummary>, ctx: RenderContext) -> String {
    let rows = page.items.iter().map(|trace| {
        vec![
            trace.trace_id.to_string(),
            trace.name.clone(),
            trace.status.to_string(),
            relative_time::format_relative(ctx.now, trace.created_at),
        ]
    });
    let list = table::render_table(&["TRACE", "NAME", "STATUS", "STARTED"], rows, ctx);
    match &page.next_cursor {
        Some(cursor) => format!("{list}\n\nnext page: --cursor {cursor}"),
        None => list,
    }
}

async fn show(args: TraceShowArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let trace = resolve_trace(&args, app).await?;
    let query = TraceQuery { limit: args.limit };
    let view = app.session.call(async |client| client.trace_get(trace, &query).await).await?;
    let options = tree::TreeOptions { only_failed: args.failed, depth: args.depth };
    app.out.show(&view, |view, _| tree::render_tree(view, options))
}

async fn resolve_trace(args: &TraceShowArgs, app: &mut CliContext) -> Result<TraceId, CliFailure> {
    if let Some(trace) = args.trace {
        return Ok(trace);
    }
    if let Some(request) = &args.request {
        let found = app.session.call(async |client| client.request_get(request).await).await?;
        // The trace of a request has the id of the request.
        return Ok(TraceId::from(found.id.as_uuid()));
    }
    let run = args.run.as_ref().or(args.task.as_ref()).map_or("", String::as_str);
    let run = runs::resolve_id(app, run).await?.to_string();
    Ok(app.session.call(async |client| client.run_get(&run).await).await?.run.trace_id)
}
