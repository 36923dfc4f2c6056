//! Transitions of a run from node to node: the data to write, and the statements for both engines.
//!
//! A transition is a batch write: see [`crate::Store::transition`]. PostgreSQL runs it as one statement
//! ([`super::transition_sql`]); the statements here are for SQLite.

use std::sync::Arc;

use cynode_domain::ids::{JobId, RunId, TaskId};
pub use cynode_domain::lease::LeaseToken;
use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_domain::verification::VerificationStatus;
use cynode_workflow_state::changes::StateRecord;
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::transition_sql;
use crate::batch::{BatchStatements, BatchWrite, ReturnedRow, one_item};
use crate::{Effect, Error, Store, Tx};
use cynode_sql::{Param, params};

/// One transition to write.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionWrite {
    pub lease: LeaseToken,
    /// Its number: one more than that of the checkpoint.
    pub sequence: i64,
    pub node: String,
    pub edge: String,
    /// The step and the job it concerns.
    pub subject: (Option<u32>, Option<JobId>),
    /// The state after it, or its changes.
    pub record: StateRecord,
    pub duration_ms: i64,
    /// The lease is extended by this if a third of it has passed; never if absent.
    pub lease_ms: Option<u32>,
    pub event: EventPayload,
    /// Set if the transition ends the run.
    pub close: Option<RunClosure>,
}

/// The kind and data of an event of the task.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPayload {
    /// The kind, such as `workflow.transition`.
    pub kind: &'static str,
    /// Details, depending on the kind.
    pub data: Value,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunClosure {
    /// The final status of the task.
    pub task: TaskStatus,
    /// The final status of the run.
    pub run: RunStatus,
    /// For people.
    pub summary: String,
    /// For a completed task.
    pub verification: Option<VerificationStatus>,
    pub event: EventPayload,
}

/// The outcome of a transition that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransitionOutcome {
    /// Whether a pause was requested: the runner suspends the run.
    pub is_paused: bool,
    /// Whether other tasks depend on the task, which has ended: see [`crate::Tx::runs_unblock`].
    pub is_awaited: bool,
    /// Whether a third of the lease has passed and the lease was not extended.
    pub is_lease_due: bool,
}

/// An effect to journal under a lease.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectWrite {
    /// The lease under which the effect happened.
    pub lease: LeaseToken,
    pub effect: Effect,
}

/// A lease to extend.
struct LeaseExtension {
    lease: LeaseToken,
    lease_ms: u32,
}

impl Store {
    /// Writes a transition as [`Tx::run_transition`] does, sharing its commit with concurrent callers, and extends
    /// the lease if it is due. `None` may also mean that another transaction has locked the task:
    /// [`Store::write`] waits for it.
    pub async fn transition(
        &self,
        write: Arc<TransitionWrite>,
    ) -> Result<Option<TransitionOutcome>, Error> {
        let (lease, lease_ms) = (write.lease, write.lease_ms);
        let moved = match self.batch(write).await {
            // A lock was not free in time, or the statement failed: the slow path reports why.
            Err(Error::Statement(_) | Error::Duplicate { .. }) => return Ok(None),
            moved => moved?,
        };
        if let (Some(TransitionOutcome { is_lease_due: true, .. }), Some(lease_ms)) =
            (moved, lease_ms)
        {
            self.batch(LeaseExtension { lease, lease_ms }).await?;
        }
        Ok(moved)
    }
}

impl BatchWrite for TransitionWrite {
    type Output = Option<TransitionOutcome>;

    fn statements(&self) -> Result<BatchStatements, Error> {
        BatchStatements::item(transition_sql::sql(self), transition_sql::params(self)?)
    }

    fn output(&self, returned: ReturnedRow) -> Result<Option<TransitionOutcome>, Error> {
        returned.0.as_ref().map(transition_sql::outcome).transpose()
    }

    fn run<'a>(
        &'a self,
        tx: &'a mut Tx,
    ) -> BoxFuture<'a, Result<Option<TransitionOutcome>, Error>> {
        Box::pin(tx.run_transition(self))
    }
}

impl BatchWrite for LeaseExtension {
    type Output = ();

    fn statements(&self) -> Result<BatchStatements, Error> {
        let LeaseToken { task_id: task, lease_id: lease, epoch } = self.lease;
        let params = params![task, lease, epoch, self.lease_ms].to_vec();
        BatchStatements::item(transition_sql::EXTEND, params)
    }

