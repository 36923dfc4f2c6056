//! The statements of the audit log.

use std::fmt::Write as _;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use cynode_audit::{
    AuditFilter, AuditKeys, AuditRecord, ChainHead, ChainPosition, LOG_CHAIN, RecordSeal,
    SignedClaim, SignedPosition, StoredCall,
};
use cynode_domain::ids::{CallId, ChainId};

use super::rows::{
    CALL, OUTCOME, anchor, call_params, head, outcome_params, sealed_call, sealed_outcome,
    stored_call,
};
use super::{SealedRecord, SignedHead, logs};
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

/// The audit log, for readers and for retention.
impl Tx {
    pub async fn call_get(&mut self, id: CallId) -> Result<Option<StoredCall>, Error> {
        let sql = format!("{STORED_CALL} WHERE c.id = $1");
        self.one(&tables::AUDIT_CALLS, &sql, params![id], stored_call).await
    }

    /// Lists calls, newest first.
    pub async fn call_list(
        &mut self,
        filter: &AuditFilter,
        limit: u32,
    ) -> Result<Vec<StoredCall>, Error> {
        let (sql, params) = list_statement(filter, limit);
        self.page(&tables::AUDIT_CALLS, &sql, &params, stored_call).await
    }

    /// Returns the query plan of the engine.
    pub async fn call_list_plan(
        &mut self,
        filter: &AuditFilter,
        limit: u32,
    ) -> Result<String, Error> {
        let (sql, params) = list_statement(filter, limit);
        self.plan(&sql, &params).await
    }

    /// Lists every chain that a writer created, oldest first.
    pub async fn chain_list(&mut self) -> Result<Vec<SignedHead>, Error> {
        let sql = "SELECT * FROM mcp_audit_chains ORDER BY created_at, chain_id";
        self.rows(sql, &[]).await?.iter().map(head).collect()
    }

    pub async fn chain_get(&mut self, chain: ChainId) -> Result<Option<SignedHead>, Error> {
        let sql = "SELECT * FROM mcp_audit_chains WHERE chain_id = $1";
        self.row(sql, params![chain]).await?.as_ref().map(head).transpose()
    }

    /// Signs the heads and anchors that no trusted key signed, as they are.
    pub async fn chain_sign_all(&mut self, keys: &AuditKeys) -> Result<(), Error> {
        for (head, _) in self.chain_list().await? {
            let sql = "UPDATE mcp_audit_chains SET signature = $1 WHERE chain_id = $2 AND seq = $3";
            self.execute(sql, params![head.sign(keys), head.chain, head.seq]).await?;
            let Some(anchor) = self.chain_anchor(head.chain).await? else { continue };
            let sql =
                "UPDATE mcp_audit_anchors SET signature = $1 WHERE chain_id = $2 AND seq = $3";
            let signature = keys.sign(SignedClaim::Anchor, &anchor.position);
            self.execute(sql, params![signature, head.chain, anchor.position.seq]).await?;
        }
        Ok(())
    }

    /// Lists chain ids of records for which no chain exists.
    pub async fn chain_list_unregistered(&mut self) -> Result<Vec<ChainId>, Error> {
        let sql = "SELECT chain_id FROM mcp_tool_call_audit_log
                   WHERE chain_id NOT IN (SELECT chain_id FROM mcp_audit_chains) OR chain_id = $1
                   UNION SELECT chain_id FROM mcp_tool_call_outcomes
                   WHERE chain_id NOT IN (SELECT chain_id FROM mcp_audit_chains) OR chain_id = $1
                   UNION SELECT chain_id FROM mcp_audit_anchors
                   WHERE chain_id NOT IN (SELECT chain_id FROM mcp_audit_chains)";
        // The chain of the logs has no tool calls.
        self.rows(sql, params![LOG_CHAIN]).await?.iter().map(|row| row.id("chain_id")).collect()
    }

    /// Lists the records of a chain from position `from` on, in order: `limit`, or more if others have the position
    /// of the last one.
    pub async fn chain_records(
        &mut self,
        chain: ChainId,
        from: i64,
        limit: u32,
    ) -> Result<Vec<SealedRecord>, Error> {
        if chain == LOG_CHAIN {
            return logs::log_records(self, from, limit).await;
        }
        let sql = |table| {
            format!("SELECT * FROM {table} WHERE chain_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3")
        };
        let params = params![chain, from, limit];
        let calls = self.rows(&sql(CALLS), params).await?;
        let outcomes = self.rows(&sql(OUTCOMES), params).await?;
        let mut records = calls.iter().map(sealed_call).collect::<Result<Vec<_>, _>>()?;
        for row in &outcomes {
            records.push(sealed_outcome(row)?);
        }
        Ok(end_page(records, limit))
    }

    /// Returns the position after which a chain starts, if older records were deleted.
    pub async fn chain_anchor(&mut self, chain: ChainId) -> Result<Option<SignedPosition>, Error> {
        let sql = "SELECT * FROM mcp_audit_anchors WHERE chain_id = $1 ORDER BY seq DESC LIMIT 1";
        self.row(sql, params![chain]).await?.as_ref().map(anchor).transpose()
    }

