//! Tool calls, direct and through the gateway, in the same run on the same machine. Start at
//! [`run`]. The tool is the fixture's `echo`; `load` calls it in a closed loop over raw HTTP/1.1
//! and checks every response. The gateway runs in its normal configuration: with a token, policy,
//! schema validation and the audit row durable before the response. The direct call is the
//! baseline.

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

use self::peers::PeerGateway;
use self::process::BenchProcess;
use self::report::{GatewayFigures, TableStyle};
use self::subject::{DatabaseKind, GatewaySubject};

const MILLION: usize = 1_000_000;

/// Options of the gateway benchmark.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct GatewayBenchArgs {
    /// Duration of each measurement, in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Warm-up before each measurement, in seconds
    #[arg(long, default_value_t = 3)]
    warm_up: u64,
    /// Number of concurrent clients; one measurement for each value
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32])]
    clients: Vec<usize>,
    /// Measure the direct call only, without the gateway
    #[arg(long)]
    direct_only: bool,
    /// Skip `PostgreSQL`
    #[arg(long)]
    no_postgres: bool,
    /// Database to use instead of a new one on the tests' server, which runs without fsync
    #[arg(long, value_name = "URL")]
    postgres_url: Option<String>,
    /// Also measure other gateways
    #[arg(long)]
    peers: bool,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
    /// Instead, make a million calls and print the memory after every 100,000
    #[arg(long)]
    million: bool,
}

/// Runs the benchmark and prints a table to `out`.
pub async fn run(args: &GatewayBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let backend = process::start_fixture()?;
    if args.million {
        let gateway = subject::start_gateway(&backend, DatabaseKind::Sqlite).await?;
        let clients = args.clients.iter().copied().max().unwrap_or(1);
        return steady::measure_memory_over_calls(&gateway, (clients, MILLION), out).await;
    }
    let mut all = measure_gateway_subject(args, &GatewaySubject::direct(&backend), out).await?;
    if !args.direct_only {
        all.extend(measure_gateway_engines(args, &backend, out).await?);
    }
    let mut failures = vec![];
    if args.peers {
        failures = measure_peers(args, &backend, (&mut all, out)).await?;
    }
    let style = if args.markdown { TableStyle::Markdown } else { TableStyle::Plain };
    write!(out, "\n{}", report::render_gateway_table(&all, style))?;
    for failure in &failures {
        writeln!(out, "{failure}")?;
    }
    if !args.direct_only {
        print_notes(args, out)?;
    }
    let wrong = all.iter().filter(|one| one.errors > 0).count();
    if wrong > 0 || !failures.is_empty() {
        bail!("{} peers were not measured, {wrong} rows have wrong answers", failures.len());
    }
    Ok(())
}

/// Measures the peers; returns the reason for each that cannot be measured.
async fn measure_peers(
    args: &GatewayBenchArgs,
    backend: &BenchProcess,
    (all, out): (&mut Vec<GatewayFigures>, &mut (dyn Write + Send)),
) -> anyhow::Result<Vec<String>> {
    let mut failures = vec![];
    for peer in PeerGateway::ALL {
        let measured = async {
            let subject = peers::start_peer(peer, backend).await?;
            measure_gateway_subject(args, &subject, out).await
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

/// Measures the gateway on every engine, each with its own database.
async fn measure_gateway_engines(
    args: &GatewayBenchArgs,
    backend: &BenchProcess,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<GatewayFigures>> {
    let mut all = vec![];
    let mut storages = vec![DatabaseKind::Sqlite, DatabaseKind::SqliteInMemory];
    let mut database = None;
    if let Some(url) = &args.postgres_url {
        storages.push(DatabaseKind::Postgres(url.clone()));
    } else if !args.no_postgres {
        let made = database.insert(cynode_testkit::postgres_database().await);
        storages.push(DatabaseKind::PostgresOfTests(made.url.clone()));
    }
    for storage in storages {
        let gateway = subject::start_gateway(backend, storage).await?;
        all.extend(measure_gateway_subject(args, &gateway, out).await?);
    }
    Ok(all)
}

fn print_notes(args: &GatewayBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let sync = disk::measure_disk_sync(&std::env::temp_dir())?;
    writeln!(
        out,
        "This disk syncs a page in {:.3} ms (p50; p99 {:.3} ms). A call waits for two syncs, before it \
         is made and before\nit is answered; concurrent calls share a sync. The row in memory has no \
         disk latency: it shows the cost of the gateway itself.",
        sync.percentile(50).as_secs_f64() * 1e3,
        sync.percentile(99).as_secs_f64() * 1e3,
    )?;
    if args.postgres_url.is_none() && !args.no_postgres {
        writeln!(
            out,
            "The PostgreSQL of the tests runs without fsync; its CPU time is not counted."
        )?;
    }
    Ok(())
}

async fn measure_gateway_subject(
    args: &GatewayBenchArgs,
    subject: &GatewaySubject<'_>,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<GatewayFigures>> {
    let mut all = Vec::new();
    for &clients in &args.clients {
        writeln!(out, "bench gateway: {}, {clients} clients", subject.name)?;
        out.flush()?;
        let load = subject.load(clients);
        load.run_for(Duration::from_secs(args.warm_up)).await?;
        let calls = load.run_for(Duration::from_secs(args.seconds)).await?;
        let count = u32::try_from(calls.latencies.len().max(1))?;
        all.push(GatewayFigures {
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