    fn output(&self, _: ReturnedRow) -> Result<(), Error> {
        Ok(())
    }

    fn run<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(extend_lease(tx, self.lease, self.lease_ms))
    }
}

impl BatchWrite for EffectWrite {
    /// False if the lease is not in force, or the key exists.
    type Output = bool;

    fn statements(&self) -> Result<BatchStatements, Error> {
        let (LeaseToken { task_id: task, lease_id: lease, epoch }, effect) =
            (self.lease, &self.effect);
        let params = params![task, lease, epoch, &effect.key, &effect.answer].to_vec();
        BatchStatements::item(transition_sql::JOURNAL, params)
    }

    fn output(&self, returned: ReturnedRow) -> Result<bool, Error> {
        Ok(returned.0.is_some())
    }

    fn run<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(tx.effect_journal(self.lease, &self.effect))
    }
}

/// Writes under a lease.
impl Tx {
    /// Writes the transition, its event and the end of the run, if the lease is in force and the newest grant,
    /// and the checkpoint is at the previous transition; otherwise writes nothing and returns `None`.
    pub async fn run_transition(
        &mut self,
        write: &TransitionWrite,
    ) -> Result<Option<TransitionOutcome>, Error> {
        if !self.is_sqlite() {
            let params = one_item(transition_sql::params(write)?);
            let row = self.row(transition_sql::sql(write), &params).await?;
            return row.as_ref().map(transition_sql::outcome).transpose();
        }
        if write.close.is_some() {
            let sql = "SELECT 1 AS one FROM tasks
                       WHERE id = $1 AND NOT closed AND status = 'running'";
            if self.row(sql, params![write.lease.task_id]).await?.is_none() {
                return Ok(None);
            }
        }
        let Some((run, is_paused)) = advance_checkpoint(self, write).await? else {
            return Ok(None);
        };
        history_insert(self, run, write).await?;
        append_event(self, run, write.lease.task_id, &write.event, write.subject.1).await?;
        if let Some(close) = &write.close {
            return close_run(self, run, write, close).await.map(Some);
        }
        if let Some(lease_ms) = write.lease_ms {
            extend_lease(self, write.lease, lease_ms).await?;
        }
        Ok(Some(TransitionOutcome { is_paused, is_awaited: false, is_lease_due: false }))
    }

    /// Assigns the checkpoint to the current holder of the lease, which an older program may have granted.
    pub async fn checkpoint_adopt(&mut self, lease: LeaseToken, run: RunId) -> Result<(), Error> {
        let sql = "INSERT INTO workflow_checkpoints AS c
                   (id, task_id, run_id, state, last_node_id, edge, sequence, base_sequence, epoch,
                    updated_at)
                   VALUES ($1, $2, $3, '{}', '', '', 0, 0, $4, cynode_now())
                   ON CONFLICT (task_id) DO UPDATE SET epoch = excluded.epoch,
                       run_id = excluded.run_id,
                       sequence = CASE WHEN c.run_id = excluded.run_id THEN c.sequence ELSE 0 END,
                       base_sequence = CASE WHEN c.run_id = excluded.run_id
                           THEN c.base_sequence ELSE 0 END,
                       state = CASE WHEN c.run_id = excluded.run_id
                           THEN c.state ELSE excluded.state END";
        let params = params![uuid::Uuid::now_v7(), lease.task_id, run, lease.epoch];
        self.execute(sql, params).await.map(drop)
    }

    /// Journals an effect if the lease is in force; returns false if it is not, or the key exists.
    async fn effect_journal(&mut self, lease: LeaseToken, effect: &Effect) -> Result<bool, Error> {
        let sql = "INSERT INTO workflow_effects (run_id, key, sequence, answer, recorded_at)
                   SELECT c.run_id, $4, c.sequence + 1, $5, cynode_now()
                   FROM workflow_checkpoints c JOIN task_workflow_leases l ON l.task_id = c.task_id
                   WHERE c.task_id = $1 AND c.epoch = $3 AND l.lease_id = $2 AND l.epoch = $3
                   AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
                   ON CONFLICT DO NOTHING";
        let params =
            params![lease.task_id, lease.lease_id, lease.epoch, &effect.key, &effect.answer];
        Ok(self.execute(sql, params).await? == 1)
    }
}

