//! The statements of the audit log.

use std::fmt::Write as _;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use cynode_audit::{AuditRecord, ChainHead, RecordSeal};
use cynode_domain::ids::{CallId, ChainId};

use super::rows::{
    CALL, OUTCOME, call_params, head, outcome_params, sealed_call, sealed_outcome, stored_call,
};
use super::{AuditFilter, SealedRecord, StoredCall};
use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::InsertStatements;
use cynode_sql::{Param, params};

const CALLS: &str = "mcp_tool_call_audit_log";
const OUTCOMES: &str = "mcp_tool_call_outcomes";

static CALL_INSERTS: LazyLock<InsertStatements> =
    LazyLock::new(|| InsertStatements::for_table(CALLS, CALL));
static OUTCOME_INSERTS: LazyLock<InsertStatements> =
    LazyLock::new(|| InsertStatements::for_table(OUTCOMES, OUTCOME));

pub(crate) const STORED_CALL: &str =
    "SELECT c.*, o.status AS o_status, o.error_type AS o_error_type,
    o.duration_ms AS o_duration_ms, o.recorded_at AS o_recorded_at
    FROM mcp_tool_call_audit_log c LEFT JOIN mcp_tool_call_outcomes o ON o.call_id = c.id";

pub(super) async fn call_get(tx: &mut Tx, id: CallId) -> Result<Option<StoredCall>, Error> {
    let sql = format!("{STORED_CALL} WHERE c.id = $1");
    tx.one(&tables::AUDIT_CALLS, &sql, params![id], stored_call).await
}

pub(super) async fn call_list(
    tx: &mut Tx,
    filter: &AuditFilter,
    limit: u32,
) -> Result<Vec<StoredCall>, Error> {
    let (sql, params) = list_statement(filter, limit);
    tx.page(&tables::AUDIT_CALLS, &sql, &params, stored_call).await
}

pub(super) async fn call_list_plan(
    tx: &mut Tx,
    filter: &AuditFilter,
    limit: u32,
) -> Result<String, Error> {
    let (sql, params) = list_statement(filter, limit);
    tx.plan(&sql, &params).await
}

/// The statement contains only the requested conditions, so each engine can plan for an index.
fn list_statement(filter: &AuditFilter, limit: u32) -> (String, Vec<Param>) {
    let mut params: Vec<Param> = vec![];
    let mut sql = format!("{STORED_CALL} WHERE 1 = 1");
    let mut wanted = |condition: &str, value: Option<Param>| {
        if let Some(value) = value {
            params.push(value);
            let _ = write!(sql, " AND {condition} ${}", params.len());
        }
    };
    wanted("c.user_id =", filter.user.map(Into::into));
    wanted("c.task_id =", filter.task.map(Into::into));
    wanted("c.project_id =", filter.project.map(Into::into));
    wanted("c.tool_name =", filter.tool.as_ref().map(Into::into));
    wanted("c.decision =", filter.decision.map(Into::into));
    wanted("c.created_at >=", filter.since.map(Into::into));
    wanted("c.created_at <", filter.until.map(Into::into));
    if let Some(place) = filter.before {
        params.extend([place.created_at.into(), place.id.into()]);
        let (time, id) = (params.len() - 1, params.len());
        let _ = write!(sql, " AND (c.created_at, c.id) < (${time}, ${id})");
    }
    params.push(limit.into());
    let _ = write!(sql, " ORDER BY c.created_at DESC, c.id DESC LIMIT ${}", params.len());
    (sql, params)
}

pub(super) async fn chain_get(tx: &mut Tx, chain: ChainId) -> Result<Option<ChainHead>, Error> {
    let sql = "SELECT * FROM mcp_audit_chains WHERE chain_id = $1";
    tx.row(sql, params![chain]).await?.as_ref().map(head).transpose()
}

/// As [`chain_get`], but waits for commits to the chain that are in progress, including those of a writer that
/// died meanwhile: the server completes or aborts them without it.
pub(super) async fn chain_lock(tx: &mut Tx, chain: ChainId) -> Result<Option<ChainHead>, Error> {
    let sql = "SELECT * FROM mcp_audit_chains WHERE chain_id = $1 /*pg FOR NO KEY UPDATE */";
    tx.row(sql, params![chain]).await?.as_ref().map(head).transpose()
}

/// Inserts an empty chain if it does not exist. Processes that share a data directory start with the
/// same chain id, possibly at the same time.
pub(super) async fn chain_ensure(tx: &mut Tx, chain: ChainId) -> Result<(), Error> {
    let head = ChainHead::new(chain);
    let sql = "INSERT INTO mcp_audit_chains (chain_id, seq, hash, open_from, created_at)
               VALUES ($1, $2, $3, $4, cynode_now()) ON CONFLICT (chain_id) DO NOTHING";
    let params = params![head.chain, head.seq, head.hash, head.open_from];
    tx.execute(sql, params).await.map(drop)
}

pub(super) async fn chain_list(tx: &mut Tx) -> Result<Vec<ChainHead>, Error> {
    let sql = "SELECT * FROM mcp_audit_chains ORDER BY created_at, chain_id";
    tx.rows(sql, &[]).await?.iter().map(head).collect()
}

