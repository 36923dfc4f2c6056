//! Quarantine of rows that this version cannot decode: a column holds an unknown word, JSON without a required
//! field, or an invalid id.
//!
//! Invariant: such a row affects only callers that request it. Lists and claims skip it ([`Tx::list`],
//! [`Tx::page`]); reads of the row itself, and reads that need every row of an aggregate, fail and name it
//! ([`Tx::one`], [`Tx::all`]). Either way it is recorded in `quarantined_rows`, logged once, and skipped by
//! claims until [`crate::Tx::quarantine_recheck`] finds it repaired or deleted.

pub(crate) mod tables;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

pub(crate) use self::tables::DecodedTable;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// The most rows that are recorded. Further rows are skipped too, but not recorded.
const MAX_RECORDED: usize = 10_000;
/// The longest reason that is stored, in characters.
const MAX_REASON_CHARS: usize = 500;

/// The size of a probe: more than one page, so that room for a single page is not enough.
const PROBE_BYTES: usize = 8 * 1024;

/// A row that cannot be decoded, or damaged content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedRow {
    pub table: String,
    /// The key of the row; the parts of a compound key are separated by a slash.
    pub key: String,
    /// The column and what is wrong with it. May quote the stored value.
    pub reason: String,
    pub first_seen_at: DateTime<Utc>,
}

/// Undecodable rows that are not recorded yet, and the keys of recorded ones.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    state: Mutex<QuarantineState>,
    is_pending: AtomicBool,
}

#[derive(Debug, Default)]
struct QuarantineState {
    pending: Vec<UndecodableRow>,
    known: HashSet<(String, String)>,
}

/// An undecodable row that is not recorded yet.
#[derive(Debug)]
pub(crate) struct UndecodableRow {
    table: &'static str,
    key: String,
    reason: String,
}

impl UndecodableRow {
    pub(crate) fn table_and_key(&self) -> (String, String) {
        (self.table.to_owned(), self.key.clone())
    }
}

impl Quarantine {
    fn lock_state(&self) -> MutexGuard<'_, QuarantineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a row, unless it is known.
    fn add(&self, table: &'static str, key: String, reason: String) {
        let mut found = self.lock_state();
        let place = (table.to_owned(), key.clone());
        if found.known.len() >= MAX_RECORDED || !found.known.insert(place) {
            return;
        }
        found.pending.push(UndecodableRow { table, key, reason });
        self.is_pending.store(true, Ordering::Release);
    }

    /// Whether there are unrecorded rows.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Acquire)
    }

    /// Takes the unrecorded rows.
    pub(crate) fn take(&self) -> Vec<UndecodableRow> {
        let mut found = self.lock_state();
        self.is_pending.store(false, Ordering::Release);
        std::mem::take(&mut found.pending)
    }

    /// Drops rows that could not be recorded, so that the next read reports them again.
    pub(crate) fn discard(&self, found: &[(String, String)]) {
        let mut known = self.lock_state();
        for place in found {
            known.known.remove(place);
        }
    }

    /// Keeps only recorded keys: a row that another process released is reported again if it is found again.
    fn retain(&self, recorded: &HashSet<(String, String)>) {
        let mut found = self.lock_state();
        let pending: HashSet<_> = found.pending.iter().map(UndecodableRow::table_and_key).collect();
        found.known.retain(|place| recorded.contains(place) || pending.contains(place));
    }
}

/// A condition for rows that are not in quarantine. `key` is an id column.
pub(crate) fn not_quarantined(table: &str, key: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM quarantined_rows quarantined
         WHERE quarantined.table_name = '{table}' AND quarantined.row_key = CAST({key} AS text))"
    )
}

impl Tx {
    /// Returns every row that can be decoded.
    pub(crate) async fn list<T>(
        &mut self,
        table: &'static DecodedTable,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let rows = self.rows(sql, params).await?;
        Ok(self.decode_readable(table, &rows, decode))
    }

    /// As [`Tx::list`], for a statement whose last parameter is its limit. Skipped rows do not shorten the
    /// page, because a short page means that it is the last.
    pub(crate) async fn page<T>(
        &mut self,
        table: &'static DecodedTable,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let rows = self.rows(sql, params).await?;
        let mut page = self.decode_readable(table, &rows, &decode);
        let Some((Param::Int(wanted), others)) = params.split_last() else { return Ok(page) };
        let (mut fetched, mut limit) = (rows.len(), *wanted);
        while page.len() < fetched && is_full(fetched, limit) && !is_full(page.len(), *wanted) {
            limit = limit.saturating_mul(2);
            let mut params = others.to_vec();
            params.push(limit.into());
            let rows = self.rows(sql, &params).await?;
            fetched = rows.len();
            page = self.decode_readable(table, &rows, &decode);
        }
        page.truncate(usize::try_from(*wanted).unwrap_or(0));
        Ok(page)
    }

    /// Returns the first row. One that cannot be decoded is [`Error::Quarantined`].
    pub(crate) async fn one<T>(
        &mut self,
        table: &'static DecodedTable,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let row = self.row(sql, params).await?;
        row.map(|row| self.decode(table, &row, &decode)).transpose()
    }

    /// Returns every row, for callers that need all of them: one that cannot be decoded is
    /// [`Error::Quarantined`].
    pub(crate) async fn all<T>(
        &mut self,
        table: &'static DecodedTable,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let rows = self.rows(sql, params).await?;
        rows.iter().map(|row| self.decode(table, row, &decode)).collect()
    }

