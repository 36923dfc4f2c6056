//! Tool calls, direct and through the gateway, in the same run on the same machine.
//!
//! Start at [`run`]. The fixture's `echo` is the tool; `load` calls it in a closed loop over raw
//! HTTP/1.1 and checks every answer. The gateway is measured as it is used: with a token, policy,
//! schema validation and the audit row durable before the answer. The direct call is the baseline.

mod load;
mod peer;
mod process;
mod subject;

use std::fmt::Write as _;
use std::io::Write;
use std::time::Duration;

use clap::Args;

use self::load::Load;
use self::process::Usage;
use self::subject::Subject;

/// What to measure.
#[derive(Debug, Args)]
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
    /// Measure the peer gateway too, if it is installed
    #[arg(long)]
    peers: bool,
}

/// What was measured of one subject with one number of clients.
struct Measured {
    subject: String,
    clients: usize,
    calls_per_second: f64,
    median: Duration,
    slow: Duration,
    errors: usize,
    /// CPU time of the subject's process for each call, in microseconds.
    cpu_micros: f64,
    rss_mib: f64,
}

/// Measures, and prints a table to `out`.
pub async fn run(args: &GatewayArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let backend = process::fixture()?;
    let direct = Subject::direct(&backend);
    let mut all = measure(args, &direct, out).await?;
    if !args.direct_only {
        let gateway = subject::gateway(&backend, None).await?;
        all.extend(measure(args, &gateway, out).await?);
        drop(gateway);
        if !args.no_postgres {
            let database = cynode_testkit::postgres_database().await;
            let gateway = subject::gateway(&backend, Some(&database.url)).await?;
            all.extend(measure(args, &gateway, out).await?);
        }
    }
    if args.peers {
        match peer::start(&backend).await? {
            Some(peer) => all.extend(measure(args, &peer, out).await?),
            None => {
                writeln!(out, "mcp-proxy is not installed: `cargo xtask bench gateway --peers`")?;
            }
        }
    }
    write!(out, "\n{}", table(&all))?;
    writeln!(out, "The PostgreSQL of the tests runs without fsync; SQLite as users run it.")?;
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
        let load = Load { target: &subject.target, clients };
        load.run(Duration::from_secs(args.warm_up)).await?;
        let before = Usage::of(subject.process_id)?;
        let calls = load.run(Duration::from_secs(args.seconds)).await?;
        let after = Usage::of(subject.process_id)?;
        let count = u32::try_from(calls.latencies.len().max(1))?;
        all.push(Measured {
            subject: subject.name.clone(),
            clients,
            calls_per_second: f64::from(count) / calls.took.as_secs_f64(),
            median: calls.latencies.percentile(50),
            slow: calls.latencies.percentile(99),
            errors: calls.errors,
            cpu_micros: after.cpu.saturating_sub(before.cpu).as_secs_f64() * 1e6 / f64::from(count),
            rss_mib: after.rss_mib,
        });
    }
    Ok(all)
}

fn table(all: &[Measured]) -> String {
    let mut text = format!(
        "{:<24} {:>7} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8} {:>7}\n",
        "subject",
        "clients",
        "calls/s",
        "p50 ms",
        "p99 ms",
        "added p50",
        "CPU µs",
        "RSS MiB",
        "errors"
    );
    for one in all {
        // The first subject is the direct call.
        let direct = all.iter().find(|other| other.clients == one.clients);
        let added =
            direct.map_or(Duration::ZERO, |direct| one.median.saturating_sub(direct.median));
        let _ = writeln!(
            text,
            "{:<24} {:>7} {:>9.0} {:>9.3} {:>9.3} {:>11.3} {:>8.1} {:>8.1} {:>7}",
            one.subject,
            one.clients,
            one.calls_per_second,
            one.median.as_secs_f64() * 1e3,
            one.slow.as_secs_f64() * 1e3,
            added.as_secs_f64() * 1e3,
            one.cpu_micros,
            one.rss_mib,
            one.errors,
        );
    }
    text
}
