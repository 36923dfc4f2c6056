//! The runner service: claims tasks, drives their graphs, and keeps their leases meanwhile.
//!
//! Start at [`Runner::run`]. A run that lost its lease is dropped where it stands; the fencing
//! epoch keeps what it already sent from doing harm. On shutdown no task is claimed any more,
//! running nodes get a moment to reach a checkpoint, and leases are given up, so that another
//! runner can go on at once.

mod lease;
mod run;
mod slot;

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::HolderId;
use cynode_runtime::failpoint;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;
use cynode_wire::workflow::{ClaimRun, GrantView};
use tokio::time::{Instant, sleep};

pub(crate) use self::lease::KeptLease;
pub(crate) use self::slot::Slot;
use self::slot::Slots;
use crate::held::AWAY;
use crate::orchestrator::{CallError, Orchestrator};
use crate::workflow::{TaskWorkflow, Workflow};

/// How many tasks one claim asks for at most: others want some too.
const MAX_CLAIM: usize = 8;
/// How long a claim waits for a task.
const CLAIM_WAIT: Duration = Duration::from_secs(20);
/// How long running nodes have to reach a checkpoint once the process is asked to stop.
pub(crate) const GRACE: Duration = Duration::from_secs(3);
/// How long giving up a lease may take.
pub(crate) const RELEASE: Duration = Duration::from_secs(1);

/// What runs need beyond that to end.
const LAST_WORDS: Duration = Duration::from_millis(250);
/// Claims are at least this far apart while there is no task, even if each is answered at once.
const LEAST_CLAIM: Duration = Duration::from_millis(100);

/// How a runner works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How many tasks are driven at once.
    pub slots: usize,
    /// How long a lease lasts without renewal.
    pub lease: Duration,
    /// Who holds the leases; somebody new when absent.
    pub holder: Option<HolderId>,
}

impl Default for Options {
    fn default() -> Self {
        Self { slots: 16, lease: Duration::from_secs(10), holder: None }
    }
}

/// A runner: one holder of leases, from process start to end.
pub struct Runner<W = TaskWorkflow> {
    /// What it drives.
    workflow: Arc<W>,
    /// Where tasks come from and where every transition goes.
    orchestrator: Arc<dyn Orchestrator>,
    options: Options,
    /// Tells leases of this process from those of the one before it.
    holder: HolderId,
    /// Says whether the orchestrator answers.
    readiness: Readiness,
}

impl Runner {
    /// A runner of tasks that has not begun.
    pub fn new(
        orchestrator: Arc<dyn Orchestrator>,
        options: Options,
        readiness: Readiness,
    ) -> Self {
        Self::of(TaskWorkflow, orchestrator, options, readiness)
    }
}

impl<W: Workflow> Runner<W> {
    /// A runner of any workflow that has not begun.
    pub fn of(
        workflow: W,
        orchestrator: Arc<dyn Orchestrator>,
        options: Options,
        readiness: Readiness,
    ) -> Self {
        let workflow = Arc::new(workflow);
        let holder = options.holder.unwrap_or_else(HolderId::generate);
        Self { workflow, orchestrator, options, holder, readiness }
    }

    /// Drives tasks until `shutdown`, then puts the running ones down in good order.
    ///
    /// Fails if the orchestrator refuses the first claim, as it does with a wrong token: that does not
    /// pass by itself. A refusal after a claim that succeeded is waited out.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), CallError> {
        let slots = Slots::new(self.options.slots);
        let tasks = Tasks::new();
        tracing::info!(holder.id = %self.holder, "runner {} claims tasks", self.holder);
        let mut was_answered = false;
        loop {
            // Tasks are claimed only while they could be driven at once.
            let next = async {
                let Some(free) = slots.take(MAX_CLAIM).await else { return Ok(None) };
                let grants = self.claim(free.len(), was_answered).await?;
                Ok::<_, CallError>(Some(free.into_iter().zip(grants).collect::<Vec<_>>()))
            };
            let granted = tokio::select! {
                biased;
                () = shutdown.triggered() => break,
                next = next => match next? {
                    Some(next) => next,
                    None => break,
                },
            };
            was_answered = true;
            for (slot, grant) in granted {
                let run = self.run_of(grant, slot, &shutdown);
                tasks.spawn("workflow run", run.drive());
            }
        }
        if !tasks.finish(GRACE + RELEASE + LAST_WORDS).await {
            tracing::warn!("some runs did not stop in time; their leases end by themselves");
        }
        Ok(())
    }

    fn run_of(&self, grant: GrantView, slot: Slot, shutdown: &Shutdown) -> run::Run<W> {
        run::Run {
            workflow: Arc::clone(&self.workflow),
            orchestrator: Arc::clone(&self.orchestrator),
            grant,
            slot: Arc::new(slot),
            lease: self.options.lease,
            shutdown: shutdown.clone(),
        }
    }

    /// Asks for up to `max` tasks until there is one, slowly while the orchestrator is away. Fails if
    /// the orchestrator refuses a runner that it never answered.
    async fn claim(&self, max: usize, mut was_answered: bool) -> Result<Vec<GrantView>, CallError> {
        let body = ClaimRun {
            holder_id: self.holder,
            lease_ms: Some(lease::millis(self.options.lease)),
            wait_ms: lease::millis(CLAIM_WAIT),
            max: u32::try_from(max).ok(),
            graph_versions: Some(self.workflow.versions()),
        };
        let mut failures = 0;
        loop {
            let asked = Instant::now();
            match self.orchestrator.claim(&body).await {
                Ok(grants) => {
                    failures = 0;
                    was_answered = true;
                    self.readiness.set_ready();
                    if !grants.is_empty() {
                        failpoint::hit("grant_received", "claim");
                        return Ok(grants);
                    }
                    sleep(LEAST_CLAIM.saturating_sub(asked.elapsed())).await;
                }
                Err(error @ CallError::Refused(_)) if !was_answered => return Err(error),
                Err(error) => {
                    failures += 1;
                    self.readiness.set_waiting(format!("the orchestrator gives no task: {error}"));
                    if failures == 1 {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "no task could be claimed: {error}"
                        );
                    }
                    sleep(AWAY.delay(failures)).await;
                }
            }
        }
    }
}

impl<W> std::fmt::Debug for Runner<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Runner");
        debug.field("holder", &self.holder).field("options", &self.options).finish_non_exhaustive()
    }
}
