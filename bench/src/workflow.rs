//! Durable steps: seven nodes that do nothing, through the real runner, the real HTTP contract and a
//! real orchestrator.
//!
//! Start at [`run`]. Each engine is measured with one run at a time and with many; beside it stands
//! what the same database does with single-row commits, in the same run. Every step is a checkpoint, a
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

use self::drive::Measured;
use self::floor::Floor;
use self::subject::{Database, Subject};

/// What to measure.
#[derive(Debug, Args)]
pub struct WorkflowArgs {
    /// How many runs are driven one after the other
    #[arg(long, default_value_t = 500)]
    sequential: u32,
    /// How many runs are driven at the same time, and how many in all
    #[arg(long, default_value_t = 32)]
    at_once: usize,
    /// How many runs are driven in all when many are at the same time
    #[arg(long, default_value_t = 4000)]
    runs: u32,
    /// How many steps the long run has
    #[arg(long, default_value_t = 10_000)]
    long: u32,
    /// How many runs wait
    #[arg(long, default_value_t = 10_000)]
    waiting: u32,
    /// An empty database of a server on this machine, instead of a new server
    #[arg(long, value_name = "URL")]
    postgres_url: Option<String>,
    /// Leave `PostgreSQL` out
    #[arg(long)]
    no_postgres: bool,
    /// Leave SQLite out
    #[arg(long)]
    no_sqlite: bool,
    /// Measure other engines too, as far as they can be installed
    #[arg(long)]
    peers: bool,
}

/// Measures, and prints tables to `out`.
pub async fn run(args: &WorkflowArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    if !args.no_postgres {
        let server = Database::start(args.postgres_url.as_deref()).await?;
        let floor = floor::measure(&server, args.at_once, out).await?;
        let subject = Subject::start(Some(&server)).await?;
        measure(args, &subject, Some(floor), out).await?;
        drop(subject);
        if args.peers
            && let Some(server) = &server.server
        {
            peers::measure(args, server, out)?;
        }
    }
    if !args.no_sqlite {
        let subject = Subject::start(None).await?;
        measure(args, &subject, None, out).await?;
    }
    Ok(())
}

async fn measure(
    args: &WorkflowArgs,
    subject: &Subject<'_>,
    floor: Option<Floor>,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    writeln!(out, "\nworkflow on {}", subject.name)?;
    out.flush()?;
    // The first runs find cold caches and statements that were not prepared.
    drive::runs(subject, 20, 1).await?;
    writeln!(out, "{}", Measured::HEADER)?;
    let rates = [floor.map(|floor| floor.one), floor.map(|floor| floor.many)];
    let loads = [(args.sequential, 1), (args.runs, args.at_once)];
    for ((runs, slots), floor) in loads.into_iter().zip(rates) {
        let measured = drive::runs(subject, runs, slots).await?;
        let ratio = floor.map(|floor| format!("  {:.2} of the floor", measured.rate() / floor));
        writeln!(out, "{measured}{}", ratio.unwrap_or_default())?;
        out.flush()?;
    }
    failover::measure(subject, out).await?;
    long::measure(subject, args.long, out).await?;
    waiting::measure(subject, args.waiting, out).await
}
