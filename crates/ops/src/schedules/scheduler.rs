//! The reconciler of schedules: sleeps until a run is due, and processes it.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Error, ScheduleRun, Store};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;
use tracing::{error, warn};

use super::due::record_due_times;
use super::intake::ScheduledIntake;
use super::run_processor::{ScheduleRunProcessor, millis};
use cynode_execution::TaskService;
use cynode_execution::handoff::HandoffService;
use cynode_resources::Signals;
use cynode_resources::signals::Topic;

/// Maximum concurrent runs: one that waits for the project manager does not block the others.
const MAX_CONCURRENT_RUNS: usize = 8;
/// Sleep if no run is due; signals and the listener's own poll end it sooner.
const IDLE_SLEEP: Duration = Duration::from_hours(1);
/// Minimum sleep, so that runs leased by another process are not polled in a busy loop.
const MIN_SLEEP: Duration = Duration::from_millis(20);
/// Delay after a database failure.
const FAILURE_DELAY: Duration = Duration::from_secs(1);

/// Lease and retry settings of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerOptions {
    /// Lease duration: the run of a dead orchestrator is claimed again that much later.
    pub lease: Duration,
    /// Backoff before the first retry; doubles each time, up to a minute.
    pub pause: Duration,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), pause: Duration::from_secs(1) }
    }
}

/// Processes due runs. Any number of schedulers may share a database.
pub struct Scheduler {
    store: Store,
    signals: Signals,
    processor: ScheduleRunProcessor,
}

impl Scheduler {
    /// Creates a scheduler over `store` that creates tasks with `tasks` and hands prompts off
    /// through `handoffs`.
    pub fn new(
        store: Store,
        signals: Signals,
        tasks: TaskService,
        handoffs: HandoffService,
    ) -> Self {
        let options = SchedulerOptions::default();
        let (store, runs) = (store.clone(), store);
        let processor =
            ScheduleRunProcessor { store: runs, tasks, handoffs, intake: None, options };
        Self { store, signals, processor }
    }

    /// Submits the requests of schedules through `intake`.
    #[must_use]
    pub fn with_intake(mut self, intake: Arc<dyn ScheduledIntake>) -> Self {
        self.processor.intake = Some(intake);
        self
    }

    /// Replaces the options.
    #[must_use]
    pub fn with(mut self, options: SchedulerOptions) -> Self {
        self.processor.options = options;
        self
    }

    /// Processes due runs until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        let mut working = FuturesUnordered::new();
        loop {
            // Subscribe before reading, so that no change is missed.
            let mut listener = self.signals.subscribe(Topic::Schedules);
            let room = MAX_CONCURRENT_RUNS.saturating_sub(working.len());
            let claimed = {
                let mut claiming = pin!(self.claim_due(room));
                loop {
                    // A run in progress may be the next to write: claims wait together with it, never for it alone.
                    tokio::select! {
                        claimed = &mut claiming => break claimed,
                        Some(()) = working.next(), if !working.is_empty() => {}
                    }
                }
            };
            let wait = match claimed {
                Ok((runs, wait)) => {
                    working.extend(
                        runs.into_iter().map(|run| self.process_catching_panics(run, &shutdown)),
                    );
                    wait
                }
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "schedule poll failed");
                    FAILURE_DELAY
                }
            };
            tokio::select! {
                biased;
                () = shutdown.triggered() => break,
                Some(()) = working.next(), if !working.is_empty() => {}
                _ = listener.wait(Instant::now() + wait) => {}
            }
        }
        // Runs in progress release their claims.
        while working.next().await.is_some() {}
    }

    /// Processes a run. A panic ends neither the others nor the process; the run is claimed again
    /// when its lease expires, a few times.
    async fn process_catching_panics(&self, run: ScheduleRun, stop: &Shutdown) {
        let id = run.id;
        if AssertUnwindSafe(self.processor.process_run(run, stop)).catch_unwind().await.is_err() {
            error!(schedule.run = %id, "schedule run panicked");
        }
    }

    /// Processes everything that is due now, to its end.
    pub async fn process_due(&self) -> Result<(), Error> {
        let stop = Shutdown::new();
        loop {
            let (runs, _) = self.claim_due(MAX_CONCURRENT_RUNS).await?;
            if runs.is_empty() {
                return Ok(());
            }
            let dealt = runs.into_iter().map(|run| self.processor.process_run(run, &stop));
            futures_util::future::join_all(dealt).await;
        }
    }

    /// Records due times, claims as many runs as there is room for, and returns how long to sleep.
    /// Only the claim depends on room: a time that comes while all slots are busy is not missed.
    /// Writes nothing if nothing is due.
    async fn claim_due(&self, room: usize) -> Result<(Vec<ScheduleRun>, Duration), Error> {
        let ahead =
            self.store.read(|tx| Box::pin(async move { tx.schedule_next_wait().await })).await?;
        let run = ahead.run.filter(|_| room > 0);
        let wait = match [ahead.due, run].into_iter().flatten().min() {
            None => return Ok((vec![], IDLE_SLEEP)),
            Some(wait) => wait.to_std().unwrap_or_default(),
        };
        if !wait.is_zero() {
            return Ok((vec![], wait.max(MIN_SLEEP)));
        }
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let lease_ms = millis(self.processor.options.lease);
        let runs = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    record_due_times(tx).await?;
                    if room == 0 {
                        return Ok(vec![]);
                    }
                    tx.schedule_run_claim(lease_ms, room).await
                })
            })
            .await?;
        Ok((runs, MIN_SLEEP))
    }
}
