//! A task that this process holds: control plane, effect log and checkpoints of one run.
//!
//! Calls that an orchestrator which is away did not answer are repeated until somebody stops the
//! run: the nodes' timeouts, or the end of the lease. All of them are safe to repeat.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::JobId;
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::jobs::JobView;
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::steering::AskPerson;
use cynode_wire::workflow::{
    DispatchStep, EffectView, Hold, RecordEffect, SaveCheckpoint, TaskContextView,
    VerificationView, VerifyStep,
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::control::ControlPlane;
use crate::engine::{Ask, Backoff, Checkpoints, EffectLog, JournalError, NodeError, Transition};
use crate::nodes::dispatch_step::Dispatch;
use crate::nodes::verify_step_result::Verification;
use crate::orchestrator::{CallError, Orchestrator};
use crate::runner::{KeptLease, Slot};
use crate::saved::Saved;
use crate::workflow::{Position, TaskState};

/// The pauses between calls of an orchestrator that is away.
pub(crate) const AWAY: Backoff =
    Backoff { first: Duration::from_millis(100), cap: Duration::from_secs(5) };

/// How long one look at a job or a verdict may wait for it, in milliseconds.
const POLL_MS: u32 = 20_000;
/// Looks at one of them are at least this far apart, even if the orchestrator answers at once.
const LEAST_POLL: Duration = Duration::from_millis(50);

/// A task that this process holds.
pub struct HeldTask {
    orchestrator: Arc<dyn Orchestrator>,
    hold: Hold,
    /// What the next transition is compared with.
    saved: Mutex<Saved>,
    /// The lease that every transition extends.
    lease: Option<Arc<KeptLease>>,
    /// The runner's slot, which the last transition gives back.
    slot: Option<Arc<Slot>>,
    /// Whether the orchestrator said that somebody wants the run to pause.
    is_to_pause: AtomicBool,
}

impl HeldTask {
    /// The task of `hold`.
    pub fn new(orchestrator: Arc<dyn Orchestrator>, hold: Hold) -> Self {
        let is_to_pause = AtomicBool::new(false);
        Self { orchestrator, hold, saved: Mutex::default(), lease: None, slot: None, is_to_pause }
    }

    /// The same task, extending its lease with every transition and giving its slot back with the
    /// last.
    #[must_use]
    pub(crate) fn kept(self, lease: Arc<KeptLease>, slot: Arc<Slot>) -> Self {
        Self { lease: Some(lease), slot: Some(slot), ..self }
    }

    /// Whether somebody wants the run to pause, as the reply to a transition said.
    pub(crate) fn is_to_pause(&self) -> bool {
        self.is_to_pause.load(Ordering::Relaxed)
    }

    /// Keeps a question of the run, which then waits for its answer without a runner.
    pub(crate) async fn ask(&self, ask: &Ask) -> Result<(), JournalError> {
        let question = serde_json::from_value(ask.question.clone())
            .map_err(|error| JournalError::Rejected(error.to_string()))?;
        let (hold, key, node) = (self.hold, ask.key.clone(), ask.node.clone());
        let body = AskPerson { hold, key, node, question };
        Ok(patiently(|| self.orchestrator.ask(&body)).await?)
    }

    fn saved(&self) -> MutexGuard<'_, Saved> {
        self.saved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for HeldTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HeldTask").field(&self.hold).finish()
    }
}

/// Makes a call again and again while the orchestrator is away.
async fn patiently<T, F>(mut call: impl FnMut() -> F + Send) -> Result<T, CallError>
where
    F: Future<Output = Result<T, CallError>> + Send,
{
    let mut failures = 0;
    loop {
        match call().await {
            Err(CallError::Unavailable(reason)) => {
                failures += 1;
                tracing::debug!(failures, %reason, "the orchestrator is away: {reason}");
                sleep(AWAY.delay(failures)).await;
            }
            answer => return answer,
        }
    }
}

#[async_trait]
impl ControlPlane for HeldTask {
    async fn task_context(&self) -> Result<TaskContextView, NodeError> {
        Ok(patiently(|| self.orchestrator.task(self.hold.task_id)).await?)
    }

    async fn dispatch(&self, dispatch: &Dispatch) -> Result<JobId, NodeError> {
        let body = DispatchStep {
            hold: self.hold,
            step_index: dispatch.step_index,
            attempt: dispatch.attempt,
            step: dispatch.step.clone(),
        };
        Ok(patiently(|| self.orchestrator.dispatch(&body)).await?)
    }