    /// Records the row of a failed decoding in this transaction, so that its next statements skip the row.
    /// Returns any other error.
    pub(crate) async fn quarantine_now(&mut self, error: Error) -> Result<(), Error> {
        let Error::Quarantined { table, key, column, reason } = error else { return Err(error) };
        self.quarantine_add(&table, &key, &stored_reason(&column, &reason)).await.map(drop)
    }

    /// Records undecodable rows.
    pub(crate) async fn record_quarantine(
        &mut self,
        found: Vec<UndecodableRow>,
    ) -> Result<(), Error> {
        for UndecodableRow { table, key, reason } in found {
            self.quarantine_add(table, &key, &reason).await?;
        }
        Ok(())
    }

    pub(crate) fn decode_readable<T>(
        &self,
        table: &'static DecodedTable,
        rows: &[Row],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Vec<T> {
        rows.iter().filter_map(|row| self.decode(table, row, &decode).ok()).collect()
    }

    /// Decodes a row; one that cannot be decoded is queued for recording.
    pub(crate) fn decode<T>(
        &self,
        table: &'static DecodedTable,
        row: &Row,
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<T, Error> {
        decode(row).map_err(|error| {
            let Error::Unreadable { column, reason } = error else { return error };
            let key = table.key_of(row);
            self.quarantine().add(table.name, key.clone(), stored_reason(&column, &reason));
            Error::Quarantined { table: table.name.to_owned(), key, column, reason }
        })
    }
}

/// The reason, as stored.
fn stored_reason(column: &str, reason: &str) -> String {
    let text = format!("column {column}: {reason}");
    text.chars().filter(|c| *c != '\0').take(MAX_REASON_CHARS).collect()
}

fn is_full(rows: usize, limit: i64) -> bool {
    i64::try_from(rows).unwrap_or(i64::MAX) >= limit
}

impl Tx {
    /// Lists rows in quarantine, oldest first.
    pub async fn quarantine_list(&mut self, limit: u32) -> Result<Vec<QuarantinedRow>, Error> {
        let sql = "SELECT * FROM quarantined_rows ORDER BY first_seen_at, table_name, row_key
                   LIMIT $1";
        self.rows(sql, params![limit]).await?.iter().map(quarantined).collect()
    }

    /// Counts the rows in quarantine.
    pub async fn quarantine_count(&mut self) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS number FROM quarantined_rows";
        self.row(sql, &[]).await?.map_or(Ok(0), |row| row.get("number"))
    }

    /// Records a defect that the store cannot detect itself, such as a damaged blob; returns true if it is new.
    pub async fn quarantine_add(
        &mut self,
        table: &str,
        key: &str,
        reason: &str,
    ) -> Result<bool, Error> {
        let sql = "INSERT INTO quarantined_rows (table_name, row_key, reason, first_seen_at)
                   VALUES ($1, $2, $3, cynode_now()) ON CONFLICT DO NOTHING";
        let is_new = self.execute(sql, params![table, key, reason]).await? == 1;
        if is_new {
            tracing::error!(table, row.key = key, reason, "row quarantined");
        }
        Ok(is_new)
    }

    /// Whether a row is in quarantine.
    pub async fn quarantine_contains(&mut self, table: &str, key: &str) -> Result<bool, Error> {
        let sql = "SELECT row_key FROM quarantined_rows WHERE table_name = $1 AND row_key = $2";
        Ok(self.row(sql, params![table, key]).await?.is_some())
    }

    /// Releases a row; returns false if it is not in quarantine.
    pub async fn quarantine_remove(&mut self, table: &str, key: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM quarantined_rows WHERE table_name = $1 AND row_key = $2";
        let is_removed = self.execute(sql, params![table, key]).await? == 1;
        if is_removed {
            tracing::info!(table, row.key = key, "row released from quarantine");
        }
        Ok(is_removed)
    }

    /// Writes and deletes a probe: fails if the database cannot be written.
    pub async fn write_probe(&mut self) -> Result<(), Error> {
        let sql = "UPDATE write_probe SET checked_at = cynode_now(), padding = $1 WHERE id = 1";
        self.execute(sql, params![vec![0_u8; PROBE_BYTES]]).await.map(drop)
    }

    /// Decodes every quarantined row again and releases those that were repaired or deleted; returns their
    /// number.
    pub async fn quarantine_recheck(&mut self) -> Result<u64, Error> {
        let limit = u32::try_from(MAX_RECORDED).unwrap_or(u32::MAX);
        let (mut released, mut left) = (0, HashSet::new());
        for QuarantinedRow { table: name, key, .. } in self.quarantine_list(limit).await? {
            let table = tables::find_table(&name);
            let is_bad = match table {
                Some(table) => match self.row(&table.select(), &table.params(&key)).await? {
                    Some(row) => (table.check)(&row).is_err(),
                    None => false,
                },
                // Recorded by another component, which also releases it.
                None => true,
            };
            if !is_bad && self.quarantine_remove(&name, &key).await? {
                released += 1;
            } else {
                left.insert((name, key));
            }
        }
        self.quarantine().retain(&left);
        Ok(released)
    }
}

fn quarantined(row: &Row) -> Result<QuarantinedRow, Error> {
    Ok(QuarantinedRow {
        table: row.get("table_name")?,
        key: row.get("row_key")?,
        reason: row.get("reason")?,
        first_seen_at: row.get("first_seen_at")?,
    })
}
