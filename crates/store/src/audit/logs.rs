//! The logs that are sealed after their rows were written: one chain for all of them.
//!
//! A row is written in the transaction of what it records, without waiting for a chain; [`Tx::log_seal`] appends it
//! shortly afterwards. So no request waits for another one, and a row that was changed or deleted later is detected.

use cynode_audit::{
    AuditKeys, AuditRecord, ChainPosition, ColumnKind, LOG_CHAIN, LOGS, LogRow, LogSealing,
    LogTable, SignedClaim,
};
use cynode_sql::{Row, params};
use serde_json::Value;
use uuid::Uuid;

use super::{SealedRecord, rows, sql};
use crate::{Error, Tx};

impl Tx {
    /// Seals up to `limit` rows of each log, oldest first, into [`LOG_CHAIN`]. `known` is a position that the chain must
    /// have reached.
    pub async fn log_seal(
        &mut self,
        keys: &AuditKeys,
        known: Option<&ChainPosition>,
        limit: u32,
    ) -> Result<LogSealing, Error> {
        // The lock serializes the orchestrators of a database.
        sql::chain_ensure(self, LOG_CHAIN, keys).await?;
        let (head, signature) = sql::chain_lock(self, LOG_CHAIN).await?.ok_or(Error::Closed)?;
        let position = head.position();
        let is_signed =
            signature.is_some_and(|bytes| keys.verify(SignedClaim::Head, &position, &bytes));
        let is_rewound = known.is_some_and(|known| {
            known.seq > position.seq || known.seq == position.seq && known.hash != position.hash
        });
        if !is_signed || is_rewound {
            return Ok(LogSealing::Refused);
        }
        let mut rows = vec![];
        for table in LOGS {
            let sql =
                format!("SELECT * FROM {} WHERE seq IS NULL ORDER BY id LIMIT $1", table.name);
            let found = self.rows(&sql, params![limit]).await?;
            rows.extend(found.iter().filter_map(|row| log_row(table, row).ok()));
        }
        rows.sort_by_key(|row| (row.at, row.id));
        let mut new = head.clone();
        for row in &rows {
            let seal = new.seal(&AuditRecord::Log(row.clone()));
            let sql =
                format!("UPDATE {} SET seq = $1, prev_hash = $2, hash = $3 WHERE id = $4", row.log);
            self.execute(&sql, params![seal.seq, seal.prev_hash, seal.hash, row.id]).await?;
        }
        if !rows.is_empty() {
            sql::chain_advance(self, &head, &new, &new.sign(keys)).await?;
        }
        Ok(LogSealing::Sealed(new.position(), rows.len()))
    }

    /// Whether there is a row that is not sealed.
    pub async fn log_has_unsealed(&mut self) -> Result<bool, Error> {
        let exists = LOGS
            .iter()
            .map(|table| format!("EXISTS (SELECT 1 FROM {} WHERE seq IS NULL)", table.name))
            .collect::<Vec<_>>();
        let sql = format!("SELECT 1 AS found WHERE {}", exists.join(" OR "));
        Ok(self.row(&sql, &[]).await?.is_some())
    }
}

/// Lists up to `limit` sealed rows after `seq`, in order.
pub(super) async fn log_records(
    tx: &mut Tx,
    seq: i64,
    limit: u32,
) -> Result<Vec<SealedRecord>, Error> {
    let mut records = vec![];
    for table in LOGS {
        let sql = format!("SELECT * FROM {} WHERE seq > $1 ORDER BY seq LIMIT $2", table.name);
        for row in tx.rows(&sql, params![seq, limit]).await? {
            let seal = rows::seal_in(LOG_CHAIN, &row)?;
            records.push(SealedRecord { seal, record: log_row(table, &row).map(AuditRecord::Log) });
        }
    }
    records.sort_by_key(|record| record.seal.seq);
    records.truncate(limit as usize);
    Ok(records)
}

fn log_row(table: &LogTable, row: &Row) -> Result<LogRow, Error> {
    let columns = table.columns.iter().map(|(name, kind)| (*name, column(row, name, *kind)));
    Ok(LogRow {
        log: table.name,
        id: row.get("id")?,
        at: row.get(table.time)?,
        columns: columns.collect(),
    })
}

/// A value that cannot be decoded does not keep its row from being sealed.
fn column(row: &Row, name: &str, kind: ColumnKind) -> Value {
    let value = match kind {
        ColumnKind::Bool => row.get::<Option<bool>>(name).map(Value::from),
        ColumnKind::Id => {
            row.get::<Option<Uuid>>(name).map(|id| id.map(|id| id.to_string()).into())
        }
        ColumnKind::Int => row.get::<Option<i64>>(name).map(Value::from),
        ColumnKind::Json => row.get::<Option<Value>>(name).map(Value::from),
        ColumnKind::Text => row.get::<Option<String>>(name).map(Value::from),
    };
    value.unwrap_or_else(|_| serde_json::json!({ "undecodable": true }))
}
