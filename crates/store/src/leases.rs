//! Leases: which runner may drive a task, until when, and in which epoch.
//!
//! All times are those of the database. Invariant: at any instant a task has at most one unexpired lease, and
//! every grant has a higher epoch than all earlier ones.

use cynode_domain::ids::{HolderId, LeaseId, RunId, TaskId};
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, LeaseToken, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// The right to drive a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub task: TaskId,
    pub run: RunId,
    pub id: LeaseId,
    /// Incremented by every grant.
    pub epoch: i64,
    /// `None` if the lease is free.
    pub holder: Option<HolderId>,
    /// Whether it has not expired.
    pub is_live: bool,
}

/// What a workflow node waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseWait {
    /// The workflow node.
    pub node: String,
    /// A description for people.
    pub reason: String,
}

/// The presented lease is not, or no longer, in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease is no longer in force: stop driving this task")]
pub struct StaleLease;

/// The leases of a runner.
impl Tx {
    /// Ends all leases of a runner that has stopped; returns their number. Requests of the runner that are
    /// still in flight are rejected.
    pub async fn lease_release_holder(&mut self, holder: HolderId) -> Result<u64, Error> {
        // Via the open runs, which are few, and not via all leases ever granted.
        let sql = "UPDATE task_workflow_leases
                   SET holder_id = NULL, expires_at = NULL, updated_at = cynode_now()
                   WHERE holder_id = $1 AND task_id IN (
                       SELECT task_id FROM runs WHERE runnable AND waits_for IS NULL)";
        self.execute(sql, params![holder]).await
    }
}

pub(crate) const LEASE: &str = "SELECT task_id, run_id, lease_id, epoch, holder_id,
    coalesce(expires_at > cynode_now(), 1 = 0) AS is_live FROM task_workflow_leases";

impl Tx {
    /// Returns the task's lease, whatever its holder.
    pub async fn lease_get(&mut self, task: TaskId) -> Result<Option<Lease>, Error> {
        let sql = format!("{LEASE} WHERE task_id = $1");
        self.one(&tables::LEASES, &sql, params![task], lease).await
    }

    /// Grants the lease unless there is a live one; `None` otherwise.
    pub async fn lease_grant(
        &mut self,
        task: TaskId,
        run: RunId,
        holder: HolderId,
        lifetime_ms: u32,
    ) -> Result<Option<Lease>, Error> {
        let sql = "INSERT INTO task_workflow_leases AS l
                   (id, task_id, run_id, lease_id, holder_id, epoch, expires_at, created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, 1, cynode_after($6), cynode_now(), cynode_now())
                   ON CONFLICT (task_id) DO UPDATE SET run_id = excluded.run_id,
                       lease_id = excluded.lease_id, holder_id = excluded.holder_id,
                       epoch = l.epoch + 1, expires_at = excluded.expires_at,
                       updated_at = excluded.updated_at
                   WHERE l.holder_id IS NULL OR l.expires_at <= cynode_now()
                   RETURNING epoch";
        let id = LeaseId::generate();
        let params = params![Uuid::now_v7(), task, run, id, holder, lifetime_ms];
        let Some(row) = self.row(sql, params).await? else {
            return Ok(None);
        };
        let epoch = row.get("epoch")?;
        self.checkpoint_adopt(LeaseToken { task_id: task, lease_id: id, epoch }, run).await?;
        Ok(Some(Lease { task, run, id, epoch, holder: Some(holder), is_live: true }))
    }

    /// Returns the lease if `id` and `epoch` are in force; locked until the transaction ends.
    pub async fn lease_check(
        &mut self,
        task: TaskId,
        id: LeaseId,
        epoch: i64,
    ) -> Result<Result<Lease, StaleLease>, Error> {
        let sql = format!(
            "{LEASE} WHERE task_id = $1 AND lease_id = $2 AND epoch = $3
             AND holder_id IS NOT NULL AND expires_at > cynode_now() /*pg FOR UPDATE */"
        );
        let found = self.one(&tables::LEASES, &sql, params![task, id, epoch], lease).await?;
        Ok(found.ok_or(StaleLease))
    }

    pub async fn lease_renew(
        &mut self,
        lease: &Lease,
        lifetime_ms: u32,
    ) -> Result<Result<(), StaleLease>, Error> {
        let sql = "UPDATE task_workflow_leases
                   SET expires_at = cynode_after($4), updated_at = cynode_now()
                   WHERE task_id = $1 AND lease_id = $2 AND epoch = $3
                   AND holder_id IS NOT NULL AND expires_at > cynode_now()";
        let params = params![lease.task, lease.id, lease.epoch, lifetime_ms];
        let renewed = self.execute(sql, params).await? == 1;
        Ok(if renewed { Ok(()) } else { Err(StaleLease) })
    }

    /// Records what the holder's workflow node waits for, for people.
    pub async fn lease_set_wait(
        &mut self,
        lease: &Lease,
        waiting: &LeaseWait,
    ) -> Result<(), Error> {
        let sql = "UPDATE task_workflow_leases SET waiting_node = $4, waiting_for = $5
                   WHERE task_id = $1 AND lease_id = $2 AND epoch = $3";
        let (node, what) = (&waiting.node, &waiting.reason);
        self.execute(sql, params![lease.task, lease.id, lease.epoch, node, what]).await.map(drop)
    }

    /// Returns what the holder of a live lease last reported to wait for.
    pub async fn lease_get_wait(&mut self, task: TaskId) -> Result<Option<LeaseWait>, Error> {
        let sql = "SELECT waiting_node, waiting_for FROM task_workflow_leases
                   WHERE task_id = $1 AND holder_id IS NOT NULL AND expires_at > cynode_now()
                   AND waiting_node IS NOT NULL";
        let row = self.row(sql, params![task]).await?;
        let waiting = |row: Row| {
            Ok(LeaseWait { node: row.get("waiting_node")?, reason: row.get("waiting_for")? })
        };
        row.map(waiting).transpose()
    }

    /// Releases a lease. No effect if the caller does not hold it.
    pub async fn lease_release(
        &mut self,
        task: TaskId,
        id: LeaseId,
        epoch: i64,
    ) -> Result<(), Error> {
        let sql = "UPDATE task_workflow_leases
                   SET holder_id = NULL, expires_at = NULL, updated_at = cynode_now()
                   WHERE task_id = $1 AND lease_id = $2 AND epoch = $3";
        self.execute(sql, params![task, id, epoch]).await.map(drop)
    }

    /// Revokes the lease: the next write of its holder is rejected.
    pub async fn lease_fence(&mut self, task: TaskId) -> Result<(), Error> {
        let sql = "UPDATE task_workflow_leases SET holder_id = NULL, expires_at = NULL,
                   epoch = epoch + 1, updated_at = cynode_now() WHERE task_id = $1";
        self.execute(sql, params![task]).await?;
        let sql = "UPDATE workflow_checkpoints SET epoch = epoch + 1 WHERE task_id = $1";
        self.execute(sql, params![task]).await.map(drop)
    }
}

pub(crate) fn lease(row: &Row) -> Result<Lease, Error> {
    Ok(Lease {
        task: row.id("task_id")?,
        run: row.id("run_id")?,
        id: row.id("lease_id")?,
        epoch: row.get("epoch")?,
        holder: row.id_opt("holder_id")?,
        is_live: row.get("is_live")?,
    })
}
