//! The reconciler: expires leases, jobs, questions and silent nodes.
//!
//! [`Sweeper::sweep_once`] is idempotent: it may run at any time, any number of times, in any number of processes.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;
use cynode_domain::job::JobEnding;
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Job, Store, Tx};
use cynode_wire::jobs::{JobResult, Truncated};
use serde_json::json;
use tracing::{info, warn};

use crate::answer::expire_questions;
use cynode_execution::nodes::{
    AssignmentOutcome, AssignmentPass, JobPlacer, NODE_TIMEOUT_MS, NodeError, close_job,
    unassign_silent_jobs,
};
use cynode_resources::agents::signs::AgentSigns;
use cynode_resources::signals::Topic;
use cynode_resources::{Accounts, Signals};

const INTERVAL: Duration = Duration::from_secs(1);
/// A sweep that takes longer counts as an outage.
const SLOW_SWEEP: Duration = Duration::from_secs(5);
/// All waiting runs are checked once per this many sweeps.
const UNBLOCK_EVERY: u32 = 30;
/// How many stranded jobs one sweep ends.
const BATCH: u32 = 100;
/// How long a queued job waits for the node that has its workspace. Nothing else ends the wait of its runner.
const PINNED_TIMEOUT: chrono::Duration = chrono::Duration::minutes(10);
/// How long the events of agents are kept.
const TRACE_RETENTION: chrono::Duration = chrono::Duration::days(30);
/// How many of them are deleted at a time.
const TRACE_BATCH: u32 = 1_000;
/// How long ended agent tokens are kept for attribution.
const TOKEN_RETENTION: chrono::Duration = chrono::Duration::days(30);

/// Expires what is overdue, and signals the waiting requests.
#[derive(Clone)]
pub struct Sweeper {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    accounts: Accounts,
    placer: JobPlacer,
    signs: AgentSigns,
}

impl Sweeper {
    /// Creates a sweeper over `store`.
    pub fn new(store: Store, signals: Signals, accounts: Accounts, clock: SharedClock) -> Self {
        let placer = JobPlacer::rule_based(store.clone(), clock.clone(), signals.clone());
        let signs = AgentSigns::new(store.clone());
        Self { store, clock, signals, accounts, placer, signs }
    }

    /// Sets where the signs of life of agents are recorded.
    #[must_use]
    pub fn with_signs(self, signs: AgentSigns) -> Self {
        Self { signs, ..self }
    }

    /// Sets the placer that chooses nodes for jobs.
    #[must_use]
    pub fn with_placer(self, placer: JobPlacer) -> Self {
        Self { placer, ..self }
    }

    /// Sweeps until shutdown. Nodes cannot renew during an outage of this process or the database, so running jobs
    /// get a new lease of `job_lease_ms` before the first sweep after one.
    pub async fn run(self, job_lease_ms: u32, shutdown: Shutdown) {
        tokio::join!(
            self.run_loop(job_lease_ms, shutdown.clone()),
            self.signals.share_with_peers(&self.store, shutdown)
        );
    }

    async fn run_loop(&self, job_lease_ms: u32, shutdown: Shutdown) {
        let mut last = None;
        for sweep in 1_u32.. {
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            match self.recover_and_sweep(last, job_lease_ms).await {
                Ok(()) => last = Some(self.clock.now()),
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "sweep failed");
                }
            }
            if sweep % UNBLOCK_EVERY == 0 {
                if let Err(error) = self.unblock_runs().await {
                    let error = &error as &dyn std::error::Error;
                    warn!(error, "waiting runs not checked");
                }
                if let Err(error) = self.trim_traces().await {
                    let error = &error as &dyn std::error::Error;
                    warn!(error, "old trace events not deleted");
                }
                if let Err(error) = self.recheck_quarantine().await {
                    let error = &error as &dyn std::error::Error;
                    warn!(error, "quarantined rows not rechecked");
                }
            }
        }
    }

    /// Runs one sweep; `last` is the time of the last successful sweep.
    async fn recover_and_sweep(
        &self,
        last: Option<DateTime<Utc>>,
        job_lease_ms: u32,
    ) -> Result<(), NodeError> {
        if was_interrupted(last, self.clock.now(), job_lease_ms) {
            self.store
                .write(move |tx| {
                    Box::pin(
                        async move { Ok::<_, NodeError>(tx.job_renew_all(job_lease_ms).await?) },
                    )
                })
                .await?;
        }
        self.sweep_once().await
    }

    /// Unblocks runs whose dependencies have completed. The process that completes the last dependency does so at
    /// once, unless it dies right after.
    async fn unblock_runs(&self) -> Result<(), NodeError> {
        let freed = self
            .store
            .write(|tx| Box::pin(async move { Ok::<_, NodeError>(tx.runs_unblock(None).await?) }))
            .await?;
        if freed > 0 {
            self.signals.send(Topic::Runs);
        }
        Ok(())
    }

    /// Deletes trace events that are too old, a bounded number at a time. Returns how many.
    pub async fn trim_traces(&self) -> Result<u64, NodeError> {
        let until = self.clock.now() - TRACE_RETENTION;
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    Ok::<_, NodeError>(tx.trace_event_trim(until, TRACE_BATCH).await?)
                })
            })
            .await
    }

    /// Releases quarantined rows that were repaired or deleted, and signals the waiting requests. Returns their
    /// number.
    pub async fn recheck_quarantine(&self) -> Result<u64, NodeError> {
        let released = self
            .store
            .write(|tx| Box::pin(async move { Ok::<_, NodeError>(tx.quarantine_recheck().await?) }))
            .await?;
        if released > 0 {
            self.signals.send(Topic::Runs);
            self.signals.send(Topic::Policy);
        }
        Ok(released)
    }

    /// Runs one sweep.
    pub async fn sweep_once(&self) -> Result<(), NodeError> {
        let (placing, signs) = (self.placer.assignment_pass(), self.signs.clone());
        signs.record_open_requests().await;
        let SweepOutcome { ended, is_claimable, assigned, has_silent } = self
            .store
            .write(move |tx| Box::pin(async move { expire_overdue(tx, placing, &signs).await }))
            .await?;
        self.placer.ask(assigned.awaiting_placement);
        if assigned.has_assignments || has_silent {
            self.signals.send(Topic::Jobs);
        }
        for job in &ended {
            info!(job.id = %job, "job expired");
        }
        if !ended.is_empty() || assigned.has_closed_jobs {
            self.signals.send(Topic::Results);
            self.signals.send(Topic::Policy);
        }
        // An expired lease or question makes its run claimable, and no request signals that.
        let unanswered = expire_questions(&self.store).await?;
        if is_claimable || unanswered > 0 || assigned.has_resumed_runs || assigned.has_closed_jobs {
            self.signals.send(Topic::Runs);
        }
        self.accounts.evict_old_attempts();
        Ok(())
    }
}

