//! The workflow contract: who drives a task, where it stands, and the steps it hands out.
//!
//! Every write carries a hold (lease and epoch) and is refused as [`WorkflowError::Fenced`] when
//! another grant, a cancellation or the clock has ended it.

pub mod analyst;
mod ask;
mod beside;
pub(crate) mod check;
mod checkpoint;
mod context;
mod continuing;
mod dispatch;
mod evidence;
mod gone;
mod grant;
pub(crate) mod make;
mod plan;
mod planned;
mod replan;
pub(crate) mod settle;
mod verify;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use cynode_domain::ids::{HolderId, JobId, TaskId};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Fenced, Job, Lease, LeaseStore, Store, Task, TaskStore, Transition, Tx};
use cynode_wire::jobs::JobView;
use cynode_wire::tasks::TransitionView;
use cynode_wire::workflow::Hold;

use self::analyst::{Analyst, RuleAnalyst};
pub(crate) use self::check::command_of;
use self::continuing::Continuer;
pub(crate) use self::evidence::{RunFiles, ending_of, evidence_of, outputs};
use self::plan::Planner;
pub(crate) use self::plan::{WAITS_FOR_PLAN, owner};
pub(crate) use self::planned::planned_step;
use self::replan::Replanner;
use crate::Signals;
use crate::handoff::Handoffs;
use crate::nodes::Placer;

const DEFAULT_LEASE_MS: u32 = 30_000;
const LEASE_RANGE_MS: std::ops::RangeInclusive<u32> = 1_000..=3_600_000;
/// The longest any long poll is kept open.
pub(crate) const MAX_WAIT_MS: u32 = 30_000;
/// A runner that has not asked for work for this long counts as gone.
const RUNNER_SILENCE_S: i64 = 40;

/// Why a workflow operation was refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// There is no such task.
    #[error("there is no task {0}")]
    NoTask(TaskId),
    /// There is no such job in the task that the caller holds.
    #[error("there is no job {0}")]
    NoJob(JobId),
    /// The task has no checkpoint.
    #[error("task {0} has no checkpoint")]
    NoCheckpoint(TaskId),
    /// Somebody else drives the task.
    #[error("task is leased to {holder}")]
    Held {
        /// Who.
        holder: HolderId,
    },
    /// The task may not start.
    #[error("the task may not start: {reason}")]
    Gate {
        /// Why.
        reason: String,
    },
    /// The caller no longer holds the task.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// The checkpoint does not follow the one before.
    #[error("transition {given} does not follow transition {last}")]
    OutOfOrder {
        /// The newest stored.
        last: i64,
        /// What was given.
        given: i64,
    },
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The job has not ended.
    #[error("job {0} has not ended")]
    StillRunning(JobId),
    /// There is nobody who could judge the result now.
    #[error("no analyst can be asked: {0}")]
    NoAnalyst(String),
    /// The result could not be judged.
    #[error("the judgement failed")]
    Judge(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// The workflow contract. Cheap to clone.
#[derive(Clone)]
pub struct Workflow {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    /// Who judges results of steps.
    analyst: Arc<dyn Analyst>,
    /// Who plans prose; nobody without one.
    planner: Option<Planner>,
    /// Who says how runs go on that stand still; nobody without one.
    continuer: Option<Continuer>,
    /// Who plans steps anew that were not accepted; nobody without one.
    replanner: Option<Replanner>,
    /// Who chooses where work runs.
    placer: Placer,
    /// When a runner last asked this process for work, in seconds since 1970; for readiness.
    runner_seen: Arc<AtomicI64>,
}

impl Workflow {
    /// Workflows kept in `store`, whose steps are judged by rule.
    pub fn new(store: Store, clock: SharedClock, signals: Signals) -> Self {
        let analyst = Arc::new(RuleAnalyst);
        let runner_seen = Arc::new(AtomicI64::new(i64::MIN));
        let placer = Placer::by_rule((store.clone(), clock.clone(), signals.clone()));
        let (planner, continuer, replanner) = (None, None, None);
        Self { store, clock, signals, analyst, planner, continuer, replanner, placer, runner_seen }
    }

    /// The same workflows, with jobs placed by `placer`.
    #[must_use]
    pub fn placed_by(self, placer: Placer) -> Self {
        Self { placer, ..self }
    }

    /// The same workflows, judged by somebody else.
    #[must_use]
    pub fn judged_by(self, analyst: Arc<dyn Analyst>) -> Self {
        Self { analyst, ..self }
    }

    /// The same workflows, with prose planned by the project manager, who also says how runs go on that
    /// stand still.
    #[must_use]
    pub fn planned_by(self, handoffs: Handoffs) -> Self {
        let planner =
            Some(Planner::new(self.store.clone(), handoffs.clone(), self.signals.clone()));
        let continuer = Some(Continuer::new(handoffs.clone(), self.signals.clone()));
        let replanner = Some(Replanner::new(handoffs, self.signals.clone()));
        Self { planner, continuer, replanner, ..self }
    }

    /// Whether a runner asked this process for work lately.
    pub fn has_runner(&self) -> bool {
        let seen = self.runner_seen.load(Ordering::Relaxed);
        self.clock.now().timestamp().saturating_sub(seen) <= RUNNER_SILENCE_S
    }

    fn note_runner(&self) {
        self.runner_seen.store(self.clock.now().timestamp(), Ordering::Relaxed);
    }
}

/// The lease behind a hold, if it is in force.
async fn check(tx: &mut Tx, hold: Hold) -> Result<Lease, WorkflowError> {
    Ok(tx.lease_check(hold.task_id, hold.lease_id, hold.epoch).await??)
}

/// The lease behind a hold, as it is when one looks: nothing is locked.
async fn held_now(tx: &mut Tx, hold: Hold) -> Result<Lease, WorkflowError> {
    let lease = tx.lease_get(hold.task_id).await?.filter(|lease| {
        lease.is_live
            && lease.holder.is_some()
            && (lease.id, lease.epoch) == (hold.lease_id, hold.epoch)
    });
    Ok(lease.ok_or(Fenced)?)
}

async fn task_of(tx: &mut Tx, id: TaskId) -> Result<Task, WorkflowError> {
    tx.task_get(id).await?.ok_or(WorkflowError::NoTask(id))
}

fn lease_ms(asked: Option<u32>) -> Result<u32, WorkflowError> {
    let lease_ms = asked.unwrap_or(DEFAULT_LEASE_MS);
    if LEASE_RANGE_MS.contains(&lease_ms) {
        Ok(lease_ms)
    } else {
        let (low, high) = (LEASE_RANGE_MS.start(), LEASE_RANGE_MS.end());
        Err(WorkflowError::Invalid(format!("lease_ms is {lease_ms}; allowed is {low} to {high}")))
    }
}

/// A job as people and runners see it.
pub(crate) fn job_view(job: Job) -> Result<JobView, cynode_store::Error> {
    let result = job.result.map(serde_json::from_value).transpose().map_err(|error| {
        cynode_store::Error::Unreadable { column: "result".to_owned(), reason: error.to_string() }
    })?;
    let is_exec = job.asked.step_index == make::EXEC_STEP;
    let (attempt, check) = check::split(job.asked.attempt);
    Ok(JobView {
        id: job.asked.id,
        task_id: job.asked.task,
        step_index: if is_exec { 0 } else { job.asked.step_index },
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

/// A transition as people see it, without its state.
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
