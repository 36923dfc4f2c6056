//! The audit log alone: write throughput, and query latency on a large log. Start at [`run`]: the
//! writers record calls and outcomes, each durable before its writer continues, until the log is
//! large; then typical queries are timed.

mod queries;
mod workload;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use cynode_domain::ids::ChainId;
use cynode_domain::policy::Effect;
use cynode_store::{AuditKeys, AuditWriter, Store};
use futures_util::future::try_join_all;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use self::workload::AuditWorkload;

/// Options of the audit benchmark.
#[derive(Debug, Args)]
pub struct AuditBenchArgs {
    /// Number of calls in the log before it is queried; each also has an outcome
    #[arg(long, default_value_t = 1_000_000)]
    calls: u32,
    /// Number of concurrent writers
    #[arg(long, default_value_t = 32)]
    writers: u32,
    /// Skip `PostgreSQL`
    #[arg(long)]
    no_postgres: bool,
    /// Database to use instead of a new one on the tests' server, which runs without fsync
    #[arg(long, value_name = "URL")]
    postgres_url: Option<String>,
}

/// Runs the benchmark and prints the results to `out`.
pub async fn run(args: &AuditBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let directory = tempfile::Builder::new().prefix("cynode-bench-").tempdir()?;
    let url = format!("sqlite:{}", directory.path().join("cynode.db").display());
    measure_audit_log(args, &url, out).await?;
    if let Some(url) = &args.postgres_url {
        measure_audit_log(args, url, out).await?;
    } else if !args.no_postgres {
        let database = cynode_testkit::postgres_database().await;
        measure_audit_log(args, &database.url, out).await?;
        writeln!(
            out,
            "The PostgreSQL of the tests runs without fsync; its CPU time is not counted."
        )?;
    }
    Ok(())
}

async fn measure_audit_log(
    args: &AuditBenchArgs,
    url: &str,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let store = Store::open(url).await.context("the database cannot be opened")?;
    writeln!(out, "audit log on {}, {} writers", store.engine().as_str(), args.writers)?;
    let world = AuditWorkload::default();
    let keys = Arc::new(AuditKeys::new(&[0; 32], vec![])?);
    let filled = write_audit_records(&store, &world, &keys, args).await?;
    let records = f64::from(filled.records);
    writeln!(
        out,
        "  {} records, each durable before its writer continued: {:.0} records/s, {:.1} µs of CPU each",
        filled.records,
        records / filled.took.as_secs_f64(),
        filled.cpu.as_secs_f64() * 1e6 / records,
    )?;
    out.flush()?;
    queries::measure_queries(&store, &world, &keys, out).await
}

struct AuditWriteResult {
    records: u32,
    took: Duration,
    cpu: Duration,
}

async fn write_audit_records(
    store: &Store,
    world: &AuditWorkload,
    keys: &Arc<AuditKeys>,
    args: &AuditBenchArgs,
) -> anyhow::Result<AuditWriteResult> {
    let lane = AuditWriter::open(
        store,
        ChainId::generate(),
        None,
        ChainId::generate(),
        Arc::clone(keys),
        Arc::new(AuditWorkload::latest_time),
    )
    .await?;
    let (begun, before) = (Instant::now(), process_cpu_time()?);
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
                lane.record_outcome(AuditWorkload::outcome(id, number)).await?;
                records.fetch_add(1, Ordering::Relaxed);
            }
            records.fetch_add(1, Ordering::Relaxed);
        }
    });
    try_join_all(writers).await?;
    let took = begun.elapsed();
    Ok(AuditWriteResult {
        records: records.into_inner(),
        took,
        cpu: process_cpu_time()?.saturating_sub(before),
    })
}

/// CPU time of this process so far.
fn process_cpu_time() -> anyhow::Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let duration = |time: TimeVal| {
        Ok::<_, anyhow::Error>(Duration::new(
            u64::try_from(time.tv_sec())?,
            u32::try_from(time.tv_usec())? * 1000,
        ))
    };
    Ok(duration(usage.user_time())? + duration(usage.system_time())?)
}
