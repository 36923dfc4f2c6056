//! `cynode-bench up`: latency for a person, from the first command to a finished task.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use crate::memory::{self, ProcessMemory};
use crate::processes::UpProcess;
use crate::sample::DurationSample;
use crate::table::{FigureRow, render_rows};
use crate::tasks::{self, TaskTimings};

const READY_MS: f64 = 2000.0;
const STOPPED_MS: f64 = 5000.0;
const RESIDENT_MIB: f64 = 200.0;
const OVERHEAD_MS: f64 = 300.0;
const SEEN_MS: f64 = 1000.0;
/// Time after start when the system counts as idle.
const IDLE_AFTER: Duration = Duration::from_secs(5);
/// Warm-up tasks.
const WARM_UP: usize = 5;

/// Options of the `up` benchmark.
#[derive(Debug, Args)]
pub struct UpBenchArgs {
    /// Number of starts on an empty and on an existing directory.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repetitions: u16,
    /// Number of sequential trivial tasks; twice as many run concurrently.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
    tasks: u16,
    /// Number of tasks in flight in the second half.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: u16,
}

/// Start and stop times of all repetitions.
#[derive(Debug, Default)]
struct StartTimings {
    first: DurationSample,
    again: DurationSample,
    stop: DurationSample,
}

/// Baselines of the other times.
#[derive(Debug)]
struct BaselineTimings {
    /// A shell that does nothing.
    shell: DurationSample,
    /// The smallest possible request.
    request: DurationSample,
}

/// Runs the benchmark and prints a table.
pub async fn run(args: &UpBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let starts = measure_starts(args.repetitions)?;
    let home = tempfile::tempdir()?;
    let up = UpProcess::start(&home.path().join("data"))?;
    tokio::time::sleep(IDLE_AFTER).await;
    let idle = memory::measure_processes(home.path());
    let baseline = measure_baseline(&up.url, args.tasks.into()).await?;
    let client = up.client()?;
    tasks::run_trivial_tasks(&client, WARM_UP, 1).await?;
    let one = tasks::run_trivial_tasks(&client, args.tasks.into(), 1).await?;
    let many =
        tasks::run_trivial_tasks(&client, usize::from(args.tasks) * 2, args.in_flight.into())
            .await?;
    let after = memory::measure_processes(home.path());
    up.stop()?;
    let mut rows = start_rows(&starts, &baseline);
    rows.extend(memory_rows(idle, after));
    rows.extend(task_rows(&one, &many, &baseline, args.in_flight));
    write!(out, "{}", render_rows(&rows))?;
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

fn measure_starts(repetitions: u16) -> anyhow::Result<StartTimings> {
    let mut starts = StartTimings::default();
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
    let up = UpProcess::start(data)?;
    Ok((up.ready_after, up.stop()?))
}

async fn measure_baseline(url: &str, times: usize) -> anyhow::Result<BaselineTimings> {
    let shell = DurationSample::measure(times, async || {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "true"]).stdin(Stdio::null()).status().map(drop)
    })
    .await
    .context("/bin/sh cannot be started")?;
    let http = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{url}/healthz");
    let request = DurationSample::measure(times, async || {
        http.get(&url).send().await?.error_for_status()?.bytes().await.map(drop)
    })
    .await?;
    Ok(BaselineTimings { shell, request })
}

fn start_rows(starts: &StartTimings, baseline: &BaselineTimings) -> Vec<FigureRow> {
    let shell = baseline.shell.median();
    vec![
        FigureRow::from_duration("first `up`, empty directory → ready", starts.first.median())
            .with_baseline(shell),
        FigureRow::from_duration("`up`, existing directory → ready", starts.again.median())
            .with_goal(READY_MS)
            .with_baseline(shell),
        FigureRow::from_duration("SIGTERM → all stopped", starts.stop.median())
            .with_goal(STOPPED_MS)
            .with_baseline(shell),
    ]
}

fn memory_rows(idle: ProcessMemory, after: ProcessMemory) -> Vec<FigureRow> {
    let mib = |kib: u32| f64::from(kib) / 1024.0;
    let processes = idle.processes;
    vec![
        FigureRow::from_value(
            format!("resident, {processes} idle processes"),
            mib(idle.rss_kib),
            "MiB",
        )
        .with_goal(RESIDENT_MIB),
        FigureRow::from_value("the same, shared pages counted once", mib(idle.pss_kib), "MiB"),
        FigureRow::from_value("resident, after all tasks", mib(after.rss_kib), "MiB")
            .with_goal(RESIDENT_MIB),
    ]
}

fn task_rows(
    one: &TaskTimings,
    many: &TaskTimings,
    baseline: &BaselineTimings,
    in_flight: u16,
) -> Vec<FigureRow> {
    let (shell, request) = (baseline.shell.median(), baseline.request.median());
    let per_second = f64::from(u32::try_from(many.tasks.len()).unwrap_or(u32::MAX))
        / many.all.as_secs_f64().max(f64::MIN_POSITIVE);
    vec![
        FigureRow::from_duration("task `true`, create → closed, p50", one.tasks.median())
            .with_goal(OVERHEAD_MS)
            .with_baseline(shell),
        FigureRow::from_duration("task `true`, create → closed, p95", one.tasks.percentile(95))
            .with_goal(OVERHEAD_MS)
            .with_baseline(shell),
        FigureRow::from_value(format!("tasks per second, {in_flight} in flight"), per_second, "/s"),
        FigureRow::from_duration("event committed → seen, p50", one.events.median())
            .with_goal(SEEN_MS)
            .with_baseline(request),
        FigureRow::from_duration("event committed → seen, p95", one.events.percentile(95))
            .with_goal(SEEN_MS)
            .with_baseline(request),
    ]
}