pub(super) async fn chain_list_unregistered(tx: &mut Tx) -> Result<Vec<ChainId>, Error> {
    let sql = "SELECT chain_id FROM mcp_tool_call_audit_log
               WHERE chain_id NOT IN (SELECT chain_id FROM mcp_audit_chains)
               UNION SELECT chain_id FROM mcp_tool_call_outcomes
               WHERE chain_id NOT IN (SELECT chain_id FROM mcp_audit_chains)
               UNION SELECT chain_id FROM mcp_audit_anchors
               WHERE chain_id NOT IN (SELECT chain_id FROM mcp_audit_chains)";
    tx.rows(sql, &[]).await?.iter().map(|row| row.id("chain_id")).collect()
}

pub(super) async fn chain_records(
    tx: &mut Tx,
    chain: ChainId,
    seq: i64,
    limit: u32,
) -> Result<Vec<SealedRecord>, Error> {
    let sql = |table| {
        format!("SELECT * FROM {table} WHERE chain_id = $1 AND seq > $2 ORDER BY seq LIMIT $3")
    };
    let params = params![chain, seq, limit];
    let calls = tx.rows(&sql(CALLS), params).await?;
    let outcomes = tx.rows(&sql(OUTCOMES), params).await?;
    let mut records = calls.iter().map(sealed_call).collect::<Result<Vec<_>, _>>()?;
    for row in &outcomes {
        records.push(sealed_outcome(row)?);
    }
    records.sort_by_key(|record| record.seal.seq);
    records.truncate(limit as usize);
    Ok(records)
}

/// Lists allowed calls from this position on that have no outcome, oldest first.
pub(super) async fn calls_open(
    tx: &mut Tx,
    chain: ChainId,
    from: i64,
) -> Result<Vec<(i64, CallId)>, Error> {
    let sql = "SELECT c.seq, c.id FROM mcp_tool_call_audit_log c
               WHERE c.chain_id = $1 AND c.seq >= $2 AND c.decision = 'allow'
               AND NOT EXISTS (SELECT 1 FROM mcp_tool_call_outcomes o WHERE o.call_id = c.id)
               ORDER BY c.seq";
    let rows = tx.rows(sql, params![chain, from]).await?;
    rows.iter().map(|row| Ok((row.get("seq")?, row.id("id")?))).collect()
}

pub(super) async fn chain_anchor(
    tx: &mut Tx,
    chain: ChainId,
) -> Result<Option<(i64, Vec<u8>)>, Error> {
    let sql = "SELECT seq, hash FROM mcp_audit_anchors WHERE chain_id = $1
               ORDER BY seq DESC LIMIT 1";
    let row = tx.row(sql, params![chain]).await?;
    row.map(|row| Ok((row.get("seq")?, row.get("hash")?))).transpose()
}

pub(super) async fn chain_truncate(
    tx: &mut Tx,
    chain: ChainId,
    last: (i64, &[u8]),
    at: DateTime<Utc>,
) -> Result<u64, Error> {
    let (seq, hash) = last;
    let anchor = "INSERT INTO mcp_audit_anchors (chain_id, seq, hash, created_at)
                  VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    tx.execute(anchor, params![chain, seq, hash, at]).await?;
    let older = "DELETE FROM mcp_audit_anchors WHERE chain_id = $1 AND seq < $2";
    tx.execute(older, params![chain, seq]).await?;
    let mut removed = 0;
    for table in [CALLS, OUTCOMES] {
        let sql = format!("DELETE FROM {table} WHERE chain_id = $1 AND seq <= $2");
        removed += tx.execute(&sql, params![chain, seq]).await?;
    }
    Ok(removed)
}

/// Writes the records between two heads. Fails without writing if the head of the chain is not `old`, that is,
/// if there is another writer.
pub(super) async fn chain_append(
    tx: &mut Tx,
    old: &ChainHead,
    new: &ChainHead,
    records: &[(AuditRecord, RecordSeal)],
) -> Result<(), Error> {
    let moved = "UPDATE mcp_audit_chains SET seq = $1, hash = $2, open_from = $3
                 WHERE chain_id = $4 AND seq = $5 AND hash = $6";
    let head: &[Param] =
        params![new.seq, new.hash.clone(), new.open_from, new.chain, old.seq, old.hash.clone()];
    let (mut calls, mut outcomes) = (vec![], vec![]);
    for (record, seal) in records {
        match record {
            AuditRecord::Call(call) => calls.extend(call_params(call, seal)),
            AuditRecord::Outcome(outcome) => outcomes.extend(outcome_params(outcome, seal)),
        }
    }
    let is_sqlite = tx.is_sqlite();
    let mut statements = vec![(moved, head)];
    statements.extend(CALL_INSERTS.for_values(&calls, is_sqlite));
    statements.extend(OUTCOME_INSERTS.for_values(&outcomes, is_sqlite));
    let changed = tx.execute_all(&statements).await?;
    if changed.first() == Some(&1) {
        Ok(())
    } else {
        Err(Error::Duplicate { constraint: "mcp_audit_chains head".to_owned() })
    }
}