    async fn job(&self, job: JobId) -> Result<JobView, NodeError> {
        let asked = Instant::now();
        let view = patiently(|| self.orchestrator.job(job, POLL_MS)).await?;
        if !view.status.is_terminal() {
            sleep(LEAST_POLL.saturating_sub(asked.elapsed())).await;
        }
        Ok(view)
    }

    async fn plan(&self, said: &[String]) -> Result<PlanningView, NodeError> {
        let asked = Instant::now();
        let body = PlanRun { hold: self.hold, said: said.to_vec(), wait_ms: POLL_MS };
        let view = patiently(|| self.orchestrator.plan(&body)).await?;
        if matches!(view, PlanningView::Waiting { .. }) {
            sleep(LEAST_POLL.saturating_sub(asked.elapsed())).await;
        }
        Ok(view)
    }

    async fn continuation(
        &self,
        job_id: JobId,
        continued: u32,
    ) -> Result<ContinuationView, NodeError> {
        let asked = Instant::now();
        let body = ContinueRun { hold: self.hold, job_id, continued, wait_ms: POLL_MS };
        let view = patiently(|| self.orchestrator.continuation(&body)).await?;
        if matches!(view, ContinuationView::Waiting { .. }) {
            sleep(LEAST_POLL.saturating_sub(asked.elapsed())).await;
        }
        Ok(view)
    }

    async fn replan(&self, job_id: JobId) -> Result<ReplanView, NodeError> {
        let asked = Instant::now();
        let body = ReplanStep { hold: self.hold, job_id, wait_ms: POLL_MS };
        let view = patiently(|| self.orchestrator.replan(&body)).await?;
        if matches!(view, ReplanView::Waiting { .. }) {
            sleep(LEAST_POLL.saturating_sub(asked.elapsed())).await;
        }
        Ok(view)
    }

    async fn verify(&self, verification: &Verification) -> Result<VerificationView, NodeError> {
        let asked = Instant::now();
        let body = VerifyStep {
            hold: self.hold,
            job_id: verification.job_id,
            expected_outputs: verification.expected_outputs.clone(),
            criteria: verification.criteria.clone(),
            is_last_step: verification.is_last_step,
            wait_ms: POLL_MS,
        };
        let view = patiently(|| self.orchestrator.verify(&body)).await?;
        if view.verdict.is_none() {
            sleep(LEAST_POLL.saturating_sub(asked.elapsed())).await;
        }
        Ok(view)
    }
}

#[async_trait]
impl EffectLog for HeldTask {
    async fn record_effect(&self, key: &str, answer: &Value) -> Result<(), JournalError> {
        let effect = EffectView { key: key.to_owned(), answer: answer.clone() };
        let body = RecordEffect { hold: self.hold, effect };
        Ok(patiently(|| self.orchestrator.effect(&body)).await?)
    }

    fn waiting(&self, node: &str, what: &str) {
        tracing::debug!(node, what, "node {node} waits for {what}");
        if let Some(lease) = &self.lease {
            lease.waiting(node, what);
        }
    }
}

#[async_trait]
impl<S: TaskState> Checkpoints<S> for HeldTask {
    async fn save(&self, transition: &Transition<'_, S>) -> Result<(), JournalError> {
        let Transition { state, node, edge, .. } = *transition;
        let record = self.saved().record(state);
        let record = record.map_err(|error| JournalError::Rejected(error.to_string()))?;
        let sent = record.sent();
        let (step_index, job_id) = state.subject(Position { node, edge });
        let body = SaveCheckpoint {
            hold: self.hold,
            sequence: transition.sequence,
            last_node_id: node.to_owned(),
            edge: edge.to_owned(),
            state: record.state,
            changes: record.changes,
            duration_ms: i64::try_from(transition.duration.as_millis()).unwrap_or(i64::MAX),
            lease_ms: self.lease.as_ref().map(|lease| lease.life_ms()),
            step_index,
            job_id,
            finish: state.finish().filter(|_| transition.is_last).cloned(),
        };
        if let Some(slot) = self.slot.as_ref().filter(|_| body.finish.is_some()) {
            slot.is_ending();
        }
        let (asked, saved) = patiently(|| async {
            let asked = Instant::now();
            self.orchestrator.save(&body).await.map(|saved| (asked, saved))
        })
        .await?;
        if saved.pause {
            self.is_to_pause.store(true, Ordering::Relaxed);
        }
        self.saved().note(state, sent);
        if let Some(lease) = &self.lease {
            lease.extended(asked);
        }
        Ok(())
    }
}
