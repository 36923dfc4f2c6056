//! Leases: who may drive a task, until when, and in which epoch.
//!
//! All times are the database's. Invariant: at any instant at most one unexpired lease exists
//! per task, and every grant has a higher epoch than all before it.

use async_trait::async_trait;
use cynode_domain::ids::{HolderId, LeaseId, RunId, TaskId};
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Held, MoveStore, Tx};

/// The right to drive a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The task.
    pub task: TaskId,
    /// The run it is for.
    pub run: RunId,
    /// The grant.
    pub id: LeaseId,
    /// Grows with every grant.
    pub epoch: i64,
    /// The runner; absent when free.
    pub holder: Option<HolderId>,
    /// Whether its time is not over.
    pub is_live: bool,
}

/// What a node of a run waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The node.
    pub node: String,
    /// What for, in words.
    pub what: String,
}

/// The lease presented is not, or no longer, the one in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the lease is no longer in force: stop driving this task")]
pub struct Fenced;

/// Who may drive a task.
#[async_trait]
pub trait LeaseStore {
    /// The task's lease, whoever holds it.
    async fn lease_get(&mut self, task: TaskId) -> Result<Option<Lease>, Error>;
    /// Grants the lease if nobody holds a live one; nothing otherwise.
    async fn lease_grant(
        &mut self,
        task: TaskId,
        run: RunId,
        holder: HolderId,
        lifetime_ms: u32,
    ) -> Result<Option<Lease>, Error>;
    /// The lease, if `id` and `epoch` are in force; locked until the transaction ends.
    async fn lease_check(
        &mut self,
        task: TaskId,
        id: LeaseId,
        epoch: i64,
    ) -> Result<Result<Lease, Fenced>, Error>;
    /// Extends a lease in force.
    async fn lease_renew(
        &mut self,
        lease: &Lease,
        lifetime_ms: u32,
    ) -> Result<Result<(), Fenced>, Error>;
    /// Notes what the holder's node waits for, for people.
    async fn lease_note(&mut self, lease: &Lease, waiting: &Waiting) -> Result<(), Error>;
    /// What the holder of a live lease said last.
    async fn lease_waiting(&mut self, task: TaskId) -> Result<Option<Waiting>, Error>;
    /// Gives a lease up. Giving up a lease one does not hold changes nothing.
    async fn lease_release(&mut self, task: TaskId, id: LeaseId, epoch: i64) -> Result<(), Error>;
    /// Takes the lease away from whoever holds it: their next write is refused.
    async fn lease_fence(&mut self, task: TaskId) -> Result<(), Error>;
}

/// What becomes of the leases of a runner.
#[async_trait]
pub trait HolderStore {
    /// Ends all leases of a runner that has ended; how many there were. Its last requests, which may
    /// still be under way, are refused from then on.
    async fn holder_gone(&mut self, holder: HolderId) -> Result<u64, Error>;
}

#[async_trait]
impl HolderStore for Tx {
    async fn holder_gone(&mut self, holder: HolderId) -> Result<u64, Error> {
        // By the runs that are open, which are few, and not by all leases there ever were.
        let sql = "UPDATE task_workflow_leases
                   SET holder_id = NULL, expires_at = NULL, updated_at = cynode_now()
                   WHERE holder_id = $1 AND task_id IN (
                       SELECT task_id FROM runs WHERE runnable AND waits_for IS NULL)";
        self.execute(sql, params![holder]).await
    }
}

pub(crate) const LEASE: &str = "SELECT task_id, run_id, lease_id, epoch, holder_id,
    coalesce(expires_at > cynode_now(), 1 = 0) AS is_live FROM task_workflow_leases";

#[async_trait]
impl LeaseStore for Tx {
    async fn lease_get(&mut self, task: TaskId) -> Result<Option<Lease>, Error> {
        let sql = format!("{LEASE} WHERE task_id = $1");
        self.one(&tables::LEASES, &sql, params![task], lease).await
    }

    async fn lease_grant(
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
        self.position_open(Held { task, lease: id, epoch }, run).await?;
        Ok(Some(Lease { task, run, id, epoch, holder: Some(holder), is_live: true }))
    }

    async fn lease_check(
        &mut self,
        task: TaskId,
        id: LeaseId,
        epoch: i64,
    ) -> Result<Result<Lease, Fenced>, Error> {
        let sql = format!(
            "{LEASE} WHERE task_id = $1 AND lease_id = $2 AND epoch = $3
             AND holder_id IS NOT NULL AND expires_at > cynode_now() /*pg FOR UPDATE */"
        );
        let found = self.one(&tables::LEASES, &sql, params![task, id, epoch], lease).await?;
        Ok(found.ok_or(Fenced))
    }

    async fn lease_renew(
        &mut self,
        lease: &Lease,
        lifetime_ms: u32,
    ) -> Result<Result<(), Fenced>, Error> {
        let sql = "UPDATE task_workflow_leases
                   SET expires_at = cynode_after($4), updated_at = cynode_now()
                   WHERE task_id = $1 AND lease_id = $2 AND epoch = $3
                   AND holder_id IS NOT NULL AND expires_at > cynode_now()";
        let params = params![lease.task, lease.id, lease.epoch, lifetime_ms];
        let renewed = self.execute(sql, params).await? == 1;
        Ok(if renewed { Ok(()) } else { Err(Fenced) })
    }

    async fn lease_note(&mut self, lease: &Lease, waiting: &Waiting) -> Result<(), Error> {
        let sql = "UPDATE task_workflow_leases SET waiting_node = $4, waiting_for = $5
                   WHERE task_id = $1 AND lease_id = $2 AND epoch = $3";
        let (node, what) = (&waiting.node, &waiting.what);
        self.execute(sql, params![lease.task, lease.id, lease.epoch, node, what]).await.map(drop)
    }

    async fn lease_waiting(&mut self, task: TaskId) -> Result<Option<Waiting>, Error> {
        let sql = "SELECT waiting_node, waiting_for FROM task_workflow_leases
                   WHERE task_id = $1 AND holder_id IS NOT NULL AND expires_at > cynode_now()
                   AND waiting_node IS NOT NULL";
        let row = self.row(sql, params![task]).await?;
        let waiting = |row: Row| {
            Ok(Waiting { node: row.get("waiting_node")?, what: row.get("waiting_for")? })
        };
        row.map(waiting).transpose()
    }

    async fn lease_release(&mut self, task: TaskId, id: LeaseId, epoch: i64) -> Result<(), Error> {
        let sql = "UPDATE task_workflow_leases
                   SET holder_id = NULL, expires_at = NULL, updated_at = cynode_now()
                   WHERE task_id = $1 AND lease_id = $2 AND epoch = $3";
        self.execute(sql, params![task, id, epoch]).await.map(drop)
    }

    async fn lease_fence(&mut self, task: TaskId) -> Result<(), Error> {
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
