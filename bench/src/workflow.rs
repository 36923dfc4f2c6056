//! Durable steps: seven no-op nodes, through the real runner, the real HTTP API and a real
//! orchestrator. Start at [`run`]. Each engine is measured with one run at a time and with many,
//! next to single-row commits of the same database in the same run. Every step is a checkpoint, a
//! history row and an event, durable before the next begins.

mod drive;
mod failover;
mod floor;
mod graph;
mod long;
mod peers;
mod subject;
mod usage;
mod waiting;

use std::io::Write;

use clap::Args;

use self::drive::WorkflowFigures;
use self::floor::CommitFloor;
use self::subject::{MeasuredPostgres, WorkflowSubject};

/// Options of the workflow benchmark.
#[derive(Debug, Args)]
pub struct WorkflowBenchArgs {
    /// Number of sequential runs
    #[arg(long, default_value_t = 500)]
    sequential: u32,
    /// Number of concurrent runs
    #[arg(long, default_value_t = 32)]
    at_once: usize,
    /// Total number of runs with concurrency
    #[arg(long, default_value_t = 4000)]
    runs: u32,
    /// Number of steps of the long run
    #[arg(long, default_value_t = 10_000)]
    long: u32,
    /// Number of waiting runs
    #[arg(long, default_value_t = 10_000)]
    waiting: u32,
    /// Empty database of a server on this machine, instead of a new server
    #[arg(long, value_name = "URL")]
    postgres_url: Option<String>,
    /// Skip `PostgreSQL`
    #[arg(long)]
    no_postgres: bool,
    /// Skip SQLite
    #[arg(long)]
    no_sqlite: bool,
    /// Also measure other engines that can be installed
    #[arg(long)]
    peers: bool,
}

/// Runs the benchmark and prints tables to `out`.
pub async fn run(args: &WorkflowBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    if !args.no_postgres {
        let server = MeasuredPostgres::start(args.postgres_url.as_deref()).await?;
        let floor = floor::measure_commit_floor(&server, args.at_once, out).await?;
        let subject = WorkflowSubject::start(Some(&server)).await?;
        measure_workflow_subject(args, &subject, Some(floor), out).await?;
        drop(subject);
        if args.peers
            && let Some(server) = &server.server
        {
            peers::measure_peer_engines(args, server, out)?;
        }
    }
    if !args.no_sqlite {
        let subject = WorkflowSubject::start(None).await?;
        measure_workflow_subject(args, &subject, None, out).await?;
    }
    Ok(())
}

async fn measure_workflow_subject(
    args: &WorkflowBenchArgs,
    subject: &WorkflowSubject<'_>,
    floor: Option<CommitFloor>,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    writeln!(out, "\nworkflow on {}", subject.name)?;
    out.flush()?;
    // Warm-up: the first runs have cold caches and unprepared statements.
    drive::drive_runs(subject, 20, 1).await?;
    writeln!(out, "{}", WorkflowFigures::HEADER)?;
    let rates = [floor.map(|floor| floor.one), floor.map(|floor| floor.many)];
    let loads = [(args.sequential, 1), (args.runs, args.at_once)];
    for ((runs, slots), floor) in loads.into_iter().zip(rates) {
        let measured = drive::drive_runs(subject, runs, slots).await?;
        let ratio = floor.map(|floor| format!("  {:.2} of the floor", measured.rate() / floor));
        writeln!(out, "{measured}{}", ratio.unwrap_or_default())?;
        out.flush()?;
    }
    failover::measure_failover(subject, out).await?;
    long::measure_long_run(subject, args.long, out).await?;
    waiting::measure_waiting_runs(subject, args.waiting, out).await
}
