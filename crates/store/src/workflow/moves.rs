//! Moving a run from node to node: what is written, and the statements that both engines know.
//!
//! On PostgreSQL [`super::lane`] writes many moves with one statement; these here are its slow twin,
//! for a caller that has locked the task and looked into why the fast way did not take its move.

use async_trait::async_trait;
use cynode_domain::changes::StateRecord;
use cynode_domain::ids::{JobId, LeaseId, RunId, TaskId};
use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_domain::verification::VerificationStatus;
use serde_json::Value;

use crate::param::{Param, params};
use crate::{Effect, Error, LeaseStore, TaskStore, Tx, WorkflowStore};

/// Who says that it may move a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The task.
    pub task: TaskId,
    /// The lease.
    pub lease: LeaseId,
    /// Its epoch.
    pub epoch: i64,
}

/// One step of a run from node to node, on its way in.
#[derive(Debug, Clone, PartialEq)]
pub struct Move {
    /// By whom.
    pub held: Held,
    /// Its number: one more than the checkpoint's.
    pub sequence: i64,
    /// The node that completed.
    pub node: String,
    /// The edge taken out of it.
    pub edge: String,
    /// The step and the job it was about.
    pub subject: (Option<u32>, Option<JobId>),
    /// The state after it.
    pub record: StateRecord,
    /// How long the node took.
    pub duration_ms: i64,
    /// For how long the lease is extended if a third of that is over; not at all when absent.
    pub lease_ms: Option<u32>,
    /// The event that tells of it.
    pub event: Told,
    /// How the run ends with it.
    pub close: Option<Close>,
}

/// An event of the task that moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// What, such as `workflow.transition`.
    pub kind: &'static str,
    /// Details, by kind.
    pub data: Value,
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Close {
    /// What becomes of the task.
    pub task: TaskStatus,
    /// What becomes of the run.
    pub run: RunStatus,
    /// What came of it, for people.
    pub summary: String,
    /// What was verified of a completed task.
    pub verification: Option<VerificationStatus>,
    /// The event that tells of it.
    pub event: Told,
}

/// A move that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Whether somebody asked the run to pause: its runner puts it down now.
    pub is_paused: bool,
    /// Whether other tasks wait for the task, which has ended: [`WorkflowStore::runs_unblock`].
    pub is_awaited: bool,
}

/// Moving runs under a lease.
#[async_trait]
pub trait MoveStore {
    /// Writes the move, its event and its end, if the lease is in force, is the newest grant, and
    /// the checkpoint stands right before it; nothing otherwise.
    async fn run_move(&mut self, wanted: &Move) -> Result<Option<Moved>, Error>;
    /// Lets the present holder of the lease move the checkpoint, which may have been granted by an
    /// older program.
    async fn position_open(&mut self, held: Held, run: RunId) -> Result<(), Error>;
    /// Remembers an effect if the lease is in force; false if it is not, or the key is known.
    async fn effect_journal(&mut self, held: Held, effect: &Effect) -> Result<bool, Error>;
}

#[async_trait]
impl MoveStore for Tx {
    async fn run_move(&mut self, wanted: &Move) -> Result<Option<Moved>, Error> {
        if wanted.close.is_some() {
            let sql = "SELECT 1 AS one FROM tasks
                       WHERE id = $1 AND NOT closed AND status = 'running'";
            if self.row(sql, params![wanted.held.task]).await?.is_none() {
                return Ok(None);
            }
        }
        let Some((run, is_paused)) = advance(self, wanted).await? else {
            return Ok(None);
        };
        history_insert(self, run, wanted).await?;
        tell(self, run, wanted.held.task, (&wanted.event, wanted.subject.1)).await?;
        if let Some(close) = &wanted.close {
            return end(self, run, wanted, close).await.map(Some);
        }
        extend(self, wanted).await?;
        Ok(Some(Moved { is_paused, is_awaited: false }))
    }

    async fn position_open(&mut self, held: Held, run: RunId) -> Result<(), Error> {
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
        let params = params![uuid::Uuid::now_v7(), held.task, run, held.epoch];
        self.execute(sql, params).await.map(drop)
    }

    async fn effect_journal(&mut self, held: Held, effect: &Effect) -> Result<bool, Error> {
        // The checkpoint is locked: who is granted the task next waits, and then sees the effect.
        let sql = "INSERT INTO workflow_effects (run_id, key, sequence, answer, recorded_at)
                   SELECT c.run_id, $4, c.sequence + 1, $5, cynode_now()
                   FROM workflow_checkpoints c JOIN task_workflow_leases l ON l.task_id = c.task_id
                   WHERE c.task_id = $1 AND c.epoch = $3 AND l.lease_id = $2 AND l.epoch = $3
                   AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
                   /*pg FOR NO KEY UPDATE OF c */ ON CONFLICT DO NOTHING";
        let params = params![held.task, held.lease, held.epoch, &effect.key, &effect.answer];
        Ok(self.execute(sql, params).await? == 1)
    }
}

