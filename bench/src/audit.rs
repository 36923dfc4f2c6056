//! The audit log alone: how fast its writer is, and how fast a large log answers.
//!
//! Start at [`run`]. So many writers record calls and their outcomes, each durable before the
//! writer goes on, until the log is large; then the questions that people ask are timed on it.

mod questions;
mod world;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use cynode_domain::ids::ChainId;
use cynode_domain::policy::Effect;
use cynode_store::{AuditLane, Store};
use futures_util::future::try_join_all;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use self::world::World;

/// How much to measure.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// How many calls the log holds before it is asked anything; each has an outcome, too
    #[arg(long, default_value_t = 1_000_000)]
    calls: u32,
    /// How many callers record at once
    #[arg(long, default_value_t = 32)]
    writers: u32,
    /// Leave `PostgreSQL` out
    #[arg(long)]
    no_postgres: bool,
    /// A database to use instead of a new one of the tests' server, which does not wait for its disk
    #[arg(long, value_name = "URL")]
    postgres_url: Option<String>,
}

/// Measures, and prints what it found to `out`.
pub async fn run(args: &AuditArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let directory = tempfile::Builder::new().prefix("cynode-bench-").tempdir()?;
    let url = format!("sqlite:{}", directory.path().join("cynode.db").display());
    measure(args, &url, out).await?;
    if let Some(url) = &args.postgres_url {
        measure(args, url, out).await?;
    } else if !args.no_postgres {
        let database = cynode_testkit::postgres_database().await;
        measure(args, &database.url, out).await?;
        writeln!(
            out,
            "The PostgreSQL of the tests runs without fsync; its CPU time is not counted."
        )?;
    }
    Ok(())
}

async fn measure(args: &AuditArgs, url: &str, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let store = Store::open(url).await.context("the database cannot be opened")?;
    writeln!(out, "audit log on {}, {} writers", store.engine().as_str(), args.writers)?;
    let world = World::default();
    let filled = fill(&store, &world, args).await?;
    let records = f64::from(filled.records);
    writeln!(
        out,
        "  {} records, each durable before its writer went on: {:.0} records/s, {:.1} µs of CPU each",
        filled.records,
        records / filled.took.as_secs_f64(),
        filled.cpu.as_secs_f64() * 1e6 / records,
    )?;
    out.flush()?;
    questions::ask(&store, &world, out).await
}

struct Filled {
    records: u32,
    took: Duration,
    cpu: Duration,
}

async fn fill(store: &Store, world: &World, args: &AuditArgs) -> anyhow::Result<Filled> {
    let lane =
        AuditLane::open(store, ChainId::generate(), ChainId::generate(), Arc::new(World::last))
            .await?;
    let (begun, before) = (Instant::now(), cpu()?);
    let (next, records) = (AtomicU32::new(0), AtomicU32::new(0));
    let writers = (0..args.writers).map(|_| async {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= args.calls {
                return Ok::<_, anyhow::Error>(());
            }
            let call = world.call(number);
            let (id, decision) = (call.id, call.decision);
            lane.call(call).await?;
            if decision == Effect::Allow {
                lane.outcome(World::outcome(id, number)).await?;
                records.fetch_add(1, Ordering::Relaxed);
            }
            records.fetch_add(1, Ordering::Relaxed);
        }
    });
    try_join_all(writers).await?;
    let took = begun.elapsed();
    Ok(Filled { records: records.into_inner(), took, cpu: cpu()?.saturating_sub(before) })
}

/// The CPU time of this process so far.
fn cpu() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let duration = |time: TimeVal| {
        Ok::<_, anyhow::Error>(Duration::new(
            u64::try_from(time.tv_sec())?,
            u32::try_from(time.tv_usec())? * 1000,
        ))
    };
    Ok(duration(usage.user_time())? + duration(usage.system_time())?)
}
