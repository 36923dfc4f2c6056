//! The checkpoint protocol on PostgreSQL: one statement for any number of transitions.
//!
//! Parameters are arrays with one value for each transition. The statement waits for no lock on a checkpoint or a
//! task: a row that another transaction has locked is skipped, so no two batches, and no batch and a cancellation,
//! can wait for each other. A transaction does not skip the rows that it has locked itself. SQLite runs the same
//! protocol as separate statements: see [`super::transitions`].

use cynode_domain::verification::VerificationStatus;
use cynode_workflow_state::changes::StateRecord;

use super::transitions::{TransitionOutcome, TransitionWrite};
use crate::Error;
use cynode_sql::Param;
use cynode_sql::Row;

/// The statement of a transition.
pub(super) fn sql(write: &TransitionWrite) -> &'static str {
    if write.close.is_some() { CLOSING } else { PLAIN }
}

/// The values of one transition in [`sql`].
pub(super) fn params(write: &TransitionWrite) -> Result<Vec<Param>, Error> {
    let (state, changes) = record_text(&write.record)?;
    let (step_index, job) = write.subject;
    let mut params = vec![
        write.lease.task_id.into(),
        write.lease.lease_id.into(),
        write.lease.epoch.into(),
        write.sequence.into(),
        Param::from(&write.node),
        Param::from(&write.edge),
        step_index.into(),
        job.into(),
        state,
        changes,
        write.duration_ms.into(),
        Param::from(write.event.kind),
        Param::from(write.event.data.to_string()),
    ];
    match &write.close {
        Some(close) => params.extend([
            Param::from(close.task.as_str()),
            Param::from(close.run.as_str()),
            Param::from(&close.summary),
            Param::from(close.event.kind),
            Param::from(close.event.data.to_string()),
            Param::from(close.verification.map_or("", VerificationStatus::as_str)),
        ]),
        None => params.push(write.lease_ms.into()),
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

/// The transitions as a table; the parameters of one that ends its run follow those of every transition.
macro_rules! given {
    ($arrays:literal, $columns:literal) => {
        concat!(
            "WITH given AS MATERIALIZED (
                SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[],
                    $5::text[], $6::text[], $7::bigint[], $8::uuid[], $9::text[], $10::text[],
                    $11::bigint[], $12::text[], $13::text[], ",
            $arrays,
            ") WITH ORDINALITY AS g(task_id, lease_id, epoch, sequence, node_id, edge, step_index,
                    job_id, state, changes, duration_ms, kind, data, ",
            $columns,
            ", item)
            ), "
        )
    };
}

/// Locks each checkpoint if its lease is in force and the transition is the next one, and writes it.
macro_rules! held {
    ($tasks:literal, $columns:literal) => {
        concat!(
            "held AS MATERIALIZED (
                SELECT g.*, c.run_id, t.created_by, t.project_id",
            $columns,
            " FROM given g JOIN ",
            $tasks,
            " t ON t.id = g.task_id
                JOIN workflow_checkpoints c ON c.task_id = g.task_id
                JOIN task_workflow_leases l ON l.task_id = g.task_id
                WHERE c.epoch = g.epoch AND c.sequence + 1 = g.sequence
                AND l.lease_id = g.lease_id AND l.epoch = g.epoch
                AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
                FOR NO KEY UPDATE OF c SKIP LOCKED
            ), checkpoint AS (
                UPDATE workflow_checkpoints c SET last_node_id = h.node_id, edge = h.edge,
                    sequence = h.sequence,
                    state = CASE WHEN h.state IS NULL THEN c.state ELSE 'null' END,
                    base_sequence = CASE WHEN h.state IS NULL THEN c.base_sequence
                        ELSE h.sequence END,
                    updated_at = cynode_now()
                FROM held h WHERE c.task_id = h.task_id
            ), history AS (
                INSERT INTO workflow_history (run_id, sequence, task_id, node_id, edge, step_index,
                    job_id, state, changes, epoch, duration_ms, recorded_at)
                SELECT run_id, sequence, task_id, node_id, edge, step_index, job_id, state::json,
                    changes::json, epoch, duration_ms, cynode_now() FROM held
            )"
        )
    };
}

