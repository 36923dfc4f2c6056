//! The checkpoint protocol on PostgreSQL: one statement for each transition.
//!
//! The statement waits for no lock on a checkpoint or a task: a row that another transaction has locked is skipped,
//! so no two batches, and no batch and a cancellation, can wait for each other. A transaction does not skip the rows
//! that it has locked itself. SQLite runs the same protocol as separate statements: see [`super::transitions`].

use cynode_domain::changes::StateRecord;
use cynode_domain::verification::VerificationStatus;

use super::transitions::{TransitionOutcome, TransitionWrite};
use crate::Error;
use crate::column::Row;
use crate::param::Param;

/// The statement of a transition.
pub(super) fn sql(wanted: &TransitionWrite) -> &'static str {
    if wanted.close.is_some() { CLOSING } else { PLAIN }
}

/// The values of [`sql`].
pub(super) fn params(wanted: &TransitionWrite) -> Result<Vec<Param>, Error> {
    let (state, changes) = record_text(&wanted.record)?;
    let (step_index, job) = wanted.subject;
    let mut params = vec![
        wanted.held.task.into(),
        wanted.held.lease.into(),
        wanted.held.epoch.into(),
        wanted.sequence.into(),
        Param::from(&wanted.node),
        Param::from(&wanted.edge),
        step_index.into(),
        job.into(),
        state,
        changes,
        wanted.duration_ms.into(),
        Param::from(wanted.event.kind),
        Param::from(wanted.event.data.to_string()),
    ];
    match &wanted.close {
        Some(close) => params.extend([
            Param::from(close.task.as_str()),
            Param::from(close.run.as_str()),
            Param::from(&close.summary),
            Param::from(close.event.kind),
            Param::from(close.event.data.to_string()),
            Param::from(close.verification.map_or("", VerificationStatus::as_str)),
        ]),
        None => params.push(wanted.lease_ms.into()),
    }
    Ok(params)
}

/// The outcome of a transition that was written.
pub(super) fn outcome(row: &Row) -> Result<TransitionOutcome, Error> {
    Ok(TransitionOutcome {
        is_paused: row.get("is_paused")?,
        is_awaited: row.get("is_awaited")?,
        is_lease_due: row.get("is_due")?,
    })
}

/// A record as text for the columns `state` and `changes`.
fn record_text(record: &StateRecord) -> Result<(Param, Param), Error> {
    match record {
        StateRecord::Full(state) => Ok((Param::from(state.to_string()), Param::Null)),
        StateRecord::Changes(changes) => {
            let text = serde_json::to_string(changes);
            let fault = |error: serde_json::Error| Error::unreadable("changes", error.to_string());
            Ok((Param::Null, Param::from(text.map_err(fault)?)))
        }
    }
}

/// Locks the checkpoint if the lease is in force and the transition is the next one, and writes it.
macro_rules! held {
    ($tasks:literal, $columns:literal) => {
        concat!(
            "held AS MATERIALIZED (
                SELECT c.run_id, t.created_by, t.project_id",
            $columns,
            " FROM ",
            $tasks,
            " t, workflow_checkpoints c, task_workflow_leases l
                WHERE t.id = $1 AND c.task_id = $1 AND l.task_id = $1
                AND c.epoch = $3 AND c.sequence + 1 = $4 AND l.lease_id = $2 AND l.epoch = $3
                AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
                FOR NO KEY UPDATE OF c SKIP LOCKED
            ), checkpoint AS (
                UPDATE workflow_checkpoints c SET last_node_id = $5, edge = $6, sequence = $4,
                    state = CASE WHEN $9::text IS NULL THEN c.state ELSE 'null' END,
                    base_sequence = CASE WHEN $9::text IS NULL THEN c.base_sequence ELSE $4 END,
                    updated_at = cynode_now()
                FROM held WHERE c.task_id = $1
            ), history AS (
                INSERT INTO workflow_history (run_id, sequence, task_id, node_id, edge, step_index,
                    job_id, state, changes, epoch, duration_ms, recorded_at)
                SELECT run_id, $4, $1, $5, $6, $7::bigint, $8::uuid, $9::text::json,
                    $10::text::json, $3, $11::bigint, cynode_now() FROM held
            )"
        )
    };
}

/// A transition that ends no run.
const PLAIN: &str = concat!(
    "WITH ",
    held!(
        "tasks",
        ", t.paused_at IS NOT NULL AS is_paused,
            coalesce(l.expires_at < cynode_after($14::bigint * 2 / 3), false) AS is_due"
    ),
    ", event AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT $12::text, created_by, project_id, $1, run_id, $8::uuid, $13::text::json,
            cynode_now() FROM held
    )
    SELECT is_due, is_paused, false AS is_awaited FROM held"
);

/// A transition that ends its run, its task and its lease. The task is locked first, in the order of every
/// transaction that locks more than one row.
const CLOSING: &str = concat!(
    "WITH open AS MATERIALIZED (
        SELECT id, created_by, project_id FROM tasks WHERE id = $1 AND status = 'running'
        FOR NO KEY UPDATE SKIP LOCKED
    ), ",
    held!("open", ""),
    ", closed_task AS (
        UPDATE tasks t SET status = $14::text, closed = true, summary = $16::text,
            verification = nullif($19::text, ''), updated_at = cynode_now(), ended_at = cynode_now()
        FROM held WHERE t.id = $1
    ), released_lease AS (
        UPDATE task_workflow_leases l SET holder_id = NULL, expires_at = NULL,
            updated_at = cynode_now()
        FROM held WHERE l.task_id = $1
    ), closed_run AS (
        UPDATE runs r SET status = $15::text, runnable = false, ended_at = cynode_now()
        FROM held h WHERE r.id = h.run_id AND r.runnable
    ), event AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT e.kind, h.created_by, h.project_id, $1, h.run_id, e.job_id, e.data::json,
            cynode_now()
        FROM held h, (VALUES ($12::text, $8::uuid, $13::text), ($17::text, NULL, $18::text))
            AS e(kind, job_id, data)
    )
    SELECT false AS is_due, false AS is_paused, EXISTS (
        SELECT 1 FROM task_dependencies d WHERE d.depends_on_task_id = $1) AS is_awaited
    FROM held"
);

/// Extends a lease. A transaction that has locked the lease extends it, or ends it.
pub(super) const EXTEND: &str = "WITH due AS MATERIALIZED (
        SELECT id FROM task_workflow_leases WHERE task_id = $1 AND lease_id = $2
        AND epoch = $3 AND holder_id IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE task_workflow_leases l SET expires_at = cynode_after($4),
        updated_at = cynode_now() FROM due d WHERE l.id = d.id";

/// Journals an effect if the lease is in force. The checkpoint is locked: the next holder waits, and then sees it.
pub(super) const JOURNAL: &str =
    "INSERT INTO workflow_effects (run_id, key, sequence, answer, recorded_at)
     SELECT c.run_id, $4, c.sequence + 1, $5, cynode_now()
     FROM workflow_checkpoints c JOIN task_workflow_leases l ON l.task_id = c.task_id
     WHERE c.task_id = $1 AND c.epoch = $3 AND l.lease_id = $2 AND l.epoch = $3
     AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
     FOR NO KEY UPDATE OF c SKIP LOCKED ON CONFLICT DO NOTHING RETURNING 1 AS one";
