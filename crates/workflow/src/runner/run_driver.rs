//! Drives one run in one slot: from the grant to its end, or to the loss of the lease.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField, TraceStop};
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::trace_recorder::log_event;
use cynode_wire::workflow::{GrantView, Outcome, ReleaseLease};
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use super::{ExtendableLease, RELEASE_TIMEOUT, RunnerSlot, SHUTDOWN_GRACE, lease_renewal};
use crate::engine::{self, DriveError, DriveOutcome};
use crate::orchestrator_api::OrchestratorConnection;
use crate::resume::{ResumeError, resume_run};
use crate::run_handle::RunHandle;
use crate::workflow::{RunnableWorkflow, TaskState};

/// A granted run.
pub(super) struct RunDriver<W> {
    pub(super) workflow: Arc<W>,
    pub(super) orchestrator: Arc<dyn OrchestratorConnection>,
    pub(super) grant: GrantView,
    pub(super) slot: Arc<RunnerSlot>,
    pub(super) lease: Duration,
    pub(super) shutdown: Shutdown,
}

/// What to do with the lease after a run.
enum LeaseDisposition {
    /// It ended with the run, belongs to another holder, or should expire.
    LetExpire,
    /// Another runner may resume the run at once.
    Release,
    /// This runner cannot resume the run; one that supports the graph version may.
    Suspend { reason: String, needs: Option<u32> },
    /// The run waits for a result that the orchestrator requested elsewhere.
    Wait { what: String },
}

/// Why this process stops driving a run.
enum RunHalt {
    /// This version of the program cannot resume the checkpoint.
    Unresumable(ResumeError),
    Stopped(DriveError),
}

impl<W: RunnableWorkflow> RunDriver<W> {
    /// Drives the run as far as possible and logs the outcome.
    pub(super) async fn drive(self) {
        let GrantView { lease, run_id, trace_id, .. } = &self.grant;
        let span = tracing::info_span!(
            "run", %trace_id, task.id = %lease.task_id, run.id = %run_id, lease.epoch = lease.epoch
        );
        metrics::gauge!("cynode_runner_runs_active").increment(1.0);
        let started = TraceEntry::new(TraceEventKind::ExecutionStarted);
        span.in_scope(|| log_event(None, TraceActor::Coordinator, &started));
        self.drive_under_lease().instrument(span).await;
        metrics::gauge!("cynode_runner_runs_active").decrement(1.0);
    }

    async fn drive_under_lease(&self) {
        let lease = self.grant.lease;
        let kept = Arc::new(ExtendableLease::new(self.lease));
        let grace = async {
            self.shutdown.triggered().await;
            sleep(SHUTDOWN_GRACE).await;
        };
        let disposition = tokio::select! {
            biased;
            lost = lease_renewal::renew_until_lost(&*self.orchestrator, lease, &kept) => {
                tracing::warn!(task.id = %lease.task_id, reason = %lost, "lease lost");
                count_end("lease_lost", TraceStop::Canceled);
                LeaseDisposition::LetExpire
            }
            ended = self.drive_graph(Arc::clone(&kept)) => self.report_outcome(ended),
            () = grace => {
                tracing::info!(task.id = %lease.task_id, "run suspended between checkpoints");
                count_end("put_down", TraceStop::Canceled);
                LeaseDisposition::Release
            }
        };
        match disposition {
            LeaseDisposition::LetExpire => {}
            LeaseDisposition::Release => self.release_lease(ReleaseLease::new(lease)).await,
            LeaseDisposition::Suspend { reason, needs } => {
                let reason = Some(reason);
                let release =
                    ReleaseLease { reason, graph_version: needs, ..ReleaseLease::new(lease) };
                self.release_lease(release).await;
            }
            LeaseDisposition::Wait { what } => {
                let (reason, is_waiting) = (Some(format!("it waits for {what}")), true);
                self.release_lease(ReleaseLease { reason, is_waiting, ..ReleaseLease::new(lease) })
                    .await;
            }
        }
    }

