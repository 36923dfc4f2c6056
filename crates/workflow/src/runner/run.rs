//! One run in one slot: from the grant to its end, or to the loss of the lease.

use std::sync::Arc;
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_wire::workflow::{GrantView, Outcome};
use tokio::time::{sleep, timeout};
use tracing::Instrument;

use super::{GRACE, RELEASE, lease};
use crate::engine::{self, Ended, Stopped};
use crate::graph::task_graph;
use crate::held::HeldTask;
use crate::orchestrator::Orchestrator;
use crate::resume::resume;
use crate::state::RunState;

/// A granted task on its way.
pub(super) struct Run {
    pub(super) orchestrator: Arc<dyn Orchestrator>,
    pub(super) grant: GrantView,
    pub(super) lease: Duration,
    pub(super) shutdown: Shutdown,
}

/// What becomes of the lease after a run.
enum Lease {
    /// It ended with the run, belongs to somebody else, or is better left to end by itself.
    Leave,
    /// Another runner may go on at once.
    Release,
}

impl Run {
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
        let grace = async {
            self.shutdown.triggered().await;
            sleep(GRACE).await;
        };
        let lease = tokio::select! {
            biased;
            lost = lease::keep(&*self.orchestrator, hold, self.lease) => {
                tracing::warn!(task.id = %hold.task_id, "lease lost on task {}: {lost}", hold.task_id);
                count("lease_lost");
                Lease::Leave
            }
            ended = self.graph() => self.report(ended),
            () = grace => {
                tracing::info!(task.id = %hold.task_id, "task {} is put down between checkpoints", hold.task_id);
                count("put_down");
                Lease::Release
            }
        };
        if matches!(lease, Lease::Release) {
            self.release().await;
        }
    }

    /// Runs the graph from the checkpoint of the grant.
    async fn graph(&self) -> Result<Ended<RunState>, Stopped> {
        let held = Arc::new(HeldTask::new(Arc::clone(&self.orchestrator), self.grant.hold));
        let graph = task_graph(Arc::clone(&held) as _).map_err(rejected)?;
        let resume = resume(&graph, &self.grant).map_err(rejected)?;
        engine::drive(&graph, &*held, resume, &|| self.shutdown.is_triggered()).await
    }

    fn report(&self, ended: Result<Ended<RunState>, Stopped>) -> Lease {
        let task = self.grant.hold.task_id;
        match ended {
            Ok(Ended::Finished(state)) => {
                let failed = state.finish.as_ref().is_some_and(|f| f.outcome == Outcome::Failed);
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
            Err(stopped @ (Stopped::Cancelled | Stopped::LeaseLost)) => {
                tracing::warn!(task.id = %task, "lease lost on task {task}: {stopped}");
                count("lease_lost");
                Lease::Leave
            }
            // The lease is left to end by itself: claimed again at once, it would end the same way.
            Err(stopped @ (Stopped::Rejected(_) | Stopped::Stuck { .. })) => {
                tracing::error!(task.id = %task, "run of task {task} cannot go on: {stopped}");
                count("stuck");
                Lease::Leave
            }
        }
    }

    async fn release(&self) {
        let hold = self.grant.hold;
        match timeout(RELEASE, self.orchestrator.release(hold)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the lease ends by itself: {error}"),
            Err(_) => tracing::warn!("the lease ends by itself: no answer"),
        }
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("cynode_runner_runs_total", "outcome" => outcome).increment(1);
}

/// A run that this version of the program cannot drive.
fn rejected(error: impl std::error::Error) -> Stopped {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Stopped::Rejected(format!("{error}{cause}"))
}