/// Result of one sweep.
struct SweepOutcome {
    ended: Vec<JobId>,
    is_claimable: bool,
    assigned: AssignmentOutcome,
    /// Whether jobs of silent agents are to be stopped.
    has_silent: bool,
}

/// Whether the last sweep is so long ago that leases may have expired during an outage: this process was suspended,
/// the machine asleep, or the database unreachable. The poll of a waiting node renews a lease after a third of its
/// time.
fn was_interrupted(last: Option<DateTime<Utc>>, now: DateTime<Utc>, job_lease_ms: u32) -> bool {
    let lease = Duration::from_millis(job_lease_ms.into());
    last.is_none_or(|last| {
        (now - last).to_std().is_ok_and(|passed| passed > INTERVAL + SLOW_SWEEP.max(lease / 2))
    })
}

async fn expire_overdue(
    tx: &mut Tx,
    placing: AssignmentPass,
    signs: &AgentSigns,
) -> Result<SweepOutcome, NodeError> {
    let now = placing.now;
    tx.node_deactivate_silent(NODE_TIMEOUT_MS).await?;
    // Also if no node was retired in this sweep: a job may have been assigned at the last moment.
    unassign_silent_jobs(tx).await?;
    let (mut ended, mut is_revoked) = (vec![], false);
    for job in tx.job_list_expired().await? {
        let reason = "its node stopped reporting; whether it finished is unknown".to_owned();
        let ending = JobEnding::Interrupted { reason };
        is_revoked |= expire_job(tx, &job, JobStatus::LeaseExpired, ending).await?;
        ended.push(job.spec.id);
    }
    for job in tx.job_list_stranded(now - PINNED_TIMEOUT, BATCH).await? {
        let ending = JobEnding::NotStarted { reason: describe_stranding(tx, &job).await? };
        is_revoked |= expire_job(tx, &job, JobStatus::Failed, ending).await?;
        ended.push(job.spec.id);
    }
    let has_silent = signs.stop_silent_jobs(tx).await? > 0;
    tx.note_delete_ended().await?;
    // A runner that already waits in a claim must be signalled.
    let is_claimable = tx.run_has_next().await?;
    tx.agent_token_delete_expired(now - TOKEN_RETENTION).await?;
    // Last, because other transactions skip the jobs locked here until this one commits.
    let assigned = placing.assign(tx).await?;
    if is_revoked {
        tx.policy_bump_revision().await?;
    }
    Ok(SweepOutcome { ended, is_claimable, assigned, has_silent })
}

/// Describes why a queued job will not start: the node that has its workspace is drained, has no sandboxes or has been
/// offline for too long.
async fn describe_stranding(tx: &mut Tx, job: &Job) -> Result<String, NodeError> {
    let node = match job.spec.pinned_node {
        Some(pinned) => tx.node_get(pinned).await?,
        None => None,
    };
    let Some(node) = node else { return Ok("its node no longer exists".to_owned()) };
    let trouble = match node.status {
        NodeStatus::Drained => "is drained",
        NodeStatus::Registered | NodeStatus::Active | NodeStatus::Inactive
            if !node.sandbox_supported =>
        {
            "can no longer run sandboxes"
        }
        NodeStatus::Registered | NodeStatus::Active | NodeStatus::Inactive => {
            "has been offline for ten minutes"
        }
    };
    Ok(format!("node {}, which has the workspace of the task, {trouble}", node.slug))
}

/// Ends a job; returns whether agent tokens were revoked with it.
async fn expire_job(
    tx: &mut Tx,
    job: &Job,
    status: JobStatus,
    ending: JobEnding,
) -> Result<bool, NodeError> {
    let status = job.status.advance(status)?;
    let empty = String::new();
    let result = JobResult {
        ending: ending.clone(),
        stdout: empty.clone(),
        stderr: empty,
        truncated: Truncated::default(),
    };
    Ok(close_job(tx, job, status, Some(&json!(result)), &ending).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_renewed_where_half_a_lease_passed_without_a_sweep() {
        let (last, lease_ms) = (DateTime::UNIX_EPOCH, 60_000);
        let is_away_after =
            |seconds| was_interrupted(Some(last), last + Duration::from_secs(seconds), lease_ms);

        assert!(was_interrupted(None, last, lease_ms));
        assert!(!is_away_after(1) && !is_away_after(30));
        assert!(is_away_after(32));
        // A clock that was set back is ignored.
        assert!(!was_interrupted(Some(last + Duration::from_hours(1)), last, lease_ms));
    }
}
