//! The workflow API for runners: leases, checkpoints, dispatch of steps, verification and planning.
//!
//! Every write presents a token (lease and epoch) and is rejected as [`WorkflowError::Fenced`] once a newer grant, a
//! cancellation or expiry has ended the lease.

pub mod analyst;
pub mod check;
mod checkpoint;
mod context;
mod continuation;
mod dispatch;
mod evidence;
mod inflight;
mod job_cache;
pub mod job_creation;
mod leases;
mod plan;
mod plan_state;
mod question;
mod replan;
mod runner_gone;
pub mod unjudged_criteria;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{HolderId, JobId, TaskId};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Job, Lease, StaleLease, Store, Task, Transition, Tx};
use cynode_wire::jobs::JobView;
use cynode_wire::tasks::TransitionView;
use cynode_wire::workflow::LeaseToken;
pub use cynode_wire::workflow::MAX_WAIT_MS;

use self::analyst::{Analyst, RuleAnalyst};
pub use self::check::command_of_job;
use self::continuation::ContinuationDecider;
pub(crate) use self::evidence::load_outputs;
pub use self::evidence::{
    EvidenceScope, MAX_OUTPUT_CHARS, ending_of, load_evidence, shorten_output,
};
pub use self::leases::NODE_PENDING_REASON;
use self::plan::PromptPlanner;
pub use self::plan::{PLAN_PENDING_REASON, task_owner};
pub use self::plan_state::load_planned_step;
use self::replan::StepReplanner;
use crate::handoff::HandoffService;
use crate::nodes::JobPlacer;
use cynode_resources::{RepositoryDenied, Signals};

const DEFAULT_LEASE_MS: u32 = 30_000;
const LEASE_RANGE_MS: std::ops::RangeInclusive<u32> = 1_000..=3_600_000;
/// A runner that has not claimed for this long counts as gone.
const RUNNER_SILENCE_S: i64 = 40;

