//! Memory and disk over time.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::kills::processes;
use super::work::WorkReport;
use super::{Deadline, count};
use crate::memory;
use crate::table::FigureRow;

/// Pause between two samples.
const EVERY: Duration = Duration::from_mins(1);
/// How long processes of jobs may need to end once their tasks are closed.
const SETTLE: Duration = Duration::from_secs(30);
/// Growth that counts as flat, in percent: from the second quarter of the run to the last.
const FLAT_PERCENT: f64 = 10.0;

/// What is measured each time.
#[derive(Debug, Clone, Copy)]
struct Sample {
    resident_kib: u32,
    /// Bytes of everything else: blobs, state of the node, jobs that run.
    files: u64,
    /// Bytes of workspaces; those of closed tasks stay for a day.
    workspaces: u64,
    /// Bytes of the database.
    database: u64,
}

/// Takes samples of one data directory.
pub(super) struct Sampler {
    data: PathBuf,
    samples: Vec<Sample>,
}

impl Sampler {
    pub(super) fn new(data: &Path) -> Self {
        Self { data: data.to_owned(), samples: Vec::new() }
    }

    /// Takes and prints a sample each minute until the deadline.
    pub(super) async fn run(
        &mut self,
        out: &mut (dyn Write + Send),
        report: &WorkReport,
        deadline: &Deadline,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        writeln!(out, "  minute   tasks  resident  files  database")?;
        while !deadline.is_over() {
            deadline.pause(EVERY).await;
            let sample = take(&self.data);
            writeln!(
                out,
                "{:8} {:7} {:5} MiB {:3} MiB {:5} MiB",
                begun.elapsed().as_secs() / 60,
                report.outcome().tasks,
                sample.resident_kib / 1024,
                sample.files >> 20,
                sample.database >> 20,
            )?;
            out.flush()?;
            self.samples.push(sample);
        }
        Ok(())
    }

    /// Growth from the second quarter to the last one, and the size of the database for each task.
    pub(super) fn rows(&self, tasks: usize) -> Vec<FigureRow> {
        let growth = |what: &str, value: fn(&Sample) -> f64| {
            let quarter = self.samples.len() / 4;
            let early = median(self.samples.iter().skip(quarter).take(quarter.max(1)).map(value));
            let late = median(self.samples.iter().rev().take(quarter.max(1)).map(value));
            let percent = (late / early.max(1.0) - 1.0) * 100.0;
            FigureRow::from_value(format!("growth of {what}, second quarter to last"), percent, "%")
                .with_goal(FLAT_PERCENT)
        };
        let last = |value: fn(&Sample) -> u64| self.samples.last().map_or(0.0, |it| kib(value(it)));
        let per_task = |what: &str, value: fn(&Sample) -> u64| {
            let each = last(value) / count(tasks).max(1.0);
            FigureRow::from_value(format!("{what} for each task of the worker"), each, "KiB")
        };
        vec![
            growth("resident memory", |sample| f64::from(sample.resident_kib)),
            growth("files", |sample| kib(sample.files)),
            per_task("database", |sample| sample.database),
            per_task("workspaces", |sample| sample.workspaces),
        ]
    }
}

fn take(data: &Path) -> Sample {
    let is_database =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".db"));
    let mut sample = Sample {
        resident_kib: memory::measure_processes(data).rss_kib,
        files: 0,
        workspaces: 0,
        database: 0,
    };
    let mut directories = vec![data.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                directories.push(entry.path());
            } else if is_database(&entry.path()) {
                sample.database += metadata.len();
            } else if entry.path().starts_with(data.join("node/workspaces")) {
                sample.workspaces += metadata.len();
            } else if !entry.path().starts_with(data.join("logs")) {
                // Logs are rotated, and have limits of their own.
                sample.files += metadata.len();
            }
        }
    }
    sample
}

fn kib(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes >> 10).unwrap_or(u32::MAX))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Waits until no process of a job is left; returns how many are.
pub(super) async fn wait_for_jobs_to_end(data: &Path) -> usize {
    let until = Instant::now() + SETTLE;
    loop {
        let left = job_processes(data);
        if left == 0 || Instant::now() > until {
            return left;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Processes whose working directory is in a sandbox of this node.
fn job_processes(data: &Path) -> usize {
    let is_job = |path: &Path| {
        let mounts = fs::read_to_string(path.join("mountinfo")).unwrap_or_default();
        mounts.contains(&*data.to_string_lossy()) && is_sandboxed(path)
    };
    processes().filter(|(path, _)| is_job(path)).count()
}

/// Whether a process is in another process namespace than this one.
fn is_sandboxed(path: &Path) -> bool {
    let namespace = |path: &Path| fs::read_link(path.join("ns/pid")).ok();
    let own = namespace(Path::new("/proc/self"));
    namespace(path).is_some_and(|other| Some(other) != own)
}