/// Transitions that end no run.
const PLAIN: &str = concat!(
    given!("$14::bigint[]", "lease_ms"),
    held!(
        "tasks",
        ", t.paused_at IS NOT NULL AS is_paused,
            coalesce(l.expires_at < cynode_after(g.lease_ms * 2 / 3), false) AS is_due"
    ),
    ", event AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT kind, created_by, project_id, task_id, run_id, job_id, data::json, cynode_now()
        FROM held
    )
    SELECT item, is_due, is_paused, false AS is_awaited FROM held"
);

/// Transitions that end their run, their task and their lease. The tasks are locked first, in the order of every
/// transaction that locks more than one row.
const CLOSING: &str = concat!(
    given!(
        "$14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[]",
        "task_status, run_status, summary, end_kind, end_data, verification"
    ),
    "open AS MATERIALIZED (
        SELECT t.id, t.created_by, t.project_id FROM given g JOIN tasks t ON t.id = g.task_id
        WHERE t.status = 'running' FOR NO KEY UPDATE OF t SKIP LOCKED
    ), ",
    held!("open", ""),
    ", closed_task AS (
        UPDATE tasks t SET status = h.task_status, closed = true, summary = h.summary,
            verification = nullif(h.verification, ''), updated_at = cynode_now(),
            ended_at = cynode_now()
        FROM held h WHERE t.id = h.task_id
    ), released_lease AS (
        UPDATE task_workflow_leases l SET holder_id = NULL, expires_at = NULL,
            updated_at = cynode_now()
        FROM held h WHERE l.task_id = h.task_id
    ), closed_run AS (
        UPDATE runs r SET status = h.run_status, runnable = false, ended_at = cynode_now()
        FROM held h WHERE r.id = h.run_id AND r.runnable
    ), event AS (
        INSERT INTO events (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
        SELECT e.kind, h.created_by, h.project_id, h.task_id, h.run_id, e.job_id, e.data::json,
            cynode_now()
        FROM held h CROSS JOIN LATERAL (
            VALUES (h.kind, h.job_id, h.data), (h.end_kind, NULL, h.end_data)
        ) AS e(kind, job_id, data)
    )
    SELECT item, false AS is_due, false AS is_paused, EXISTS (
        SELECT 1 FROM task_dependencies d WHERE d.depends_on_task_id = held.task_id) AS is_awaited
    FROM held"
);

/// Extends leases. A transaction that has locked a lease extends it, or ends it.
pub(super) const EXTEND: &str = "WITH due AS MATERIALIZED (
        SELECT l.id, g.lease_ms FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[])
            AS g(task_id, lease_id, epoch, lease_ms)
        JOIN task_workflow_leases l ON l.task_id = g.task_id
        WHERE l.lease_id = g.lease_id AND l.epoch = g.epoch AND l.holder_id IS NOT NULL
        FOR NO KEY UPDATE OF l SKIP LOCKED
    )
    UPDATE task_workflow_leases l SET expires_at = cynode_after(d.lease_ms),
        updated_at = cynode_now() FROM due d WHERE l.id = d.id";

/// Journals effects whose leases are in force. The checkpoints are locked: the next holder waits, and then sees
/// the effect.
pub(super) const JOURNAL: &str = "WITH held AS MATERIALIZED (
        SELECT g.item, g.key, g.answer, c.run_id, c.sequence + 1 AS sequence
        FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::json[])
            WITH ORDINALITY AS g(task_id, lease_id, epoch, key, answer, item)
        JOIN workflow_checkpoints c ON c.task_id = g.task_id
        JOIN task_workflow_leases l ON l.task_id = g.task_id
        WHERE c.epoch = g.epoch AND l.lease_id = g.lease_id AND l.epoch = g.epoch
        AND l.holder_id IS NOT NULL AND l.expires_at > cynode_now()
        FOR NO KEY UPDATE OF c SKIP LOCKED
    ), journaled AS (
        INSERT INTO workflow_effects (run_id, key, sequence, answer, recorded_at)
        SELECT run_id, key, sequence, answer, cynode_now() FROM held
        ON CONFLICT DO NOTHING RETURNING run_id, key
    )
    SELECT min(h.item) AS item FROM held h JOIN journaled j ON j.run_id = h.run_id AND j.key = h.key
    GROUP BY h.run_id, h.key";
