//! Many moves in one statement.
//!
//! The statement waits for nobody: a row that somebody else has locked is passed over. So no two
//! batches, and no batch and a cancellation, can wait for each other.

use cynode_domain::ids::JobId;
use cynode_domain::verification::VerificationStatus;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::text;
use crate::Error;
use crate::workflow::moves::{Close, Move};

/// A batch, column by column.
#[derive(Default)]
pub(super) struct Columns {
    task: Vec<Uuid>,
    lease: Vec<Uuid>,
    epoch: Vec<i64>,
    sequence: Vec<i64>,
    node: Vec<String>,
    edge: Vec<String>,
    step_index: Vec<Option<i64>>,
    job: Vec<Option<Uuid>>,
    state: Vec<Option<String>>,
    changes: Vec<Option<String>>,
    duration_ms: Vec<i64>,
    lease_ms: Vec<Option<i64>>,
    kind: Vec<String>,
    data: Vec<String>,
    closing: Closing,
}

/// What only the end of a run has.
#[derive(Default)]
struct Closing {
    task_status: Vec<Option<String>>,
    run_status: Vec<Option<String>>,
    summary: Vec<Option<String>>,
    verification: Vec<Option<&'static str>>,
    kind: Vec<Option<String>>,
    data: Vec<Option<String>>,
}

impl Columns {
    pub(super) fn of(moves: &[&Move]) -> Result<Self, Error> {
        let mut all = Self::default();
        for wanted in moves {
            all.push(wanted)?;
        }
        Ok(all)
    }

    fn push(&mut self, wanted: &Move) -> Result<(), Error> {
        self.task.push(wanted.held.task.as_uuid());
        self.lease.push(wanted.held.lease.as_uuid());
        self.epoch.push(wanted.held.epoch);
        self.sequence.push(wanted.sequence);
        self.node.push(wanted.node.clone());
        self.edge.push(wanted.edge.clone());
        self.step_index.push(wanted.subject.0.map(i64::from));
        self.job.push(wanted.subject.1.map(JobId::as_uuid));
        let (state, changes) = text(&wanted.record)?;
        self.state.push(state);
        self.changes.push(changes);
        self.duration_ms.push(wanted.duration_ms);
        self.lease_ms.push(wanted.lease_ms.map(i64::from));
        self.kind.push(wanted.event.kind.to_owned());
        self.data.push(wanted.event.data.to_string());
        self.closing.push(wanted.close.as_ref());
        Ok(())
    }

    pub(super) fn params(&self, is_closing: bool) -> Vec<&(dyn ToSql + Sync)> {
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![
            &self.task,
            &self.lease,
            &self.epoch,
            &self.sequence,
            &self.node,
            &self.edge,
            &self.step_index,
            &self.job,
            &self.state,
            &self.changes,
            &self.duration_ms,
            &self.lease_ms,
            &self.kind,
            &self.data,
        ];
        if is_closing {
            let Closing { task_status, run_status, summary, kind, data, verification } =
                &self.closing;
            params.push(task_status);
            params.push(run_status);
            params.push(summary);
            params.push(kind);
            params.push(data);
            params.push(verification);
        }
        params
    }
}

impl Closing {
    fn push(&mut self, close: Option<&Close>) {
        self.task_status.push(close.map(|close| close.task.as_str().to_owned()));
        self.run_status.push(close.map(|close| close.run.as_str().to_owned()));
        self.summary.push(close.map(|close| close.summary.clone()));
        self.kind.push(close.map(|close| close.event.kind.to_owned()));
        self.data.push(close.map(|close| close.event.data.to_string()));
        let verification = close.and_then(|close| close.verification);
        self.verification.push(verification.map(VerificationStatus::as_str));
    }
}

