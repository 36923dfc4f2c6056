//! Many runs of seven steps, through the real runner.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_workflow::runner::{WorkflowRunner, WorkflowRunnerOptions};
use cynode_workflow::workflow::RunnableWorkflow;

use super::graph::{RunCounter, STEPS, SevenStepWorkflow};
use super::subject::WorkflowSubject;
use super::usage::{WorkflowUsage, resident_mib};

/// The figures of one measurement.
pub(super) struct WorkflowFigures {
    slots: usize,
    runs: u32,
    steps: u32,
    took: Duration,
    used: WorkflowUsage,
    runner_mib: f64,
    orchestrator_mib: f64,
}

impl WorkflowFigures {
    pub(super) const HEADER: &'static str = "at once   runs   steps/s  ms/run  commits/step \
        syncs/step  WAL B/step  CPU µs/step (runner + orchestrator + database)  RSS MiB runner, orchestrator";

    /// Steps per second.
    pub(super) fn rate(&self) -> f64 {
        f64::from(self.steps) / self.took.as_secs_f64()
    }
}

impl fmt::Display for WorkflowFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = f64::from(self.steps);
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / steps;
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let each = |count: i64| count as f64 / steps;
        let WorkflowUsage { runner, orchestrator, database, commits, syncs, wal_bytes } = self.used;
        write!(
            f,
            "{:>7} {:>6} {:>9.0} {:>7.2} {:>13.3} {:>10.3} {:>11.0}  {:>5.0} ({:.0} + {:.0} + {:.0}) {:>31.1}, {:.1}",
            self.slots,
            self.runs,
            self.rate(),
            self.took.as_secs_f64() * 1e3 * f64::from(u32::try_from(self.slots).unwrap_or(1))
                / f64::from(self.runs),
            each(commits),
            each(syncs),
            each(wal_bytes),
            micros(self.used.cpu()),
            micros(runner),
            micros(orchestrator),
            micros(database),
            self.runner_mib,
            self.orchestrator_mib,
        )
    }
}

/// Drives `drive_runs` new runs, `slots` at a time.
pub(super) async fn drive_runs(
    subject: &WorkflowSubject<'_>,
    runs: u32,
    slots: usize,
) -> anyhow::Result<WorkflowFigures> {
    subject.create_tasks(runs).await?;
    let ended = RunCounter::with_target(runs);
    let before = WorkflowUsage::measure(subject).await?;
    let took = drive_until(
        subject,
        SevenStepWorkflow { ended: Arc::clone(&ended) },
        slots,
        ended.wait_for_target(),
    )
    .await?;
    let used = WorkflowUsage::measure(subject).await?.since(before);
    Ok(WorkflowFigures {
        slots,
        runs,
        steps: runs * STEPS,
        took,
        used,
        runner_mib: resident_mib(std::process::id()),
        orchestrator_mib: resident_mib(subject.process_id()),
    })
}

/// Runs a runner until `enough`, and then until its open transitions are saved; returns the
/// duration.
pub(super) async fn drive_until<W: RunnableWorkflow>(
    subject: &WorkflowSubject<'_>,
    workflow: W,
    slots: usize,
    enough: impl Future<Output = ()>,
) -> anyhow::Result<Duration> {
    let client = Arc::new(subject.client("runner.token")?);
    let options = WorkflowRunnerOptions { slots, ..WorkflowRunnerOptions::default() };
    let runner = WorkflowRunner::with_workflow(workflow, client, options, Readiness::new());
    let shutdown = Shutdown::new();
    let begun = Instant::now();
    let stop = async {
        enough.await;
        shutdown.trigger();
    };
    let (ended, ()) = tokio::join!(runner.run(shutdown.clone()), stop);
    ended?;
    Ok(begun.elapsed())
}
