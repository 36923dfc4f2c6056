//! One move in one statement: what a run costs that has the server to itself.
//!
//! A statement over many moves begins with so many parts that a single move costs it twice what it costs
//! here. This one waits for whoever has locked the row, for as long as the lane's connection lets
//! it; as it holds nothing else meanwhile, nobody can wait for it in turn.

use cynode_domain::ids::JobId;
use cynode_domain::verification::VerificationStatus;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::text;
use crate::Error;
use crate::workflow::moves::Move;

/// A move as the values of its statement.
pub(super) struct Values<'a> {
    wanted: &'a Move,
    task: Uuid,
    lease: Uuid,
    step_index: Option<i64>,
    job: Option<Uuid>,
    state: Option<String>,
    changes: Option<String>,
    lease_ms: Option<i64>,
    data: String,
    end: Option<[String; 6]>,
}

impl<'a> Values<'a> {
    pub(super) fn of(wanted: &'a Move) -> Result<Self, Error> {
        let (state, changes) = text(&wanted.record)?;
        let end = wanted.close.as_ref().map(|close| {
            [
                close.task.as_str().to_owned(),
                close.run.as_str().to_owned(),
                close.summary.clone(),
                close.event.kind.to_owned(),
                close.event.data.to_string(),
                close.verification.map_or("", VerificationStatus::as_str).to_owned(),
            ]
        });
        Ok(Self {
            wanted,
            task: wanted.held.task.as_uuid(),
            lease: wanted.held.lease.as_uuid(),
            step_index: wanted.subject.0.map(i64::from),
            job: wanted.subject.1.map(JobId::as_uuid),
            state,
            changes,
            lease_ms: wanted.lease_ms.map(i64::from),
            data: wanted.event.data.to_string(),
            end,
        })
    }

    /// The statement they are for.
    pub(super) fn sql(&self) -> &'static str {
        if self.end.is_some() { CLOSING } else { PLAIN }
    }

    pub(super) fn params(&self) -> Vec<&(dyn ToSql + Sync)> {
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![
            &self.task,
            &self.lease,
            &self.wanted.held.epoch,
            &self.wanted.sequence,
            &self.wanted.node,
            &self.wanted.edge,
            &self.step_index,
            &self.job,
            &self.state,
            &self.changes,
            &self.wanted.duration_ms,
            &self.wanted.event.kind,
            &self.data,
        ];
        match &self.end {
            Some(end) => params.extend(end.iter().map(|value| value as &(dyn ToSql + Sync))),
            None => params.push(&self.lease_ms),
        }
        params
    }
}

/// Moves the checkpoint of a task that is at hand as `t`, if its lease allows.
macro_rules! moved {
    ($source:literal, $returned:literal) => {
        concat!(
            "moved AS (
                UPDATE workflow_checkpoints c SET last_node_id = $5, edge = $6, sequence = $4,
                    state = CASE WHEN $9::text IS NULL THEN c.state ELSE 'null' END,
                    base_sequence = CASE WHEN $9::text IS NULL THEN c.base_sequence ELSE $4 END,
                    updated_at = cynode_now()
                FROM ",
            $source,
            " t, task_workflow_leases l
                WHERE t.id = $1 AND c.task_id = $1 AND l.task_id = $1
                AND c.epoch = $3 AND c.sequence + 1 = $4 AND l.lease_id = $2 AND l.epoch = $3
                AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
                RETURNING c.run_id, t.created_by, t.project_id",
            $returned,
            "
            ), remembered AS (
                INSERT INTO workflow_history (run_id, sequence, task_id, node_id, edge, step_index,
                    job_id, state, changes, epoch, duration_ms, recorded_at)
                SELECT run_id, $4, $1, $5, $6, $7::bigint, $8::uuid, $9::text::json,
                    $10::text::json, $3, $11::bigint, cynode_now() FROM moved
            )"
        )
    };
}

/// A move that ends no run.
const PLAIN: &str = concat!(
    "WITH ",
    moved!(
        "tasks",
        ", t.paused_at IS NOT NULL AS is_paused,
            coalesce(l.expires_at < cynode_after($14::bigint * 2 / 3), false) AS is_due"
    ),
    ", told AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT $12::text, created_by, project_id, $1, run_id, $8::uuid, $13::text::json,
            cynode_now() FROM moved
    )
    SELECT is_due, is_paused, false AS is_awaited FROM moved"
);

/// A move that ends its run: task, run and lease end with it. The task is locked first, as by
/// everybody who locks more than one row.
const CLOSING: &str = concat!(
    "WITH open AS MATERIALIZED (
        SELECT id, created_by, project_id FROM tasks WHERE id = $1 AND status = 'running'
        FOR NO KEY UPDATE SKIP LOCKED
    ), ",
    moved!("open", ""),
    ", closed_task AS (
        UPDATE tasks t SET status = $14::text, closed = true, summary = $16::text,
            verification = nullif($19::text, ''), updated_at = cynode_now(), ended_at = cynode_now()
        FROM moved WHERE t.id = $1
    ), freed AS (
        UPDATE task_workflow_leases l SET holder_id = NULL, expires_at = NULL,
            updated_at = cynode_now()
        FROM moved WHERE l.task_id = $1
    ), closed_run AS (
        UPDATE runs u SET status = $15::text, runnable = false, ended_at = cynode_now()
        FROM moved m WHERE u.id = m.run_id AND u.runnable
    ), told AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT e.kind, m.created_by, m.project_id, $1, m.run_id, e.job_id, e.data::json,
            cynode_now()
        FROM moved m, (VALUES ($12::text, $8::uuid, $13::text), ($17::text, NULL, $18::text))
            AS e(kind, job_id, data)
    )
    SELECT false AS is_due, false AS is_paused, EXISTS (
        SELECT 1 FROM task_dependencies d WHERE d.depends_on_task_id = $1) AS is_awaited
    FROM moved"
);
