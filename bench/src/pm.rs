//! `cynode-bench pm`: submitted work with scripted agents, next to plain tasks on the same repository.
//!
//! Every request is a fix: its context is read, one unit is carried out by a script of the repository, and the result is
//! merged and tested. Each of these is a child task with a checkout and a sandbox. The baseline is a plain task with the
//! same checkout, sandbox and script: the difference is what requests cost beyond their agents.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use cynode_client::{Client, EventStream};
use cynode_domain::ids::TaskId;
use cynode_wire::events::EventQuery;
use cynode_wire::requests::SubmitRequest;
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use crate::memory;
use crate::processes::{UpOptions, UpProcess};
use crate::sample::DurationSample;
use crate::table::{FigureRow, render_rows};

/// Child tasks of one request: context, implementation, merge with its tests.
const CHILDREN: u32 = 3;
/// An agent that leaves a file that no other one leaves.
const AGENT: &str = "set -e\ndate +%N > done-$$.txt\n";
/// Longest time without an event.
const QUIET: Duration = Duration::from_mins(2);

/// Options of the `pm` benchmark.
#[derive(Debug, Args)]
pub struct PmBenchArgs {
    /// Number of requests that are submitted at once.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    requests: u16,
    /// Further rounds with this many requests in all, to see whether a unit costs the same in each.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [10_u16, 100, 1000])]
    rounds: Vec<u16>,
    /// Requests in flight in these rounds.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: u16,
}

/// The tasks of one round.
#[derive(Debug, Default)]
struct RoundTimings {
    /// From submission to the event that closes it.
    each: DurationSample,
    /// From the first submission to the last event.
    all: Duration,
}

impl RoundTimings {
    /// Time for each of so many parts of every task.
    fn per_part(&self, parts: u32) -> Duration {
        let count = u32::try_from(self.each.len()).unwrap_or(u32::MAX).saturating_mul(parts);
        self.all / count.max(1)
    }
}

/// What the tasks of a round are.
#[derive(Debug, Clone, Copy)]
enum SubmittedWork {
    /// Plain tasks: the baseline.
    Task,
    Request,
}

/// The system under measurement.
struct Subject {
    client: Client,
    data: PathBuf,
    repository: PathBuf,
    /// Work submitted so far: each has a text of its own.
    submitted: u32,
}

/// Runs the benchmark and prints a table.
pub async fn run(args: &PmBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let repository = home.path().join("repository");
    create_repository(&repository)?;
    let data = home.path().join("data");
    let up = UpProcess::start_with(&UpOptions {
        data_dir: data.clone(),
        listen: "127.0.0.1:0".to_owned(),
        database_url: None,
        repository_path: Some(repository.clone()),
    })?;
    let mut subject = Subject { client: up.client()?, data, repository, submitted: 0 };
    // The first task builds the mirror of the repository.
    subject.run_round(SubmittedWork::Task, 2, 1).await?;
    subject.run_round(SubmittedWork::Request, 2, 1).await?;

    let count = usize::from(args.requests);
    let baseline = subject.run_round(SubmittedWork::Task, count, count).await?;
    let before = subject.database_bytes();
    let requests = subject.run_round(SubmittedWork::Request, count, count).await?;
    let memory = memory::measure_processes(home.path());
    let mut rows = vec![
        FigureRow::from_duration(
            format!("{count} plain tasks at once, per task"),
            baseline.per_part(1),
        ),
        FigureRow::from_duration(
            format!("{count} requests at once, per child task ({CHILDREN} each)"),
            requests.per_part(CHILDREN),
        )
        .with_baseline(baseline.per_part(1)),
        FigureRow::from_duration("the same, submitted → delivered, p50", requests.each.median()),
        FigureRow::from_duration(
            "the same, submitted → delivered, p95",
            requests.each.percentile(95),
        ),
        FigureRow::from_value(
            "resident, all processes, afterwards",
            f64::from(memory.rss_kib) / 1024.0,
            "MiB",
        ),
        FigureRow::from_value(
            "database, per request",
            kib(subject.database_bytes().saturating_sub(before)) / f64::from(args.requests),
            "KiB",
        ),
    ];
    let mut first = None;
    for round in &args.rounds {
        let before = subject.database_bytes();
        let timings = subject
            .run_round(SubmittedWork::Request, usize::from(*round), args.in_flight.into())
            .await?;
        let each = timings.per_part(CHILDREN);
        let what = format!("{round} requests, {} in flight, per child task", args.in_flight);
        rows.push(FigureRow::from_duration(what, each).with_baseline(*first.get_or_insert(each)));
        let grown = kib(subject.database_bytes().saturating_sub(before)) / f64::from(*round);
        rows.push(FigureRow::from_value("  database, per request", grown, "KiB"));
        let memory = f64::from(memory::measure_processes(home.path()).rss_kib) / 1024.0;
        rows.push(FigureRow::from_value("  resident, all processes", memory, "MiB"));
    }
    up.stop()?;
    write!(out, "{}", render_rows(&rows))?;
    writeln!(
        out,
        "\nThe ratio of requests at once is to plain tasks with the same checkout, sandbox and script; that of the rounds is to the first round."
    )?;
    Ok(())
}