    /// Drives the graph from the checkpoint of the grant.
    async fn drive_graph(
        &self,
        lease: Arc<ExtendableLease>,
    ) -> Result<DriveOutcome<W::State>, RunHalt> {
        let held = RunHandle::new(Arc::clone(&self.orchestrator), self.grant.lease);
        let held = Arc::new(held.with_lease(lease, Arc::clone(&self.slot)));
        let graph = self.workflow.graph(Arc::clone(&held));
        let graph = graph.map_err(|e| RunHalt::Stopped(DriveError::Rejected(e.to_string())))?;
        let resume = resume_run(&graph, &self.grant).map_err(RunHalt::Unresumable)?;
        let should_pause = || self.shutdown.is_triggered() || held.is_pause_requested();
        let driven = engine::drive(&graph, &*held, resume, &should_pause).await;
        if let Err(DriveError::NeedsAnswer(ask)) = &driven {
            held.persist_question(ask).await.map_err(|error| RunHalt::Stopped(error.into()))?;
        }
        driven.map_err(RunHalt::Stopped)
    }

    fn report_outcome(&self, ended: Result<DriveOutcome<W::State>, RunHalt>) -> LeaseDisposition {
        let task = self.grant.lease.task_id;
        match ended {
            Ok(DriveOutcome::Finished(state)) => {
                let failed = state.finish().is_some_and(|f| f.outcome == Outcome::Failed);
                let outcome = if failed { "failed" } else { "completed" };
                count_end(outcome, if failed { TraceStop::StepFailed } else { TraceStop::GoalMet });
                tracing::info!(task.id = %task, outcome, "run finished");
                LeaseDisposition::LetExpire
            }
            Ok(DriveOutcome::Paused) => {
                tracing::info!(task.id = %task, "run suspended at a checkpoint");
                count_end("put_down", TraceStop::Canceled);
                LeaseDisposition::Release
            }
            Err(RunHalt::Stopped(stopped @ (DriveError::Cancelled | DriveError::LeaseLost))) => {
                tracing::warn!(task.id = %task, reason = %stopped, "lease lost");
                count_end("lease_lost", TraceStop::Canceled);
                LeaseDisposition::LetExpire
            }
            Err(RunHalt::Stopped(DriveError::NeedsAnswer(ask))) => {
                let node = &ask.node;
                tracing::info!(task.id = %task, node, "run waiting for an answer");
                count_end("asks", TraceStop::PersonNeeded);
                LeaseDisposition::LetExpire
            }
            Err(RunHalt::Stopped(DriveError::WaitingFor(what))) => {
                tracing::info!(task.id = %task, waiting_for = what, "run waiting");
                count_end("waits", TraceStop::Canceled);
                LeaseDisposition::Wait { what }
            }
            Err(RunHalt::Unresumable(error)) => {
                let cause = std::error::Error::source(&error);
                let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
                let reason = format!("{error}{cause}");
                tracing::error!(task.id = %task, reason, "run cannot be resumed by this runner");
                log_error("not_resumable");
                count_end("put_down", TraceStop::Canceled);
                LeaseDisposition::Suspend { reason, needs: error.required_graph_version() }
            }
            Err(RunHalt::Stopped(
                stopped @ (DriveError::Rejected(_) | DriveError::Stuck { .. }),
            )) => {
                // The reason may quote people; it is on record with the run.
                tracing::error!(task.id = %task, "run stuck");
                log_error("stuck");
                count_end("stuck", TraceStop::Failed);
                LeaseDisposition::Suspend { reason: stopped.to_string(), needs: None }
            }
        }
    }

    async fn release_lease(&self, release: ReleaseLease) {
        match timeout(RELEASE_TIMEOUT, self.orchestrator.call(&release)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "lease release failed, the lease will expire: {error}"
            ),
            Err(_) => tracing::warn!("lease release timed out, the lease will expire"),
        }
    }
}

/// Counts and records why this process drives a run no further. The trace is that of the run's span.
fn count_end(outcome: &'static str, stop: TraceStop) {
    metrics::counter!("cynode_runner_runs_total", "outcome" => outcome).increment(1);
    let stopped = TraceEntry::execution_stopped(stop).with(TraceField::Outcome, outcome);
    log_event(None, TraceActor::Coordinator, &stopped);
}

fn log_error(kind: &'static str) {
    let error = TraceEntry::new(TraceEventKind::Error).with(TraceField::ErrorKind, kind);
    log_event(None, TraceActor::Coordinator, &error);
}
