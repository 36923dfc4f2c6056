//! The reconciler: what the clock changes, nobody else does.
//!
//! [`Sweeper::activate`] compares what should be with what is; it may run at any time, any number
//! of times, in any number of processes.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;
use cynode_domain::job::Ending;
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_runtime::clock::SharedClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{
    AgentTokenStore, Job, JobStore, MemoryStore, NodeStore, QuarantineStore, SettingStore, Store,
    Tx, WorkflowStore,
};
use cynode_wire::jobs::{JobResult, Truncated};
use serde_json::json;
use tracing::{info, warn};

use crate::nodes::{Assigned, NODE_SILENCE_MS, NodeError, Placer, Placing, close_job, take_back};
use crate::runs::expire;
use crate::signals::Topic;
use crate::{Accounts, Signals};

const INTERVAL: Duration = Duration::from_secs(1);
/// What a sweep may take without anybody having been away.
const SLOW_SWEEP: Duration = Duration::from_secs(5);
/// How many sweeps are between two looks at all runs that wait.
const UNBLOCK_EVERY: u32 = 30;
/// How many jobs one sweep ends because their node is not there.
const BATCH: u32 = 100;
/// How long a step waits for the one node that has its workspace. Its runner waits as long: nothing
/// else ends the wait for a job that has not begun.
const PINNED_PATIENCE: chrono::Duration = chrono::Duration::minutes(10);
/// How long it can be asked whose token one was that has ended.
const TOKENS_KEPT: chrono::Duration = chrono::Duration::days(30);

/// Ends what has run out of time, and wakes who waits for it.
#[derive(Clone)]
pub struct Sweeper {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    accounts: Accounts,
    placer: Placer,
}

impl Sweeper {
    /// A sweeper over `store`.
    pub fn new(store: Store, signals: Signals, accounts: Accounts, clock: SharedClock) -> Self {
        let placer = Placer::by_rule((store.clone(), clock.clone(), signals.clone()));
        Self { store, clock, signals, accounts, placer }
    }

    /// The same sweeper, with jobs placed by `placer`.
    #[must_use]
    pub fn placed_by(self, placer: Placer) -> Self {
        Self { placer, ..self }
    }

    /// Sweeps until the process stops. While it, or the database, was away nobody could renew, so
    /// running jobs get a fresh lease of `job_lease_ms` before the first sweep after that.
    pub async fn run(self, job_lease_ms: u32, shutdown: Shutdown) {
        tokio::join!(
            self.sweep_on(job_lease_ms, shutdown.clone()),
            self.signals.share(&self.store, shutdown)
        );
    }

    async fn sweep_on(&self, job_lease_ms: u32, shutdown: Shutdown) {
        let mut last = None;
        for sweep in 1_u32.. {
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            match self.sweep_after(last, job_lease_ms).await {
                Ok(()) => last = Some(self.clock.now()),
                Err(error) => {
                    warn!(error = &error as &dyn std::error::Error, "a sweep failed");
                }
            }
            if sweep % UNBLOCK_EVERY == 0 {
                if let Err(error) = self.unblock().await {
                    let error = &error as &dyn std::error::Error;
                    warn!(error, "waiting runs were not looked at");
                }
                if let Err(error) = self.recheck_quarantine().await {
                    let error = &error as &dyn std::error::Error;
                    warn!(error, "quarantined rows not rechecked");
                }
            }
        }
    }

    /// One sweep, where the last one that succeeded was then.
    async fn sweep_after(
        &self,
        last: Option<DateTime<Utc>>,
        job_lease_ms: u32,
    ) -> Result<(), NodeError> {
        if was_away(last, self.clock.now(), job_lease_ms) {
            self.store
                .write(move |tx| {
                    Box::pin(
                        async move { Ok::<_, NodeError>(tx.job_renew_all(job_lease_ms).await?) },
                    )
                })
                .await?;
        }
        self.activate().await
    }

    /// Lets go of runs that wait for tasks which have completed. Who completes the last of them does
    /// that at once, unless it dies right after.
    async fn unblock(&self) -> Result<(), NodeError> {
        let freed = self
            .store
            .write_alone(|tx| {
                Box::pin(async move { Ok::<_, NodeError>(tx.runs_unblock(None).await?) })
            })
            .await?;
        if freed > 0 {
            self.signals.send(Topic::Runs);
        }
        Ok(())
    }

    /// Releases quarantined rows that were repaired or deleted, and wakes those who wait for them; how
    /// many there were.
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