/// Why a workflow operation was rejected.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    #[error("there is no task {0}")]
    TaskNotFound(TaskId),
    /// The job does not exist in the task that the caller holds.
    #[error("there is no job {0}")]
    JobNotFound(JobId),
    #[error("task {0} has no checkpoint")]
    NoCheckpoint(TaskId),
    /// Another runner holds the lease of the task.
    #[error("task is leased to {holder}")]
    LeasedElsewhere { holder: HolderId },
    #[error("the task may not start: {reason}")]
    StartDenied { reason: String },
    /// The caller's lease has ended.
    #[error(transparent)]
    Fenced(#[from] StaleLease),
    /// The sequence number of the checkpoint does not follow the stored one.
    #[error("transition {given} does not follow transition {last}")]
    OutOfOrder { last: i64, given: i64 },
    #[error("{0}")]
    Invalid(String),
    /// The rules do not allow what the job would do with its repository.
    #[error(transparent)]
    RepositoryDenied(#[from] RepositoryDenied),
    #[error("job {0} has not ended")]
    JobNotEnded(JobId),
    /// No analyst is available to judge the result.
    #[error("no analyst is available: {0}")]
    AnalystUnavailable(String),
    #[error("verification failed")]
    VerificationFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for WorkflowError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::TaskNotFound(_) | Self::JobNotFound(_) | Self::NoCheckpoint(_) => {
                Classification::new(ErrorClass::NotFound, self)
            }
            // To a runner every conflict means the same: it does not token the run.
            Self::LeasedElsewhere { .. }
            | Self::StartDenied { .. }
            | Self::Fenced(_)
            | Self::OutOfOrder { .. } => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(_) | Self::JobNotEnded(_) => {
                Classification::new(ErrorClass::Invalid, self)
            }
            Self::RepositoryDenied(_) => Classification::new(ErrorClass::Forbidden, self),
            Self::AnalystUnavailable(_) => Classification::new(ErrorClass::Unavailable, self),
            Self::VerificationFailed(_) => Classification::internal(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The workflow service. Cheap to clone.
#[derive(Clone)]
pub struct WorkflowService {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    analyst: Arc<dyn Analyst>,
    /// `None`: no project manager is configured. The same holds for the next two fields.
    planner: Option<PromptPlanner>,
    continuer: Option<ContinuationDecider>,
    replanner: Option<StepReplanner>,
    placer: JobPlacer,
    /// When a runner last claimed from this process, in seconds since 1970; for readiness.
    runner_seen: Arc<AtomicI64>,
}

impl WorkflowService {
    /// Creates the service; steps are judged by rule alone.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        let analyst = Arc::new(RuleAnalyst);
        let runner_seen = Arc::new(AtomicI64::new(i64::MIN));
        let placer = JobPlacer::rule_based(store.clone(), clock.clone(), signals.clone());
        let (planner, continuer, replanner) = (None, None, None);
        Self { store, clock, signals, analyst, planner, continuer, replanner, placer, runner_seen }
    }

    /// Sets the placer that chooses nodes for jobs.
    #[must_use]
    pub fn with_placer(self, placer: JobPlacer) -> Self {
        Self { placer, ..self }
    }

    /// Sets the analyst that judges steps.
    #[must_use]
    pub fn with_analyst(self, analyst: Arc<dyn Analyst>) -> Self {
        Self { analyst, ..self }
    }

    /// Lets the project manager plan prompts, replan rejected steps and decide how stalled runs continue.
    #[must_use]
    pub fn with_handoffs(self, handoffs: HandoffService) -> Self {
        let planner =
            Some(PromptPlanner::new(self.store.clone(), handoffs.clone(), self.signals.clone()));
        let continuer = Some(ContinuationDecider::new(handoffs.clone(), self.signals.clone()));
        let replanner = Some(StepReplanner::new(handoffs, self.signals.clone()));
        Self { planner, continuer, replanner, ..self }
    }

    /// Whether a runner claimed from this process recently.
    pub fn has_runner(&self) -> bool {
        let seen = self.runner_seen.load(Ordering::Relaxed);
        self.clock.now().timestamp().saturating_sub(seen) <= RUNNER_SILENCE_S
    }

    fn record_runner_seen(&self) {
        self.runner_seen.store(self.clock.now().timestamp(), Ordering::Relaxed);
    }
}

/// Locks and returns the lease of a token; fails if it has ended.
async fn check_lease(tx: &mut Tx, token: LeaseToken) -> Result<Lease, WorkflowError> {
    Ok(tx.lease_check(token.task_id, token.lease_id, token.epoch).await??)
}

/// Returns the lease of a token without locking it; fails if it has ended.
async fn read_lease(tx: &mut Tx, token: LeaseToken) -> Result<Lease, WorkflowError> {
    let lease = tx.lease_get(token.task_id).await?.filter(|lease| {
        lease.is_live
            && lease.holder.is_some()
            && (lease.id, lease.epoch) == (token.lease_id, token.epoch)
    });
    Ok(lease.ok_or(StaleLease)?)
}

async fn load_task(tx: &mut Tx, id: TaskId) -> Result<Task, WorkflowError> {
    tx.task_get(id).await?.ok_or(WorkflowError::TaskNotFound(id))
}

fn validate_lease_ms(requested: Option<u32>) -> Result<u32, WorkflowError> {
    let lease_ms = requested.unwrap_or(DEFAULT_LEASE_MS);
    if LEASE_RANGE_MS.contains(&lease_ms) {
        Ok(lease_ms)
    } else {
        let (low, high) = (LEASE_RANGE_MS.start(), LEASE_RANGE_MS.end());
        Err(WorkflowError::Invalid(format!("lease_ms is {lease_ms}; allowed is {low} to {high}")))
    }
}

/// Converts a job to its API view.
pub fn job_view(job: Job) -> Result<JobView, cynode_store::Error> {
    let result = job.result.map(serde_json::from_value).transpose().map_err(|error| {
        cynode_store::Error::Unreadable { column: "result".to_owned(), reason: error.to_string() }
    })?;
    let is_exec = job.spec.step_index == job_creation::EXEC_STEP;
    let (attempt, check) = check::split_attempt(job.spec.attempt);
    Ok(JobView {
        id: job.spec.id,
        task_id: job.spec.task,
        step_index: if is_exec { 0 } else { job.spec.step_index },
        // Attempts at steps count from 1.
        attempt: if is_exec { 0 } else { attempt },
        check,
        exec: is_exec.then_some(attempt),
        status: job.status,
        node_id: job.node,
        result,
        created_at: job.created_at,
        started_at: job.started_at,
        ended_at: job.ended_at,
    })
}

/// Converts a transition to its API view, without state.
pub(crate) fn transition_view(transition: Transition) -> TransitionView {
    TransitionView {
        sequence: transition.sequence,
        node: transition.node,
        edge: transition.edge,
        step_index: transition.step_index,
        job_id: transition.job,
        duration_ms: transition.duration_ms,
        recorded_at: transition.recorded_at.unwrap_or_default(),
    }
}
