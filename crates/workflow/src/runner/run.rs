//! One run in one slot: from the grant to its end, or to the loss of the lease.

use std::sync::Arc;
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_wire::workflow::{GrantView, Outcome, ReleaseLease};
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use super::{GRACE, KeptLease, RELEASE, Slot, lease};
use crate::engine::{self, Ended, Stopped};
use crate::held::HeldTask;
use crate::orchestrator::Orchestrator;
use crate::resume::{ResumeError, resume};
use crate::workflow::{TaskState, Workflow};

/// A granted task on its way.
pub(super) struct Run<W> {
    pub(super) workflow: Arc<W>,
    pub(super) orchestrator: Arc<dyn Orchestrator>,
    pub(super) grant: GrantView,
    pub(super) slot: Arc<Slot>,
    pub(super) lease: Duration,
    pub(super) shutdown: Shutdown,
}

/// What becomes of the lease after a run.
enum Lease {
    /// It ended with the run, belongs to somebody else, or is better left to end by itself.
    Leave,
    /// Another runner may go on at once.
    Release,
    /// This runner cannot go on: another may, that knows the version of the graph.
    PutDown { reason: String, needs: Option<u32> },
    /// The run waits for what the orchestrator is having made.
    Wait { what: String },
}

/// Why a run is driven no further by this process.
enum Halt {
    /// Its checkpoint cannot be continued by this version of the program.
    Unresumable(ResumeError),
    /// It cannot go on.
    Stopped(Stopped),
}

impl<W: Workflow> Run<W> {
    /// Drives the run as far as it goes and logs how it ended.
    pub(super) async fn drive(self) {
        let GrantView { hold, run_id, trace_id, .. } = &self.grant;
        let span = tracing::info_span!(
            "run", %trace_id, task.id = %hold.task_id, run.id = %run_id, lease.epoch = hold.epoch
        );
        metrics::gauge!("cynode_runner_runs_active").increment(1.0);
        self.keep_and_drive().instrument(span).await;
        metrics::gauge!("cynode_runner_runs_active").decrement(1.0);
    }

    async fn keep_and_drive(&self) {
        let hold = self.grant.hold;
        let kept = Arc::new(KeptLease::new(self.lease));
        let grace = async {
            self.shutdown.triggered().await;
            sleep(GRACE).await;
        };
        let lease = tokio::select! {
            biased;
            lost = lease::keep(&*self.orchestrator, hold, &kept) => {
                tracing::warn!(task.id = %hold.task_id, "lease lost on task {}: {lost}", hold.task_id);
                count("lease_lost");
                Lease::Leave
            }
            ended = self.graph(Arc::clone(&kept)) => self.report(ended),
            () = grace => {
                tracing::info!(task.id = %hold.task_id, "task {} is put down between checkpoints", hold.task_id);
                count("put_down");
                Lease::Release
            }
        };
        match lease {
            Lease::Leave => {}
            Lease::Release => self.release(ReleaseLease::of(hold)).await,
            Lease::PutDown { reason, needs } => {
                let reason = Some(reason);
                let release =
                    ReleaseLease { reason, graph_version: needs, ..ReleaseLease::of(hold) };
                self.release(release).await;
            }
            Lease::Wait { what } => {
                let (reason, is_waiting) = (Some(format!("it waits for {what}")), true);
                self.release(ReleaseLease { reason, is_waiting, ..ReleaseLease::of(hold) }).await;
            }
        }
    }

    /// Runs the graph from the checkpoint of the grant.
    async fn graph(&self, lease: Arc<KeptLease>) -> Result<Ended<W::State>, Halt> {
        let held = HeldTask::new(Arc::clone(&self.orchestrator), self.grant.hold);
        let held = Arc::new(held.kept(lease, Arc::clone(&self.slot)));
        let graph = self.workflow.graph(Arc::clone(&held) as _);
        let graph = graph.map_err(|e| Halt::Stopped(Stopped::Rejected(e.to_string())))?;
        let resume = resume(&graph, &self.grant).map_err(Halt::Unresumable)?;
        let should_pause = || self.shutdown.is_triggered() || held.is_to_pause();
        let driven = engine::drive(&graph, &*held, resume, &should_pause).await;
        if let Err(Stopped::Asks(ask)) = &driven {
            held.ask(ask).await.map_err(|error| Halt::Stopped(error.into()))?;
        }
        driven.map_err(Halt::Stopped)
    }

    fn report(&self, ended: Result<Ended<W::State>, Halt>) -> Lease {
        let task = self.grant.hold.task_id;
        match ended {
            Ok(Ended::Finished(state)) => {
                let failed = state.finish().is_some_and(|f| f.outcome == Outcome::Failed);
                let outcome = if failed { "failed" } else { "completed" };
                count(outcome);
                tracing::info!(task.id = %task, outcome, "run of task {task} finished: {outcome}");
                Lease::Leave
            }
            Ok(Ended::Paused) => {
                tracing::info!(task.id = %task, "task {task} is put down at a checkpoint");
                count("put_down");
                Lease::Release
            }
            Err(Halt::Stopped(stopped @ (Stopped::Cancelled | Stopped::LeaseLost))) => {
                tracing::warn!(task.id = %task, "lease lost on task {task}: {stopped}");
                count("lease_lost");
                Lease::Leave
            }
            Err(Halt::Stopped(Stopped::Asks(ask))) => {
                let node = &ask.node;
                tracing::info!(task.id = %task, node, "run of task {task} waits: {node} asks");
                count("asks");
                Lease::Leave
            }
            Err(Halt::Stopped(Stopped::Waits(what))) => {
                tracing::info!(task.id = %task, "run of task {task} waits for {what}");
                count("waits");
                Lease::Wait { what }
            }
            Err(Halt::Unresumable(error)) => {
                let cause = std::error::Error::source(&error);
                let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
                let reason = format!("{error}{cause}");
                tracing::error!(task.id = %task, "run of task {task} is left as it is: {reason}");
                count("put_down");
                Lease::PutDown { reason, needs: error.needs() }
            }
            Err(Halt::Stopped(stopped @ (Stopped::Rejected(_) | Stopped::Stuck { .. }))) => {
                tracing::error!(task.id = %task, "run of task {task} cannot go on: {stopped}");
                count("stuck");
                Lease::PutDown { reason: stopped.to_string(), needs: None }
            }
        }
    }

    async fn release(&self, release: ReleaseLease) {
        match timeout(RELEASE, self.orchestrator.release(&release)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the lease ends by itself: {error}"
            ),
            Err(_) => tracing::warn!("the lease ends by itself: no answer"),
        }
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("cynode_runner_runs_total", "outcome" => outcome).increment(1);
}
