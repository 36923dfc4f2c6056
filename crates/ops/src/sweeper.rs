//! The reconciler: what the clock changes, nobody else does.
//!
//! [`Sweeper::activate`] compares what should be with what is; it may run at any time, any number
//! of times, in any number of processes.

use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_domain::job::Ending;
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{Job, JobStore, NodeStore, Store, Tx};
use cynode_wire::jobs::{JobResult, Truncated};
use serde_json::json;
use tracing::{info, warn};

use crate::nodes::{JOB_LEASE_MS, NODE_SILENCE_MS, NodeError, announce_end, assign_open_jobs};
use crate::signals::Topic;
use crate::{Accounts, Signals};

const INTERVAL: Duration = Duration::from_secs(1);
/// How long a step waits for the one node that has its workspace.
const PINNED_PATIENCE: chrono::Duration = chrono::Duration::minutes(10);

/// Ends what has run out of time, and wakes who waits for it.
#[derive(Clone)]
pub struct Sweeper {
    store: Store,
    signals: Signals,
    accounts: Accounts,
    clock: cynode_runtime::clock::SharedClock,
}

impl Sweeper {
    /// A sweeper over `store`.
    pub fn new(
        store: Store,
        signals: Signals,
        accounts: Accounts,
        clock: cynode_runtime::clock::SharedClock,
    ) -> Self {
        Self { store, signals, accounts, clock }
    }

    /// Sweeps until the process stops. While it was away nobody could renew, so running jobs get
    /// a fresh lease first.
    pub async fn run(self, shutdown: Shutdown) {
        let renewed = self
            .store
            .write(|tx| {
                Box::pin(async move { Ok::<_, NodeError>(tx.job_renew_all(JOB_LEASE_MS).await?) })
            })
            .await;
        if let Err(error) = renewed {
            warn!(error = &error as &dyn std::error::Error, "job leases were not renewed");
        }
        loop {
            tokio::select! {
                () = shutdown.triggered() => return,
                () = tokio::time::sleep(INTERVAL) => {}
            }
            if let Err(error) = self.activate().await {
                warn!(error = &error as &dyn std::error::Error, "a sweep failed");
            }
        }
    }

    /// One sweep.
    pub async fn activate(&self) -> Result<(), NodeError> {
        let now = self.clock.now();
        let ended =
            self.store.write(move |tx| Box::pin(async move { sweep(tx, now).await })).await?;
        for job in &ended {
            info!(job.id = %job, "job {job} was ended by the clock");
        }
        if !ended.is_empty() {
            self.signals.send(Topic::Results);
        }
        // An expired lease makes its run claimable, and only the clock knows.
        self.signals.send(Topic::Runs);
        self.accounts.forget_old_attempts();
        Ok(())
    }
}

async fn sweep(tx: &mut Tx, now: chrono::DateTime<chrono::Utc>) -> Result<Vec<JobId>, NodeError> {
    let retired = tx.node_retire_silent(NODE_SILENCE_MS).await?;
    if retired > 0 {
        tx.job_unassign_silent(NODE_SILENCE_MS).await?;
    }
    assign_open_jobs(tx).await?;
    let mut ended = vec![];
    for job in tx.job_expired().await? {
        let reason = "its node stopped reporting; whether it finished is unknown".to_owned();
        end(tx, &job, JobStatus::LeaseExpired, Ending::Interrupted { reason }).await?;
        ended.push(job.asked.id);
    }
    for job in tx.job_unassigned(100).await? {
        if let Some(reason) = hopeless(tx, &job, now).await? {
            end(tx, &job, JobStatus::Failed, Ending::NotStarted { reason }).await?;
            ended.push(job.asked.id);
        }
    }
    Ok(ended)
}

/// Why a waiting job will not start: the node that has its workspace has been away for too long.
async fn hopeless(
    tx: &mut Tx,
    job: &Job,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<Option<String>, NodeError> {
    let (Some(pinned), true) = (job.asked.pinned_node, now - job.created_at > PINNED_PATIENCE)
    else {
        return Ok(None);
    };
    let node = tx.node_get(pinned).await?;
    Ok(node.filter(|node| node.status != NodeStatus::Active).map(|node| {
        format!("node {}, which has the task's workspace, has been away for ten minutes", node.slug)
    }))
}

async fn end(tx: &mut Tx, job: &Job, status: JobStatus, ending: Ending) -> Result<(), NodeError> {
    let status = job.status.advance(status)?;
    let empty = String::new();
    let result = JobResult {
        ending: ending.clone(),
        stdout: empty.clone(),
        stderr: empty,
        truncated: Truncated::default(),
    };
    if tx.job_close(job.asked.id, status, Some(&json!(result))).await? {
        announce_end(tx, job, status, &ending).await?;
    }
    Ok(())
}
