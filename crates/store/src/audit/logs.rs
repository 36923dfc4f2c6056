//! The logs that are sealed after their rows were written: one chain for all of them.
//!
//! A row is written in the transaction of what it records, without waiting for a chain; [`Tx::log_seal`] appends it
//! shortly afterwards. So no request waits for another one, and a row that was changed or deleted later is detected.

use chrono::DateTime;
use cynode_audit::{
    AuditKeys, AuditRecord, ChainPosition, ColumnKind, LOG_CHAIN, LOGS, LogRow, LogSealing,
    LogTable, SignedClaim,
};
use cynode_sql::{Param, Row, params};
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
        let is_known = known == Some(&position);
        let is_signed =
            signature.is_some_and(|bytes| keys.verify(SignedClaim::Head, &position, &bytes));
        let is_rewound = known.is_some_and(|known| known.seq >= position.seq && !is_known);
        if is_rewound || !is_signed && !is_known {
            return Ok(LogSealing::Refused);
        }
        let mut found = vec![];
        for table in LOGS {
            let sql =
                format!("SELECT * FROM {} WHERE seq IS NULL ORDER BY id LIMIT $1", table.name);
            let rows = self.rows(&sql, params![limit]).await?;
            found.extend(rows.iter().map(|row| log_row(table, row)));
        }
        found.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        let (mut new, mut rows, mut unsealable) = (head.clone(), 0, 0);
        for row in found {
            let sql =
                format!("UPDATE {} SET seq = $1, prev_hash = $2, hash = $3 WHERE id = $4", row.log);
            let id = match Uuid::parse_str(&row.id) {
                Ok(id) if !self.is_sqlite() => Param::from(id),
                Ok(_) | Err(_) => Param::from(&row.id),
            };
            let mut next = new.clone();
            let seal = next.seal(&AuditRecord::Log(row));
            let values = [seal.seq.into(), seal.prev_hash.into(), seal.hash.into(), id];
            if self.execute(&sql, &values).await? == 1 {
                (new, rows) = (next, rows + 1);
            } else {
                unsealable += 1;
            }
        }
        if rows > 0 || !is_signed {
            sql::chain_advance(self, &head, &new, &new.sign(keys)).await?;
        }
        Ok(LogSealing::Sealed { head: new.position(), rows, unsealable })
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

/// Lists the sealed rows from position `from` on, in order: some `limit`, see [`sql::end_page`].
pub(super) async fn log_records(
    tx: &mut Tx,
    from: i64,
    limit: u32,
) -> Result<Vec<SealedRecord>, Error> {
    let mut records = vec![];
    for table in LOGS {
        let sql = format!("SELECT * FROM {} WHERE seq >= $1 ORDER BY seq LIMIT $2", table.name);
        records.extend(tx.rows(&sql, params![from, limit]).await?.iter().map(|row| SealedRecord {
            seal: rows::seal_in(LOG_CHAIN, row),
            record: Ok(AuditRecord::Log(log_row(table, row))),
        }));
    }
    Ok(sql::end_page(records, limit))
}

fn log_row(table: &LogTable, row: &Row) -> LogRow {
    let columns = table.columns.iter().map(|(name, kind)| (*name, column(row, name, *kind)));
    LogRow {
        log: table.name,
        // On SQLite the stored text, which need not be in the usual form of an id.
        id: row.get("id").unwrap_or_else(|_| row.id_text("id")),
        at: row.get(table.time).unwrap_or(DateTime::UNIX_EPOCH),
        columns: columns.collect(),
    }
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
