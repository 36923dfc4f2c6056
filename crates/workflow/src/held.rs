//! A task that this process holds: control plane, effect log and checkpoints of one run.
//!
//! Calls that an orchestrator which is away did not answer are repeated until somebody stops the
//! run: the nodes' timeouts, or the end of the lease. All of them are safe to repeat.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_domain::ids::JobId;
use cynode_domain::verdict::Verdict;
use cynode_wire::jobs::JobView;
use cynode_wire::workflow::{
    DispatchStep, EffectView, Hold, RecordEffect, SaveCheckpoint, TaskContextView, VerifyStep,
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::control::ControlPlane;
use crate::engine::{
    Backoff, Checkpoints, EffectLog, FAILED, JournalError, Node, NodeError, Transition,
};
use crate::nodes::collect_result::CollectResult;
use crate::nodes::dispatch_step::{self, Dispatch};
use crate::nodes::mark_failed::MarkFailed;
use crate::nodes::verify_step_result::{Verification, VerifyStepResult};
use crate::orchestrator::{CallError, Orchestrator};
use crate::state::RunState;

/// The pauses between calls of an orchestrator that is away.
pub(crate) const AWAY: Backoff =
    Backoff { first: Duration::from_millis(100), cap: Duration::from_secs(5) };

/// How long one look at a job may wait for its end.
const POLL: Duration = Duration::from_secs(20);
/// Looks at one job are at least this far apart, even if the orchestrator answers at once.
const LEAST_POLL: Duration = Duration::from_millis(50);

/// A task that this process holds.
pub struct HeldTask {
    orchestrator: Arc<dyn Orchestrator>,
    hold: Hold,
}

impl HeldTask {
    /// The task of `hold`.
    pub fn new(orchestrator: Arc<dyn Orchestrator>, hold: Hold) -> Self {
        Self { orchestrator, hold }
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
        let wait_ms = u32::try_from(POLL.as_millis()).unwrap_or(u32::MAX);
        let view = patiently(|| self.orchestrator.job(job, wait_ms)).await?;
        if !view.status.is_terminal() {
            sleep(LEAST_POLL.saturating_sub(asked.elapsed())).await;
        }
        Ok(view)
    }

    async fn verify(&self, verification: &Verification) -> Result<Verdict, NodeError> {
        let body = VerifyStep {
            hold: self.hold,
            job_id: verification.job_id,
            expected_outputs: verification.expected_outputs.clone(),
            is_last_step: verification.is_last_step,
        };
        Ok(patiently(|| self.orchestrator.verify(&body)).await?)
    }
}

#[async_trait]
impl EffectLog for HeldTask {
    async fn record_effect(&self, key: &str, answer: &Value) -> Result<(), JournalError> {
        let effect = EffectView { key: key.to_owned(), answer: answer.clone() };
        let body = RecordEffect { hold: self.hold, effect };
        Ok(patiently(|| self.orchestrator.effect(&body)).await?)
    }
}

#[async_trait]
impl Checkpoints<RunState> for HeldTask {
    async fn save(&self, transition: &Transition<'_, RunState>) -> Result<(), JournalError> {
        let state = transition.state;
        let (step_index, job_id) = subject(transition);
        let body = SaveCheckpoint {
            hold: self.hold,
            sequence: transition.sequence,
            last_node_id: transition.node.to_owned(),
            edge: transition.edge.to_owned(),
            state: serde_json::to_value(state)
                .map_err(|error| JournalError::Rejected(error.to_string()))?,
            duration_ms: i64::try_from(transition.duration.as_millis()).unwrap_or(i64::MAX),
            step_index,
            job_id,
            finish: state.finish.clone().filter(|_| transition.is_last),
        };
        Ok(patiently(|| self.orchestrator.checkpoint(&body)).await?)
    }
}

/// Which step and job a transition is about; the edge may have moved the state on already.
fn subject(transition: &Transition<'_, RunState>) -> (Option<u32>, Option<JobId>) {
    let state = transition.state;
    match transition.node {
        dispatch_step::DispatchStep::NAME if transition.edge == FAILED => {
            (Some(state.current_step_index), None)
        }
        dispatch_step::DispatchStep::NAME | CollectResult::NAME | VerifyStepResult::NAME => {
            (state.job.map(|job| job.step_index), state.job.map(|job| job.job_id))
        }
        MarkFailed::NAME => {
            let job = state.job.filter(|job| job.step_index == state.current_step_index);
            let step = state.current_step().map(|_| state.current_step_index);
            (step, job.map(|job| job.job_id))
        }
        _ => (None, None),
    }
}