    /// One sweep.
    pub async fn activate(&self) -> Result<(), NodeError> {
        let placing = self.placer.placing();
        let Swept { ended, is_claimable, assigned } =
            self.store.write(move |tx| Box::pin(async move { sweep(tx, placing).await })).await?;
        self.placer.ask(assigned.asked);
        if assigned.has_news {
            self.signals.send(Topic::Jobs);
        }
        for job in &ended {
            info!(job.id = %job, "job {job} was ended by the clock");
        }
        if !ended.is_empty() {
            self.signals.send(Topic::Results);
            self.signals.send(Topic::Policy);
        }
        // An expired lease makes its run claimable, and only the clock knows. So does a question that
        // nobody answered in time.
        let unanswered = expire(&self.store).await?;
        if is_claimable || unanswered > 0 {
            self.signals.send(Topic::Runs);
        }
        self.accounts.forget_old_attempts();
        Ok(())
    }
}

/// What a sweep found.
struct Swept {
    /// The jobs it ended.
    ended: Vec<JobId>,
    /// Whether a run waits for a runner.
    is_claimable: bool,
    /// What came of placing jobs.
    assigned: Assigned,
}

/// Whether so much time has passed since the last sweep that leases may be over which nobody could
/// renew: this process was suspended, its machine asleep, or the database away. A waiting node's poll
/// renews them every third of their time.
fn was_away(last: Option<DateTime<Utc>>, now: DateTime<Utc>, job_lease_ms: u32) -> bool {
    let lease = Duration::from_millis(job_lease_ms.into());
    last.is_none_or(|last| {
        (now - last).to_std().is_ok_and(|passed| passed > INTERVAL + SLOW_SWEEP.max(lease / 2))
    })
}

async fn sweep(tx: &mut Tx, placing: Placing) -> Result<Swept, NodeError> {
    let now = placing.now;
    tx.node_retire_silent(NODE_SILENCE_MS).await?;
    // Also when none was retired just now: a job may have been assigned at the last moment.
    take_back(tx).await?;
    let (mut ended, mut is_revoked) = (vec![], false);
    for job in tx.job_expired().await? {
        let reason = "its node stopped reporting; whether it finished is unknown".to_owned();
        let ending = Ending::Interrupted { reason };
        is_revoked |= end(tx, &job, JobStatus::LeaseExpired, ending).await?;
        ended.push(job.asked.id);
    }
    for job in tx.job_stranded(now - PINNED_PATIENCE, BATCH).await? {
        let ending = Ending::NotStarted { reason: stranded(tx, &job).await? };
        is_revoked |= end(tx, &job, JobStatus::Failed, ending).await?;
        ended.push(job.asked.id);
    }
    tx.note_forget_ended().await?;
    // A runner that asks meanwhile is not told that there is nothing to do.
    let is_claimable = tx.run_is_next().await?;
    tx.agent_token_forget(now - TOKENS_KEPT).await?;
    // Late, because others pass over jobs that are looked at here until this is committed.
    let assigned = placing.assign(tx).await?;
    if is_revoked {
        tx.policy_touch().await?;
    }
    Ok(Swept { ended, is_claimable, assigned })
}

/// Why a waiting job will not start: the node that has its workspace has been drained, without
/// sandboxes or away for too long.
async fn stranded(tx: &mut Tx, job: &Job) -> Result<String, NodeError> {
    let node = match job.asked.pinned_node {
        Some(pinned) => tx.node_get(pinned).await?,
        None => None,
    };
    let Some(node) = node else { return Ok("its node is gone".to_owned()) };
    let trouble = match node.status {
        NodeStatus::Drained => "takes no more work",
        NodeStatus::Registered | NodeStatus::Active | NodeStatus::Inactive
            if !node.sandbox_supported =>
        {
            "can no longer run sandboxes"
        }
        NodeStatus::Registered | NodeStatus::Active | NodeStatus::Inactive => {
            "has been away for ten minutes"
        }
    };
    Ok(format!("node {}, where the task's work belongs, {trouble}", node.slug))
}

/// Ends a job; whether tokens of its agents ended with it.
async fn end(tx: &mut Tx, job: &Job, status: JobStatus, ending: Ending) -> Result<bool, NodeError> {
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
            |seconds| was_away(Some(last), last + Duration::from_secs(seconds), lease_ms);

        assert!(was_away(None, last, lease_ms));
        assert!(!is_away_after(1) && !is_away_after(30));
        assert!(is_away_after(32));
        // A clock that was set back says nothing.
        assert!(!was_away(Some(last + Duration::from_hours(1)), last, lease_ms));
    }
}
