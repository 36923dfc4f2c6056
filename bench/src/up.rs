//! `cynode-bench up`: what a person waits for, from the first command to a finished task.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use crate::memory::{self, Memory};
use crate::processes::Up;
use crate::sample::Sample;
use crate::table::{Row, render};
use crate::tasks::{self, Seen};

const READY_MS: f64 = 2000.0;
const STOPPED_MS: f64 = 5000.0;
const RESIDENT_MIB: f64 = 200.0;
const OVERHEAD_MS: f64 = 300.0;
const SEEN_MS: f64 = 1000.0;
/// When a system that was just started counts as idle.
const IDLE_AFTER: Duration = Duration::from_secs(5);
/// Tasks that run before anything is counted.
const WARM_UP: usize = 5;

/// How much to measure.
#[derive(Debug, Args)]
pub struct UpArgs {
    /// How often it is started on an empty directory, and on one that exists.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repetitions: u16,
    /// How many trivial tasks run one after the other; twice as many run side by side.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    tasks: u16,
    /// How many tasks are in flight at once in the second half.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: u16,
}

/// Start and stop, over all repetitions.
#[derive(Debug, Default)]
struct Starts {
    first: Sample,
    again: Sample,
    stop: Sample,
}

/// What other times are compared with.
#[derive(Debug)]
struct Baseline {
    /// A shell that does nothing.
    shell: Sample,
    /// The smallest request there is.
    request: Sample,
}

/// Measures, and prints a table.
pub async fn run(args: &UpArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let starts = starts(args.repetitions)?;
    let home = tempfile::tempdir()?;
    let up = Up::start(&home.path().join("data"))?;
    tokio::time::sleep(IDLE_AFTER).await;
    let idle = memory::of_processes(home.path());
    let baseline = baseline(&up.url, args.tasks.into()).await?;
    let client = up.client()?;
    tasks::run(&client, WARM_UP, 1).await?;
    let one = tasks::run(&client, args.tasks.into(), 1).await?;
    let many = tasks::run(&client, usize::from(args.tasks) * 2, args.in_flight.into()).await?;
    let after = memory::of_processes(home.path());
    up.stop()?;
    let mut rows = start_rows(&starts, &baseline);
    rows.extend(memory_rows(idle, after));
    rows.extend(task_rows(&one, &many, &baseline, args.in_flight));
    write!(out, "{}", render(&rows))?;
    writeln!(
        out,
        "\nMedians of {} starts and {} tasks. Baselines of this run: `sh -c true` {:.2} ms, \
         GET /healthz {:.2} ms.\nThe ratio of events is to /healthz, all others to `sh -c true`.",
        args.repetitions,
        one.tasks.len(),
        baseline.shell.median().as_secs_f64() * 1000.0,
        baseline.request.median().as_secs_f64() * 1000.0,
    )?;
    Ok(())
}

fn starts(repetitions: u16) -> anyhow::Result<Starts> {
    let mut starts = Starts::default();
    for _ in 0..repetitions {
        let home = tempfile::tempdir()?;
        let data = home.path().join("data");
        for sample in [&mut starts.first, &mut starts.again] {
            let (ready, stopped) = start_and_stop(&data)?;
            sample.push(ready);
            starts.stop.push(stopped);
        }
    }
    Ok(starts)
}

fn start_and_stop(data: &Path) -> anyhow::Result<(Duration, Duration)> {
    let up = Up::start(data)?;
    Ok((up.ready_after, up.stop()?))
}

async fn baseline(url: &str, times: usize) -> anyhow::Result<Baseline> {
    let shell = Sample::of(times, async || {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "true"]).stdin(Stdio::null()).status().map(drop)
    })
    .await
    .context("/bin/sh cannot be started")?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{url}/healthz");
    let request = Sample::of(times, async || {
        http.get(&url).send().await?.error_for_status()?.bytes().await.map(drop)
    })
    .await?;
    Ok(Baseline { shell, request })
}

fn start_rows(starts: &Starts, baseline: &Baseline) -> Vec<Row> {
    let shell = baseline.shell.median();
    vec![
        Row::time("first `up`, empty directory → ready", starts.first.median()).against(shell),
        Row::time("`up`, existing directory → ready", starts.again.median())
            .under(READY_MS)
            .against(shell),
        Row::time("SIGTERM → all stopped", starts.stop.median()).under(STOPPED_MS).against(shell),
    ]
}

fn memory_rows(idle: Memory, after: Memory) -> Vec<Row> {
    let mib = |kib: u32| f64::from(kib) / 1024.0;
    let processes = idle.processes;
    vec![
        Row::number(format!("resident, {processes} idle processes"), mib(idle.rss_kib), "MiB")
            .under(RESIDENT_MIB),
        Row::number("the same, shared pages counted once", mib(idle.pss_kib), "MiB"),
        Row::number("resident, after all tasks", mib(after.rss_kib), "MiB").under(RESIDENT_MIB),
    ]
}

fn task_rows(one: &Seen, many: &Seen, baseline: &Baseline, in_flight: u16) -> Vec<Row> {
    let (shell, request) = (baseline.shell.median(), baseline.request.median());
    let per_second = f64::from(u32::try_from(many.tasks.len()).unwrap_or(u32::MAX))
        / many.all.as_secs_f64().max(f64::MIN_POSITIVE);
    vec![
        Row::time("task `true`, create → closed, p50", one.tasks.median())
            .under(OVERHEAD_MS)
            .against(shell),
        Row::time("task `true`, create → closed, p95", one.tasks.percentile(95))
            .under(OVERHEAD_MS)
            .against(shell),
        Row::number(format!("tasks per second, {in_flight} in flight"), per_second, "/s"),
        Row::time("event committed → seen, p50", one.events.median())
            .under(SEEN_MS)
            .against(request),
        Row::time("event committed → seen, p95", one.events.percentile(95))
            .under(SEEN_MS)
            .against(request),
    ]
}