/// The moves as a table, and those of them that may be made, with their checkpoints locked.
macro_rules! given {
    ($name:literal, $closing_params:literal, $closing_columns:literal, $not_closing:literal) => {
        concat!(
            "WITH given AS MATERIALIZED (
                SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[],
                    $5::text[], $6::text[], $7::bigint[], $8::uuid[], $9::text[], $10::text[],
                    $11::bigint[], $12::bigint[], $13::text[], $14::text[]",
            $closing_params,
            ") AS g(task_id, lease_id, epoch, sequence, node_id, edge, step_index, job_id, state,
                    changes, duration_ms, lease_ms, kind, data",
            $closing_columns,
            ")
            ), ",
            $name,
            " AS MATERIALIZED (
                SELECT g.*, c.run_id, t.created_by, t.project_id,
                    t.paused_at IS NOT NULL AS is_paused,
                    coalesce(l.expires_at < cynode_after(g.lease_ms * 2 / 3)",
            $not_closing,
            ", false) AS is_due
                FROM given g
                JOIN workflow_checkpoints c ON c.task_id = g.task_id
                JOIN task_workflow_leases l ON l.task_id = g.task_id
                JOIN tasks t ON t.id = g.task_id
                WHERE c.epoch = g.epoch AND c.sequence + 1 = g.sequence
                AND l.lease_id = g.lease_id AND l.epoch = g.epoch
                AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
                FOR NO KEY UPDATE OF c SKIP LOCKED
            )"
        )
    };
}

/// What every move writes, out of `ready`.
macro_rules! moved {
    () => {
        ", moved AS (
            UPDATE workflow_checkpoints c SET last_node_id = r.node_id, edge = r.edge,
                sequence = r.sequence,
                state = CASE WHEN r.state IS NULL THEN c.state ELSE 'null' END,
                base_sequence = CASE WHEN r.state IS NULL THEN c.base_sequence
                    ELSE r.sequence END,
                updated_at = cynode_now()
            FROM ready r WHERE c.task_id = r.task_id
        ), remembered AS (
            INSERT INTO workflow_history (run_id, sequence, task_id, node_id, edge, step_index,
                job_id, state, changes, epoch, duration_ms, recorded_at)
            SELECT run_id, sequence, task_id, node_id, edge, step_index, job_id, state::json,
                changes::json, epoch, duration_ms, cynode_now() FROM ready
        )"
    };
}

/// Moves that end no run.
pub(super) const PLAIN: &str = concat!(
    given!("ready", "", "", ""),
    moved!(),
    ", told AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT kind, created_by, project_id, task_id, run_id, job_id, data::json, cynode_now()
        FROM ready
    )
    SELECT task_id, is_due, is_paused, false AS is_awaited FROM ready"
);

/// Moves of which some end their run: task, run and lease end with it.
pub(super) const CLOSING: &str = concat!(
    given!(
        "held",
        ", $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[]",
        ", task_status, run_status, summary, end_kind, end_data, verification",
        " AND g.task_status IS NULL"
    ),
    ", closing AS MATERIALIZED (
        SELECT t.id FROM held h JOIN tasks t ON t.id = h.task_id
        WHERE h.task_status IS NOT NULL AND t.status = 'running'
        FOR NO KEY UPDATE OF t SKIP LOCKED
    ), ready AS MATERIALIZED (
        SELECT * FROM held h
        WHERE h.task_status IS NULL OR h.task_id IN (SELECT id FROM closing)
    )",
    moved!(),
    ", closed_tasks AS (
        UPDATE tasks t SET status = r.task_status, closed = true, summary = r.summary,
            verification = r.verification, updated_at = cynode_now(), ended_at = cynode_now()
        FROM ready r WHERE t.id = r.task_id AND r.task_status IS NOT NULL
    ), closed_runs AS (
        UPDATE runs u SET status = r.run_status, runnable = false, ended_at = cynode_now()
        FROM ready r WHERE u.id = r.run_id AND r.task_status IS NOT NULL AND u.runnable
    ), freed AS (
        UPDATE task_workflow_leases l SET holder_id = NULL, expires_at = NULL,
            updated_at = cynode_now()
        FROM ready r WHERE l.task_id = r.task_id AND r.task_status IS NOT NULL
    ), told AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT kind, created_by, project_id, task_id, run_id, job_id, data::json, cynode_now()
        FROM (
            SELECT 1 AS place, kind, created_by, project_id, task_id, run_id, job_id, data
            FROM ready
            UNION ALL
            SELECT 2, end_kind, created_by, project_id, task_id, run_id, NULL, end_data
            FROM ready WHERE task_status IS NOT NULL
        ) AS both_events ORDER BY place
    )
    SELECT task_id, is_due, is_paused AND task_status IS NULL AS is_paused,
        EXISTS (SELECT 1 FROM task_dependencies d
        WHERE d.depends_on_task_id = ready.task_id AND ready.task_status IS NOT NULL) AS is_awaited
    FROM ready"
);