    /// Deletes the records of a chain up to `last`, and keeps that as the signed anchor.
    pub async fn chain_truncate(
        &mut self,
        last: &ChainPosition,
        keys: &AuditKeys,
        at: DateTime<Utc>,
    ) -> Result<u64, Error> {
        let (chain, seq) = (last.chain, last.seq);
        let signature = keys.sign(SignedClaim::Anchor, last);
        let anchor = "INSERT INTO mcp_audit_anchors (chain_id, seq, hash, signature, created_at)
                      VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        self.execute(anchor, params![chain, seq, last.hash.clone(), signature, at]).await?;
        let older = "DELETE FROM mcp_audit_anchors WHERE chain_id = $1 AND seq < $2";
        self.execute(older, params![chain, seq]).await?;
        let mut removed = 0;
        for table in [CALLS, OUTCOMES] {
            let sql = format!("DELETE FROM {table} WHERE chain_id = $1 AND seq <= $2");
            removed += self.execute(&sql, params![chain, seq]).await?;
        }
        Ok(removed)
    }
}

/// Sorts records and ends the page after `limit` of them, or later if others have the position of the last one.
pub(super) fn end_page(mut records: Vec<SealedRecord>, limit: u32) -> Vec<SealedRecord> {
    records.sort_by_key(|record| record.seal.seq);
    if let Some(last) = records.get((limit as usize).saturating_sub(1)).map(|last| last.seal.seq) {
        records.truncate(records.partition_point(|record| record.seal.seq <= last));
    }
    records
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

/// As [`chain_get`], but waits for commits to the chain that are in progress, including those of a writer that
/// died meanwhile: the server completes or aborts them without it.
pub(super) async fn chain_lock(tx: &mut Tx, chain: ChainId) -> Result<Option<SignedHead>, Error> {
    let sql = "SELECT * FROM mcp_audit_chains WHERE chain_id = $1 /*pg FOR NO KEY UPDATE */";
    tx.row(sql, params![chain]).await?.as_ref().map(head).transpose()
}

/// Inserts an empty chain if it does not exist. Processes that share a data directory start with the
/// same chain id, possibly at the same time.
pub(super) async fn chain_ensure(
    tx: &mut Tx,
    chain: ChainId,
    keys: &AuditKeys,
) -> Result<(), Error> {
    let head = ChainHead::new(chain);
    let sql = "INSERT INTO mcp_audit_chains (chain_id, seq, hash, open_from, signature, created_at)
               VALUES ($1, $2, $3, $4, $5, cynode_now()) ON CONFLICT (chain_id) DO NOTHING";
    let signature = head.sign(keys);
    let params = params![head.chain, head.seq, head.hash, head.open_from, signature];
    tx.execute(sql, params).await.map(drop)
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

/// Writes the records between two heads. Fails without writing if the head of the chain is not `old`, that is,
/// if there is another writer.
pub(super) async fn chain_append(
    tx: &mut Tx,
    old: &ChainHead,
    new: &ChainHead,
    signature: &[u8],
    records: &[(AuditRecord, RecordSeal)],
) -> Result<(), Error> {
    let head = advance_params(old, new, signature);
    let (mut calls, mut outcomes) = (vec![], vec![]);
    for (record, seal) in records {
        match record {
            AuditRecord::Call(call) => calls.extend(call_params(call, seal)),
            AuditRecord::Outcome(outcome) => outcomes.extend(outcome_params(outcome, seal)),
            AuditRecord::Log(_) => {
                return Err(Error::invalid_operation("a log row has its own chain"));
            }
        }
    }
    let is_sqlite = tx.is_sqlite();
    let mut statements = vec![(ADVANCE, head.as_slice())];
    statements.extend(CALL_INSERTS.for_values(&calls, is_sqlite));
    statements.extend(OUTCOME_INSERTS.for_values(&outcomes, is_sqlite));
    let changed = tx.execute_all(&statements).await?;
    check_advanced(changed.first().copied())
}

const ADVANCE: &str =
    "UPDATE mcp_audit_chains SET seq = $1, hash = $2, open_from = $3, signature = $4
                       WHERE chain_id = $5 AND seq = $6 AND hash = $7";

fn advance_params(old: &ChainHead, new: &ChainHead, signature: &[u8]) -> [Param; 7] {
    [
        new.seq.into(),
        new.hash.clone().into(),
        new.open_from.into(),
        signature.into(),
        new.chain.into(),
        old.seq.into(),
        old.hash.clone().into(),
    ]
}

/// Replaces the head `old`, and fails if it is another one.
pub(super) async fn chain_advance(
    tx: &mut Tx,
    old: &ChainHead,
    new: &ChainHead,
    signature: &[u8],
) -> Result<(), Error> {
    let changed = tx.execute(ADVANCE, &advance_params(old, new, signature)).await?;
    check_advanced(Some(changed))
}

fn check_advanced(changed: Option<u64>) -> Result<(), Error> {
    if changed == Some(1) {
        Ok(())
    } else {
        Err(Error::Duplicate { constraint: "mcp_audit_chains head".to_owned() })
    }
}
