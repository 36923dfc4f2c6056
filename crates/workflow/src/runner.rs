//! The runner service: claims runs, drives their graphs and renews their leases.
//!
//! Start at [`WorkflowRunner::run`]. A run whose lease is lost is dropped at once; the fencing epoch rejects
//! writes that are still in flight. On shutdown the runner claims nothing more, gives running nodes a
//! grace period to reach a checkpoint, and releases the leases, so that another runner can resume the
//! runs at once.

mod lease_renewal;
mod run_driver;
mod runner_slot;

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::HolderId;
use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField};
use cynode_runtime::failpoint;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_runtime::trace_recorder::log_event;
use cynode_wire::workflow::{ClaimRun, ClaimView, GrantView};
use tokio::time::{Instant, sleep};

pub(crate) use self::lease_renewal::ExtendableLease;
pub(crate) use self::runner_slot::RunnerSlot;
use self::runner_slot::RunnerSlots;
use crate::orchestrator_api::{OrchestratorConnection, RunnerCallError};
use crate::run_handle::UNAVAILABLE_BACKOFF;
use crate::workflow::{RunnableWorkflow, TaskWorkflow};

/// Maximum number of runs per claim, so that other runners get some too.
const MAX_CLAIM: usize = 8;
/// How long a claim waits for a run.
const CLAIM_WAIT: Duration = Duration::from_secs(20);
/// How long running nodes have to reach a checkpoint on shutdown.
pub(crate) const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);
/// Timeout of a lease release.
pub(crate) const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// Additional time for runs to end.
const SHUTDOWN_MARGIN: Duration = Duration::from_millis(250);
/// Minimum interval between claims that return no run.
const MIN_CLAIM_INTERVAL: Duration = Duration::from_millis(100);

/// Configuration of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowRunnerOptions {
    /// Maximum number of runs driven concurrently.
    pub slots: usize,
    /// Lifetime of a lease without renewal.
    pub lease: Duration,
    /// Holder id of the leases; generated when absent.
    pub holder: Option<HolderId>,
}

impl Default for WorkflowRunnerOptions {
    fn default() -> Self {
        Self { slots: 16, lease: Duration::from_secs(10), holder: None }
    }
}

/// A runner: one lease holder for the lifetime of the process.
pub struct WorkflowRunner<W = TaskWorkflow> {
    workflow: Arc<W>,
    orchestrator: Arc<dyn OrchestratorConnection>,
    options: WorkflowRunnerOptions,
    /// Distinguishes leases of this process from those of its predecessor.
    holder: HolderId,
    /// Ready while the orchestrator answers claims.
    readiness: Readiness,
}

impl WorkflowRunner {
    /// Creates a runner of the task workflow.
    pub fn new(
        orchestrator: Arc<dyn OrchestratorConnection>,
        options: WorkflowRunnerOptions,
        readiness: Readiness,
    ) -> Self {
        Self::with_workflow(TaskWorkflow, orchestrator, options, readiness)
    }
}

impl<W: RunnableWorkflow> WorkflowRunner<W> {
    /// Creates a runner of any workflow.
    pub fn with_workflow(
        workflow: W,
        orchestrator: Arc<dyn OrchestratorConnection>,
        options: WorkflowRunnerOptions,
        readiness: Readiness,
    ) -> Self {
        let workflow = Arc::new(workflow);
        let holder = options.holder.unwrap_or_else(HolderId::generate);
        Self { workflow, orchestrator, options, holder, readiness }
    }

    /// Drives runs until `shutdown`, then suspends them at a checkpoint where possible.
    ///
    /// Fails if the orchestrator rejects the first claim, e.g. because of a wrong token. A rejection after
    /// a successful claim is retried.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), RunnerCallError> {
        let slots = RunnerSlots::new(self.options.slots);
        let tasks = BackgroundTasks::new();
        tracing::info!(holder.id = %self.holder, "runner started");
        let mut was_answered = false;
        loop {
            // Runs are claimed only while a slot is free.
            let next = async {
                let Some(free) = slots.acquire(MAX_CLAIM).await else { return Ok(None) };
                let grants = self.claim_runs(free.len(), was_answered).await?;
                Ok::<_, RunnerCallError>(Some(free.into_iter().zip(grants).collect::<Vec<_>>()))
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
                let run = self.build_driver(grant, slot, &shutdown);
                tasks.spawn("workflow run", run.drive());
            }
        }
        if !tasks.finish(SHUTDOWN_GRACE + RELEASE_TIMEOUT + SHUTDOWN_MARGIN).await {
            tracing::warn!("runs did not stop in time; their leases will expire");
        }
        Ok(())
    }

    fn build_driver(
        &self,
        grant: GrantView,
        slot: RunnerSlot,
        shutdown: &Shutdown,
    ) -> run_driver::RunDriver<W> {
        run_driver::RunDriver {
            workflow: Arc::clone(&self.workflow),
            orchestrator: Arc::clone(&self.orchestrator),
            grant,
            slot: Arc::new(slot),
            lease: self.options.lease,
            shutdown: shutdown.clone(),
        }
    }

    /// Claims up to `max` runs; retries until there is one, with backoff while the orchestrator is
    /// unavailable. Fails if the orchestrator rejects a runner that never had a successful claim.
    async fn claim_runs(
        &self,
        max: usize,
        mut was_answered: bool,
    ) -> Result<Vec<GrantView>, RunnerCallError> {
        let body = ClaimRun {
            holder_id: self.holder,
            lease_ms: Some(lease_renewal::to_millis(self.options.lease)),
            wait_ms: lease_renewal::to_millis(CLAIM_WAIT),
            max: u32::try_from(max).ok(),
            graph_versions: Some(self.workflow.versions()),
        };
        let mut failures = 0;
        loop {
            let requested_at = Instant::now();
            match self.orchestrator.call(&body).await {
                Ok(ClaimView { grant, more }) => {
                    let grants: Vec<_> = grant.into_iter().chain(more).collect();
                    if failures > 0 || !was_answered {
                        log_event(None, TraceActor::Coordinator, &orchestrator_connected());
                    }
                    failures = 0;
                    was_answered = true;
                    self.readiness.set_ready();
                    if !grants.is_empty() {
                        failpoint::hit("grant_received", "claim");
                        return Ok(grants);
                    }
                    sleep(MIN_CLAIM_INTERVAL.saturating_sub(requested_at.elapsed())).await;
                }
                Err(error @ RunnerCallError::Refused(_)) if !was_answered => return Err(error),
                Err(error) => {
                    failures += 1;
                    self.readiness.set_waiting(format!("claim failed: {error}"));
                    if failures == 1 {
                        tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            "claim failed, retrying: {error}"
                        );
                    }
                    sleep(UNAVAILABLE_BACKOFF.jittered_delay(failures)).await;
                }
            }
        }
    }
}

fn orchestrator_connected() -> TraceEntry {
    TraceEntry::new(TraceEventKind::BackendConnected)
        .with(TraceField::Backend, "orchestrator")
        .with(TraceField::BackendPurpose, "workflow")
}

impl<W> std::fmt::Debug for WorkflowRunner<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Runner");
        debug.field("holder", &self.holder).field("options", &self.options).finish_non_exhaustive()
    }
}
