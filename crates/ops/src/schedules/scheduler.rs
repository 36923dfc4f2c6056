//! The reconciler of schedules: sleeps until something is due, and deals with it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_store::{DueStore, Error, ScheduleRun, ScheduleRunStore, Store};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::Instant;
use tracing::{error, warn};

use super::due::note_due;
use super::work::{Work, millis};
use crate::handoff::Handoffs;
use crate::signals::Topic;
use crate::{Signals, Tasks};

/// How many runs are dealt with at once: one that waits for the project manager keeps no other waiting.
const AT_ONCE: usize = 8;
/// How long it waits where nothing is ahead; signals and the listener's own poll end it sooner.
const NOTHING_AHEAD: Duration = Duration::from_hours(1);
/// The shortest wait: what is due and held by another process is not asked for without a pause.
const BREATH: Duration = Duration::from_millis(20);
/// How long after a failure it looks again.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How long claims and pauses of a scheduler are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedulerOptions {
    /// How long a claim lasts that nobody renews: a run whose orchestrator died is taken up that much
    /// later.
    pub lease: Duration,
    /// The pause before a run is tried again for the first time; each further one is twice as long, up
    /// to a minute.
    pub pause: Duration,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), pause: Duration::from_secs(1) }
    }
}

/// Deals with what comes due. Any number of them may share a database.
pub struct Scheduler {
    store: Store,
    signals: Signals,
    work: Work,
}

impl Scheduler {
    /// A scheduler over `store`, whose tasks are made by `tasks` and whose prose goes through `handoffs`.
    pub fn new((store, signals): (Store, Signals), tasks: Tasks, handoffs: Handoffs) -> Self {
        let options = SchedulerOptions::default();
        let work = Work { store: store.clone(), tasks, handoffs, options };
        Self { store, signals, work }
    }

    /// The same scheduler with other claims and pauses.
    #[must_use]
    pub fn with(mut self, options: SchedulerOptions) -> Self {
        self.work.options = options;
        self
    }

    /// Deals with what comes due until the process stops.
    pub async fn run(self, shutdown: Shutdown) {
        let mut working = FuturesUnordered::new();
        loop {
            // Made before looking, so that what changes meanwhile is heard.
            let mut listener = self.signals.listen(Topic::Schedules);
            let room = AT_ONCE.saturating_sub(working.len());
            let wait = match self.take(room).await {
                Ok((runs, wait)) => {
                    working.extend(runs.into_iter().map(|run| self.survive(run, &shutdown)));
                    wait
                }
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "schedules were not looked at");
                    AFTER_FAILURE
                }
            };
            tokio::select! {
                biased;
                () = shutdown.triggered() => break,
                Some(()) = working.next(), if !working.is_empty() => {}
                _ = listener.wait(Instant::now() + wait) => {}
            }
        }
        // What is in hand gives its claim back.
        while working.next().await.is_some() {}
    }

    /// Deals with a run. A fault of ours in one of them ends neither the others nor the process; the run
    /// is taken up again when its claim has run out, a few times.
    async fn survive(&self, run: ScheduleRun, stop: &Shutdown) {
        let id = run.id;
        if AssertUnwindSafe(self.work.deal(run, stop)).catch_unwind().await.is_err() {
            error!(schedule.run = %id, "dealing with the run {id} of a schedule panicked");
        }
    }

    /// Deals with everything that is due now, to its end.
    pub async fn activate(&self) -> Result<(), Error> {
        let stop = Shutdown::new();
        loop {
            let (runs, _) = self.take(AT_ONCE).await?;
            if runs.is_empty() {
                return Ok(());
            }
            let dealt = runs.into_iter().map(|run| self.work.deal(run, &stop));
            futures_util::future::join_all(dealt).await;
        }
    }

    /// Notes what is due, claims as much of it as there is room for, and says how long to wait for more.
    /// Only the claim waits for room: a time that comes while all hands are busy is no missed one.
    /// Where nothing is due, nothing is written.
    async fn take(&self, room: usize) -> Result<(Vec<ScheduleRun>, Duration), Error> {
        let ahead = self.store.read(|tx| Box::pin(async move { tx.schedule_wait().await })).await?;
        let run = ahead.run.filter(|_| room > 0);
        let wait = match [ahead.due, run].into_iter().flatten().min() {
            None => return Ok((vec![], NOTHING_AHEAD)),
            Some(wait) => wait.to_std().unwrap_or_default(),
        };
        if !wait.is_zero() {
            return Ok((vec![], wait.max(BREATH)));
        }
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let lease_ms = millis(self.work.options.lease);
        let runs = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    note_due(tx).await?;
                    if room == 0 {
                        return Ok(vec![]);
                    }
                    tx.schedule_run_claim(lease_ms, room).await
                })
            })
            .await?;
        Ok((runs, BREATH))
    }
}