impl Subject {
    /// Has `count` tasks done, `in_flight` of them at any time. Fails unless each completes.
    async fn run_round(
        &mut self,
        work: SubmittedWork,
        count: usize,
        in_flight: usize,
    ) -> anyhow::Result<RoundTimings> {
        let mut events = self.client.events(&EventQuery::default(), None).await?;
        let mut timings = RoundTimings::default();
        let mut open: HashMap<TaskId, Instant> = HashMap::new();
        let mut unsent = count;
        let begun = Instant::now();
        while unsent > 0 || !open.is_empty() {
            while unsent > 0 && open.len() < in_flight {
                let sent = Instant::now();
                open.insert(self.submit(work).await?, sent);
                unsent -= 1;
            }
            let (task, status) = next_closed(&mut events).await?;
            if let Some(sent) = open.remove(&task) {
                ensure!(status == "completed", "{work:?} {task} is {status}");
                timings.each.push(sent.elapsed());
            }
        }
        timings.all = begun.elapsed();
        Ok(timings)
    }

    async fn submit(&mut self, work: SubmittedWork) -> anyhow::Result<TaskId> {
        self.submitted += 1;
        let number = self.submitted;
        let url = self.repository.to_string_lossy();
        match work {
            SubmittedWork::Task => {
                let task: CreateTask = serde_json::from_value(json!({
                    "input_mode": "commands",
                    "commands": ["sh .cynode/demo/implementation.sh"],
                    "repository": { "url": url },
                }))?;
                Ok(self.client.task_create(&task).await?.id)
            }
            SubmittedWork::Request => {
                let request: SubmitRequest = serde_json::from_value(json!({
                    "text": format!("Fix the typo number {number} in the heading of README.md"),
                    "repository": { "url": url },
                    "kind": "quick_fix",
                    "scope": "small",
                    "settings": { "deliver": "patch", "agent": "demo-script" },
                }))?;
                Ok(self.client.request_submit(&request).await?.id)
            }
        }
    }

    /// Bytes of the database and its log.
    fn database_bytes(&self) -> u64 {
        let files = fs::read_dir(&self.data).into_iter().flatten().flatten();
        files
            .filter(|file| file.file_name().to_string_lossy().contains(".db"))
            .filter_map(|file| file.metadata().ok())
            .map(|metadata| metadata.len())
            .sum()
    }
}

/// The next task that closes, with its status.
async fn next_closed(events: &mut EventStream) -> anyhow::Result<(TaskId, String)> {
    loop {
        let event = tokio::time::timeout(QUIET, events.next());
        let event = event.await.context("nothing has happened for two minutes")??;
        let Some(event) = event else { bail!("the stream of events ended") };
        if let (true, Some(task)) = (event.kind == "task.closed", event.task_id) {
            return Ok((task, event.data["status"].as_str().unwrap_or_default().to_owned()));
        }
    }
}

fn kib(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1024).unwrap_or(u32::MAX))
}

/// A repository with a test and the script of an agent.
fn create_repository(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory.join(".cynode/demo"))?;
    fs::write(directory.join("README.md"), "# Sample\n")?;
    fs::write(
        directory.join("AGENTS.md"),
        "# Sample\n\n## Architecture\n\nOne file.\n\n## Test\n\n```\ntest -s README.md\n```\n",
    )?;
    fs::write(directory.join(".cynode/demo/implementation.sh"), AGENT)?;
    for args in [
        vec!["init", "--quiet", "--initial-branch=main"],
        vec!["add", "."],
        vec![
            "-c",
            "user.name=Bench",
            "-c",
            "user.email=bench@example.invalid",
            "commit",
            "--quiet",
            "--message=Sample",
        ],
    ] {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
        let status = git.arg("-C").arg(directory).args(args).status()?;
        ensure!(status.success(), "git ended with {status}");
    }
    Ok(())
}
