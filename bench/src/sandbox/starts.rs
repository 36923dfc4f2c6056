//! Starts of `sh -c true`.

use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_sandbox::sandbox::{Sandbox, SandboxOptions};
use cynode_wire::nodes::{Assignment, SandboxLevel};

use crate::processes::find_cynode_binary;
use crate::sample::DurationSample;
use crate::table::FigureRow;

/// The most that a sandbox may take in relation to `bwrap`.
const GOAL_RATIO: f64 = 2.0;

/// What `bwrap` isolates here: the same namespaces, and a read-only view of the system.
const BWRAP_ARGS: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "/bin/sh",
    "-c",
    "true",
];

/// The times of one job of a node.
#[derive(Debug, Default)]
struct JobTimings {
    /// From the assignment to the durable outcome.
    whole: DurationSample,
    /// From the start of the supervisor to the end of the last process.
    processes: DurationSample,
}

/// Measures all ways to start a command; also returns what the sandbox enforces.
pub(super) async fn measure(
    starts: u16,
    at_once: u16,
) -> anyhow::Result<(Vec<FigureRow>, SandboxLevel)> {
    let home = tempfile::tempdir()?;
    let mut options = SandboxOptions::new(home.path().join("node"));
    options.executable = find_cynode_binary()?;
    let sandbox = tokio::task::spawn_blocking(move || Sandbox::prepare(options)).await??;
    if !sandbox.level().supported {
        bail!("this machine cannot run sandboxes: {:?}", sandbox.level().reason);
    }
    let plain = DurationSample::measure(starts.into(), async || run_plain()).await?;
    let bwrap = match DurationSample::measure(starts.into(), async || run_bwrap()).await {
        Ok(sample) => Some(sample),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).context("bwrap cannot be run"),
    };
    let mut jobs = JobTimings::default();
    for _ in 0..starts {
        let (whole, processes) = run_job(&sandbox).await?;
        jobs.whole.push(whole);
        jobs.processes.push(processes);
    }
    let mut rows = vec![FigureRow::from_duration("`sh -c true`, plain", plain.median())];
    let base = bwrap.as_ref().map(DurationSample::median);
    match base {
        Some(bwrap) => rows.push(
            FigureRow::from_duration("`sh -c true`, bwrap", bwrap).with_baseline(plain.median()),
        ),
        None => rows.push(FigureRow::from_value("bwrap is not installed", 0.0, "")),
    }
    let base = base.unwrap_or(plain.median());
    let goal = base.as_secs_f64() * 1000.0 * GOAL_RATIO;
    rows.extend([
        FigureRow::from_duration("sandbox: processes only", jobs.processes.median())
            .with_goal(goal)
            .with_baseline(base),
        FigureRow::from_duration("sandbox: the whole job, durable", jobs.whole.median())
            .with_baseline(base),
    ]);
    rows.extend(measure_at_once(&sandbox, at_once, bwrap.is_some()).await?);
    Ok((rows, sandbox.level().clone()))
}

/// Measures many at once, each way.
async fn measure_at_once(
    sandbox: &Sandbox,
    at_once: u16,
    has_bwrap: bool,
) -> anyhow::Result<Vec<FigureRow>> {
    let mut rows = Vec::new();
    let plain = time_all(at_once, async || blocking(run_plain).await).await?;
    rows.push(FigureRow::from_duration(format!("{at_once} at once, plain"), plain));
    let mut base = plain;
    if has_bwrap {
        base = time_all(at_once, async || blocking(run_bwrap).await).await?;
        let name = format!("{at_once} at once, bwrap");
        rows.push(FigureRow::from_duration(name, base).with_baseline(plain));
    }
    let jobs = time_all(at_once, async || run_job(sandbox).await.map(drop)).await?;
    let name = format!("{at_once} at once, jobs");
    rows.push(FigureRow::from_duration(name, jobs).with_baseline(base));
    Ok(rows)
}

/// Runs `work` concurrently; returns the time until all have ended.
async fn time_all<E>(count: u16, work: impl AsyncFn() -> Result<(), E>) -> Result<Duration, E> {
    let begun = Instant::now();
    let all = futures_util::future::join_all((0..count).map(|_| work())).await;
    all.into_iter().collect::<Result<(), E>>()?;
    Ok(begun.elapsed())
}

async fn blocking(work: fn() -> io::Result<()>) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn run_plain() -> io::Result<()> {
    run_quietly(Command::new("/bin/sh").args(["-c", "true"]))
}

fn run_bwrap() -> io::Result<()> {
    run_quietly(Command::new("bwrap").args(BWRAP_ARGS))
}

fn run_quietly(command: &mut Command) -> io::Result<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) }
}

/// Runs a job as a node does; returns its whole time, and that of its processes.
async fn run_job(sandbox: &Sandbox) -> anyhow::Result<(Duration, Duration)> {
    let sandbox = sandbox.clone();
    let run = move || {
        let begun = Instant::now();
        let dir = sandbox.accept(assignment())?;
        let started = Instant::now();
        let outcome = sandbox.start(&dir).wait();
        ensure!(outcome.ending == JobEnding::Exited { code: 0 }, "{:?}", outcome.ending);
        Ok((begun.elapsed(), started.elapsed()))
    };
    tokio::task::spawn_blocking(run).await?
}

fn assignment() -> Assignment {
    Assignment {
        job_id: JobId::generate(),
        task_id: TaskId::generate(),
        run_id: RunId::generate(),
        action: Action::Command { line: "true".to_owned() },
        limits: Limits::default(),
        attachments: vec![],
        repository: None,
        push: None,
        agent: None,
        image: None,
        cache: None,
        trace: None,
        incarnation: None,
        needs_workspace: false,
    }
}
