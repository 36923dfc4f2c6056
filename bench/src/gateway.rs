//! Tool calls, direct and through the gateway, in the same run on the same machine.
//!
//! Start at [`run`]. The fixture's `echo` is the tool; `load` calls it in a closed loop over raw
//! HTTP/1.1 and checks every answer. The gateway is measured as it is used: with a token, policy,
//! schema validation and the audit row durable before the answer. The direct call is the baseline.

mod client;
mod disk;
mod load;
pub(crate) mod peers;
pub(crate) mod process;
pub(crate) mod report;
mod steady;
pub(crate) mod subject;

use std::io::Write;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use self::peers::Peer;
use self::process::Program;
use self::report::{Measured, Style};
use self::subject::{Storage, Subject};

const MILLION: usize = 1_000_000;

/// What to measure.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct GatewayArgs {
    /// Seconds that each figure is measured for
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Seconds of calls before that
    #[arg(long, default_value_t = 3)]
    warm_up: u64,
    /// How many clients call at once; several measurements for several numbers
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32])]
    clients: Vec<usize>,
    /// Leave the gateway out: only the direct call
    #[arg(long)]
    direct_only: bool,
    /// Leave `PostgreSQL` out
    #[arg(long)]
    no_postgres: bool,
    /// A database to use instead of a new one of the tests' server, which does not wait for its disk
    #[arg(long, value_name = "URL")]
    postgres_url: Option<String>,
    /// Measure gateways of others too
    #[arg(long)]
    peers: bool,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
    /// Instead of all that, make a million calls and print the memory after every 100,000
    #[arg(long)]
    million: bool,
}

/// Measures, and prints a table to `out`.
pub async fn run(args: &GatewayArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let backend = process::fixture()?;
    if args.million {
        let gateway = subject::gateway(&backend, Storage::Sqlite).await?;
        let clients = args.clients.iter().copied().max().unwrap_or(1);
        return steady::run(&gateway, (clients, MILLION), out).await;
    }
    let mut all = measure(args, &Subject::direct(&backend), out).await?;
    if !args.direct_only {
        all.extend(measure_ours(args, &backend, out).await?);
    }
    let mut failures = vec![];
    if args.peers {
        failures = measure_peers(args, &backend, (&mut all, out)).await?;
    }
    let style = if args.markdown { Style::Markdown } else { Style::Plain };
    write!(out, "\n{}", report::table(&all, style))?;
    for failure in &failures {
        writeln!(out, "{failure}")?;
    }
    if !args.direct_only {
        explain(args, out)?;
    }
    let wrong = all.iter().filter(|one| one.errors > 0).count();
    if wrong > 0 || !failures.is_empty() {
        bail!("{} peers were not measured, {wrong} rows have wrong answers", failures.len());
    }
    Ok(())
}

/// Adds what peers did; for each that cannot be measured, why.
async fn measure_peers(
    args: &GatewayArgs,
    backend: &Program,
    (all, out): (&mut Vec<Measured>, &mut (dyn Write + Send)),
) -> anyhow::Result<Vec<String>> {
    let mut failures = vec![];
    for peer in Peer::ALL {
        let measured = async {
            let subject = peers::start(peer, backend).await?;
            measure(args, &subject, out).await
        };
        match measured.await {
            Ok(rows) => all.extend(rows),
            Err(error) => {
                let failure = format!("{} was not measured: {error:#}", peer.name());
                writeln!(out, "bench gateway: {failure}")?;
                failures.push(failure);
            }
        }
    }
    Ok(failures)
}

/// The gateway on every engine, each with a database of its own.
async fn measure_ours(
    args: &GatewayArgs,
    backend: &Program,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<Measured>> {
    let mut all = vec![];
    let mut storages = vec![Storage::Sqlite, Storage::SqliteInMemory];
    let mut database = None;
    if let Some(url) = &args.postgres_url {
        storages.push(Storage::Postgres(url.clone()));
    } else if !args.no_postgres {
        let made = database.insert(cynode_testkit::postgres_database().await);
        storages.push(Storage::PostgresOfTests(made.url.clone()));
    }
    for storage in storages {
        let gateway = subject::gateway(backend, storage).await?;
        all.extend(measure(args, &gateway, out).await?);
    }
    Ok(all)
}

fn explain(args: &GatewayArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let sync = disk::sync_times(&std::env::temp_dir())?;
    writeln!(
        out,
        "This disk keeps a page for good in {:.3} ms (p50; p99 {:.3} ms). A call waits for that \
         twice, before it is made and before\nit is answered; calls at the same time share it. In \
         memory nothing waits: that row is what the gateway itself adds.",
        sync.percentile(50).as_secs_f64() * 1e3,
        sync.percentile(99).as_secs_f64() * 1e3,
    )?;
    if args.postgres_url.is_none() && !args.no_postgres {
        writeln!(out, "The PostgreSQL of the tests runs without fsync; its CPU time is not ours.")?;
    }
    Ok(())
}

async fn measure(
    args: &GatewayArgs,
    subject: &Subject<'_>,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<Measured>> {
    let mut all = Vec::new();
    for &clients in &args.clients {
        writeln!(out, "bench gateway: {}, {clients} clients", subject.name)?;
        out.flush()?;
        let load = subject.load(clients);
        load.run(Duration::from_secs(args.warm_up)).await?;
        let calls = load.run(Duration::from_secs(args.seconds)).await?;
        let count = u32::try_from(calls.latencies.len().max(1))?;
        all.push(Measured {
            subject: subject.name.clone(),
            clients,
            calls_per_second: f64::from(count) / calls.took.as_secs_f64(),
            median: calls.latencies.percentile(50),
            slow: calls.latencies.percentile(99),
            errors: calls.errors,
            cpu_micros: calls.cpu.as_secs_f64() * 1e6 / f64::from(count),
            rss_mib: calls.rss_mib,
        });
    }
    Ok(all)
}
