//! A run leased by this process: calls, effect journal and checkpoints of one run.
//!
//! Calls to an unavailable orchestrator are retried until a node's timeout or the end of the lease. All
//! calls are idempotent. Nodes call through [`RunHandle::call`] with the lease of [`RunHandle::lease_token`].

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use backon::Retryable as _;
use cynode_domain::backoff::Backoff;
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::runner_calls::RunnerRequest;
use cynode_wire::workflow::{EffectView, LeaseToken, RecordEffect, SaveCheckpoint};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::checkpoint_encoder::CheckpointEncoder;
use crate::engine::{EffectJournal, JournalError, NodeQuestion, NodeTransition, TransitionJournal};
use crate::orchestrator_api::{OrchestratorConnection, RunnerCallError};
use crate::runner::{ExtendableLease, RunnerSlot};
use crate::workflow::{TaskState, TransitionPosition};

/// Backoff between calls to an unavailable orchestrator.
pub(crate) const UNAVAILABLE_BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(100), cap: Duration::from_secs(5) };

/// Long-poll timeout, in milliseconds.
pub(crate) const POLL_MS: u32 = 20_000;
/// Minimum interval between polls, even if the orchestrator answers at once.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A run leased by this process.
pub struct RunHandle {
    orchestrator: Arc<dyn OrchestratorConnection>,
    lease_token: LeaseToken,
    /// The last saved state, which the next transition is compared with.
    encoder: Mutex<CheckpointEncoder>,
    /// Extended by every transition.
    lease: Option<Arc<ExtendableLease>>,
    /// Freed by the last transition.
    slot: Option<Arc<RunnerSlot>>,
    /// Whether the orchestrator requested a pause.
    is_pause_requested: AtomicBool,
}

impl RunHandle {
    pub fn new(orchestrator: Arc<dyn OrchestratorConnection>, lease_token: LeaseToken) -> Self {
        let is_pause_requested = AtomicBool::new(false);
        Self {
            orchestrator,
            lease_token,
            encoder: Mutex::default(),
            lease: None,
            slot: None,
            is_pause_requested,
        }
    }

    /// The lease that authorises the calls of the run.
    pub fn lease_token(&self) -> LeaseToken {
        self.lease_token
    }

    /// Sends a request. Retries while the orchestrator is unavailable. Returns a response that only says
    /// to call again no sooner than the minimum interval between polls.
    pub async fn call<R: RunnerRequest>(
        &self,
        request: &R,
    ) -> Result<R::Response, RunnerCallError> {
        let requested_at = Instant::now();
        let response = retry_while_unavailable(|| self.orchestrator.call(request)).await?;
        if R::is_pending(&response) {
            sleep(MIN_POLL_INTERVAL.saturating_sub(requested_at.elapsed())).await;
        }
        Ok(response)
    }

    /// Extends `lease` with every transition and frees `slot` with the last.
    #[must_use]
    pub(crate) fn with_lease(self, lease: Arc<ExtendableLease>, slot: Arc<RunnerSlot>) -> Self {
        Self { lease: Some(lease), slot: Some(slot), ..self }
    }

    /// Whether the response to a transition requested a pause.
    pub(crate) fn is_pause_requested(&self) -> bool {
        self.is_pause_requested.load(Ordering::Relaxed)
    }

    /// Persists a question of the run, which then waits for its answer without a runner.
    pub(crate) async fn persist_question(&self, ask: &NodeQuestion) -> Result<(), JournalError> {
        let question = serde_json::from_value(ask.question.clone())
            .map_err(|error| JournalError::Rejected(error.to_string()))?;
        let (lease, key, node) = (self.lease_token, ask.key.clone(), ask.node.clone());
        let body = SuspendForQuestion { lease, key, node, question };
        self.call(&body).await?;
        Ok(())
    }

    fn lock_encoder(&self) -> MutexGuard<'_, CheckpointEncoder> {
        self.encoder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunHandle").field(&self.lease_token).finish()
    }
}

/// Retries a call while the orchestrator is unavailable.
async fn retry_while_unavailable<T, F>(call: impl FnMut() -> F + Send) -> Result<T, RunnerCallError>
where
    F: Future<Output = Result<T, RunnerCallError>> + Send,
{
    call.retry(UNAVAILABLE_BACKOFF.jittered_delays())
        .sleep(tokio::time::sleep)
        .when(|error| matches!(error, RunnerCallError::Unavailable(_)))
        .notify(
            |error, delay| tracing::debug!(%error, ?delay, "orchestrator unavailable, retrying"),
        )
        .await
}

#[async_trait]
impl EffectJournal for RunHandle {
    async fn record_effect(&self, key: &str, answer: &Value) -> Result<(), JournalError> {
        let effect = EffectView { key: key.to_owned(), answer: answer.clone() };
        let body = RecordEffect { lease: self.lease_token, effect };
        self.call(&body).await?;
        Ok(())
    }

    fn report_waiting(&self, node: &str, what: &str) {
        tracing::debug!(node, what, "node waiting");
        if let Some(lease) = &self.lease {
            lease.set_waiting(node, what);
        }
    }
}

#[async_trait]
impl<S: TaskState> TransitionJournal<S> for RunHandle {
    async fn save_transition(
        &self,
        transition: &NodeTransition<'_, S>,
    ) -> Result<(), JournalError> {
        let NodeTransition { state, node, edge, .. } = *transition;
        let record = self.lock_encoder().encode(state);
        let record = record.map_err(|error| JournalError::Rejected(error.to_string()))?;
        let sent = record.size();
        let (step_index, job_id) = state.transition_subject(TransitionPosition { node, edge });
        let body = SaveCheckpoint {
            lease: self.lease_token,
            sequence: transition.sequence,
            last_node_id: node.to_owned(),
            edge: edge.to_owned(),
            state: record.state,
            changes: record.changes,
            duration_ms: i64::try_from(transition.duration.as_millis()).unwrap_or(i64::MAX),
            lease_ms: self.lease.as_ref().map(|lease| lease.lifetime_ms()),
            step_index,
            job_id,
            finish: state.finish().filter(|_| transition.is_last).cloned(),
        };
        if let Some(slot) = self.slot.as_ref().filter(|_| body.finish.is_some()) {
            slot.free_early();
        }
        let (requested_at, saved) = retry_while_unavailable(|| async {
            let requested_at = Instant::now();
            self.orchestrator.call(&body).await.map(|saved| (requested_at, saved))
        })
        .await?;
        if saved.pause {
            self.is_pause_requested.store(true, Ordering::Relaxed);
        }
        self.lock_encoder().mark_saved(state, sent);
        if let Some(lease) = &self.lease {
            lease.mark_extended(requested_at);
        }
        Ok(())
    }
}
