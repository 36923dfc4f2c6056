//! The runner service: claims tasks, drives their graphs, and keeps their leases meanwhile.
//!
//! Start at [`Runner::run`]. A run that lost its lease is dropped where it stands; the fencing
//! epoch keeps what it already sent from doing harm. On shutdown no task is claimed any more,
//! running nodes get a moment to reach a checkpoint, and leases are given up, so that another
//! runner can go on at once.

mod lease;
mod run;

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::ids::HolderId;
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::Tasks;
use cynode_wire::workflow::{ClaimRun, GrantView};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use crate::held::AWAY;
use crate::orchestrator::Orchestrator;

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
}

impl Default for Options {
    fn default() -> Self {
        Self { slots: 16, lease: Duration::from_secs(15) }
    }
}

/// A runner: one holder of leases, from process start to end.
pub struct Runner {
    /// Where tasks come from and where every transition goes.
    orchestrator: Arc<dyn Orchestrator>,
    options: Options,
    /// Tells leases of this process from those of the one before it.
    holder: HolderId,
    /// Says whether the orchestrator answers.
    readiness: Readiness,
}

impl Runner {
    /// A runner that has not begun.
    pub fn new(
        orchestrator: Arc<dyn Orchestrator>,
        options: Options,
        readiness: Readiness,
    ) -> Self {
        Self { orchestrator, options, holder: HolderId::generate(), readiness }
    }

    /// Drives tasks until `shutdown`, then puts the running ones down in good order.
    pub async fn run(self, shutdown: Shutdown) {
        let slots = Arc::new(Semaphore::new(self.options.slots));
        let tasks = Tasks::new();
        tracing::info!(holder.id = %self.holder, "runner {} claims tasks", self.holder);
        loop {
            // A task is claimed only while it could be driven at once.
            let next = async {
                let slot = Arc::clone(&slots).acquire_owned().await.ok()?;
                Some((slot, self.claim().await))
            };
            let (slot, grant) = tokio::select! {
                biased;
                () = shutdown.triggered() => break,
                next = next => match next {
                    Some(next) => next,
                    None => break,
                },
            };
            let run = run::Run {
                orchestrator: Arc::clone(&self.orchestrator),
                grant,
                lease: self.options.lease,
                shutdown: shutdown.clone(),
            };
            tasks.spawn("workflow run", async move {
                run.drive().await;
                drop(slot);
            });
        }
        if !tasks.finish(GRACE + RELEASE + LAST_WORDS).await {
            tracing::warn!("some runs did not stop in time; their leases end by themselves");
        }
    }

    /// Asks for a task until there is one, slowly while the orchestrator is away.
    async fn claim(&self) -> GrantView {
        let body = ClaimRun {
            holder_id: self.holder,
            lease_ms: Some(lease::millis(self.options.lease)),
            wait_ms: lease::millis(CLAIM_WAIT),
        };
        let mut failures = 0;
        loop {
            let asked = Instant::now();
            match self.orchestrator.claim(&body).await {
                Ok(grant) => {
                    failures = 0;
                    self.readiness.set_ready();
                    if let Some(grant) = grant {
                        return grant;
                    }
                    sleep(LEAST_CLAIM.saturating_sub(asked.elapsed())).await;
                }
                Err(error) => {
                    failures += 1;
                    self.readiness.set_waiting(format!("the orchestrator gives no task: {error}"));
                    if failures == 1 {
                        tracing::warn!(%error, "no task could be claimed: {error}");
                    }
                    sleep(AWAY.delay(failures)).await;
                }
            }
        }
    }
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Runner");
        debug.field("holder", &self.holder).field("options", &self.options).finish_non_exhaustive()
    }
}