/// Advances the checkpoint; returns its run, and whether a pause was requested.
async fn advance_checkpoint(
    tx: &mut Tx,
    write: &TransitionWrite,
) -> Result<Option<(RunId, bool)>, Error> {
    let sql = "UPDATE workflow_checkpoints SET last_node_id = $5, edge = $6, sequence = $4,
               state = CASE WHEN $7 IS NULL THEN state ELSE 'null' END,
               base_sequence = CASE WHEN $7 IS NULL THEN base_sequence ELSE $4 END,
               updated_at = cynode_now()
               WHERE task_id = $1 AND epoch = $3 AND sequence + 1 = $4
               AND EXISTS (SELECT 1 FROM task_workflow_leases l
                   WHERE l.task_id = $1 AND l.lease_id = $2 AND l.epoch = $3
                   AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now())
               RETURNING run_id,
                   EXISTS (SELECT 1 FROM tasks WHERE id = $1 AND paused_at IS NOT NULL) AS is_paused";
    let LeaseToken { task_id: task, lease_id: lease, epoch } = write.lease;
    let (state, _) = record_columns(&write.record)?;
    let params = params![task, lease, epoch, write.sequence, &write.node, &write.edge, state];
    match tx.row(sql, params).await? {
        Some(row) => Ok(Some((row.id("run_id")?, row.get("is_paused")?))),
        None => Ok(None),
    }
}

async fn history_insert(tx: &mut Tx, run: RunId, write: &TransitionWrite) -> Result<(), Error> {
    let sql = "INSERT INTO workflow_history
               (run_id, sequence, task_id, node_id, edge, step_index, job_id, state, changes,
                epoch, duration_ms, recorded_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, cynode_now())";
    let (state, changes) = record_columns(&write.record)?;
    let (step_index, job) = write.subject;
    let params = params![
        run,
        write.sequence,
        write.lease.task_id,
        &write.node,
        &write.edge,
        step_index,
        job,
        state,
        changes,
        write.lease.epoch,
        write.duration_ms,
    ];
    tx.execute(sql, params).await.map(drop)
}

async fn append_event(
    tx: &mut Tx,
    run: RunId,
    task: TaskId,
    event: &EventPayload,
    job: Option<JobId>,
) -> Result<(), Error> {
    let sql = "INSERT INTO events
               (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
               SELECT $2, created_by, project_id, id, $3, $4, $5, cynode_now()
               FROM tasks WHERE id = $1";
    let params = params![task, event.kind, run, job, &event.data];
    tx.execute(sql, params).await.map(drop)
}

async fn extend_lease(tx: &mut Tx, lease: LeaseToken, lease_ms: u32) -> Result<(), Error> {
    let sql = "UPDATE task_workflow_leases
               SET expires_at = cynode_after($3), updated_at = cynode_now()
               WHERE task_id = $1 AND epoch = $2 AND expires_at < cynode_after($4)";
    let LeaseToken { task_id: task, epoch, .. } = lease;
    let due = i64::from(lease_ms) * 2 / 3;
    tx.execute(sql, params![task, epoch, lease_ms, due]).await.map(drop)
}

async fn close_run(
    tx: &mut Tx,
    run: RunId,
    write: &TransitionWrite,
    close: &RunClosure,
) -> Result<TransitionOutcome, Error> {
    let LeaseToken { task_id: task, lease_id: lease, epoch } = write.lease;
    tx.lease_release(task, lease, epoch).await?;
    tx.task_set_status(task, close.task, Some(&close.summary)).await?;
    if let Some(verification) = close.verification {
        let sql = "UPDATE tasks SET verification = $2 WHERE id = $1";
        tx.execute(sql, params![task, verification.as_str()]).await?;
    }
    tx.run_set_status(run, close.run).await?;
    append_event(tx, run, task, &close.event, None).await?;
    let sql = "SELECT 1 AS one FROM task_dependencies WHERE depends_on_task_id = $1 LIMIT 1";
    let is_awaited = tx.row(sql, params![task]).await?.is_some();
    Ok(TransitionOutcome { is_paused: false, is_awaited, is_lease_due: false })
}

/// A record as the columns `state` and `changes` hold it.
fn record_columns(record: &StateRecord) -> Result<(Param, Param), Error> {
    Ok(match record {
        StateRecord::Full(state) => (Param::from(state), Param::Null),
        StateRecord::Changes(changes) => {
            let changes = serde_json::to_value(changes)
                .map_err(|error| Error::unreadable("changes", error.to_string()))?;
            (Param::Null, Param::Json(changes))
        }
    })
}