/// Moves the checkpoint; gives its run, and whether that is asked to pause.
async fn advance(tx: &mut Tx, wanted: &Move) -> Result<Option<(RunId, bool)>, Error> {
    let sql = "UPDATE workflow_checkpoints SET last_node_id = $5, edge = $6, sequence = $4,
               state = CASE WHEN $7 /*pg ::json */ IS NULL THEN state ELSE 'null' END,
               base_sequence = CASE WHEN $7 /*pg ::json */ IS NULL THEN base_sequence ELSE $4 END,
               updated_at = cynode_now()
               WHERE task_id = $1 AND epoch = $3 AND sequence + 1 = $4
               AND EXISTS (SELECT 1 FROM task_workflow_leases l
                   WHERE l.task_id = $1 AND l.lease_id = $2 AND l.epoch = $3
                   AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now())
               RETURNING run_id,
                   EXISTS (SELECT 1 FROM tasks WHERE id = $1 AND paused_at IS NOT NULL) AS is_paused";
    let Held { task, lease, epoch } = wanted.held;
    let (state, _) = columns(&wanted.record)?;
    let params = params![task, lease, epoch, wanted.sequence, &wanted.node, &wanted.edge, state];
    match tx.row(sql, params).await? {
        Some(row) => Ok(Some((row.id("run_id")?, row.get("is_paused")?))),
        None => Ok(None),
    }
}

async fn history_insert(tx: &mut Tx, run: RunId, wanted: &Move) -> Result<(), Error> {
    let sql = "INSERT INTO workflow_history
               (run_id, sequence, task_id, node_id, edge, step_index, job_id, state, changes,
                epoch, duration_ms, recorded_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, cynode_now())";
    let (state, changes) = columns(&wanted.record)?;
    let (step_index, job) = wanted.subject;
    let params = params![
        run,
        wanted.sequence,
        wanted.held.task,
        &wanted.node,
        &wanted.edge,
        step_index,
        job,
        state,
        changes,
        wanted.held.epoch,
        wanted.duration_ms,
    ];
    tx.execute(sql, params).await.map(drop)
}

async fn tell(
    tx: &mut Tx,
    run: RunId,
    task: TaskId,
    (event, job): (&Told, Option<JobId>),
) -> Result<(), Error> {
    let sql = "INSERT INTO events
               (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
               SELECT $2, created_by, project_id, id, $3, $4, $5, cynode_now()
               FROM tasks WHERE id = $1";
    let params = params![task, event.kind, run, job, &event.data];
    tx.execute(sql, params).await.map(drop)
}

async fn extend(tx: &mut Tx, wanted: &Move) -> Result<(), Error> {
    let Some(lease_ms) = wanted.lease_ms else {
        return Ok(());
    };
    let sql = "UPDATE task_workflow_leases
               SET expires_at = cynode_after($3), updated_at = cynode_now()
               WHERE task_id = $1 AND epoch = $2 AND expires_at < cynode_after($4)";
    let Held { task, epoch, .. } = wanted.held;
    let due = i64::from(lease_ms) * 2 / 3;
    tx.execute(sql, params![task, epoch, lease_ms, due]).await.map(drop)
}

async fn end(tx: &mut Tx, run: RunId, wanted: &Move, close: &Close) -> Result<Moved, Error> {
    let Held { task, lease, epoch } = wanted.held;
    tx.lease_release(task, lease, epoch).await?;
    tx.task_set_status(task, close.task, Some(&close.summary)).await?;
    if let Some(verification) = close.verification {
        let sql = "UPDATE tasks SET verification = $2 WHERE id = $1";
        tx.execute(sql, params![task, verification.as_str()]).await?;
    }
    tx.run_set_status(run, close.run).await?;
    tell(tx, run, task, (&close.event, None)).await?;
    let sql = "SELECT 1 AS one FROM task_dependencies WHERE depends_on_task_id = $1 LIMIT 1";
    Ok(Moved { is_paused: false, is_awaited: tx.row(sql, params![task]).await?.is_some() })
}

/// A record as the columns `state` and `changes` hold it.
fn columns(record: &StateRecord) -> Result<(Param, Param), Error> {
    Ok(match record {
        StateRecord::Whole(state) => (Param::from(state), Param::Null),
        StateRecord::Changes(changes) => {
            let changes = serde_json::to_value(changes)
                .map_err(|error| Error::unreadable("changes", error.to_string()))?;
            (Param::Null, Param::Json(changes))
        }
    })
}
