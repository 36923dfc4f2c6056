//! Rows that this version cannot decode: a column holds an unknown word, JSON without a field, or a
//! text that is no id.
//!
//! Invariant: such a row affects nobody but those who ask for it. Lists and claims skip it
//! ([`Tx::list`], [`Tx::page`]), reads of the row itself and reads that decide by every row of one
//! aggregate fail and name it ([`Tx::one`], [`Tx::all`]). Either way it is recorded in
//! `quarantined_rows`, logged once, and left alone by claims until [`QuarantineStore::quarantine_recheck`]
//! finds that it was repaired or deleted.

pub(crate) mod tables;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chrono::{DateTime, Utc};

pub(crate) use self::tables::Table;
use crate::column::Row;
use crate::param::{Param, params};
use crate::{Error, Tx};

/// How many rows are recorded at most. What is found beyond that is skipped all the same.
const MAX_RECORDED: usize = 10_000;
/// The longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 500;

/// What a probe writes: more than one page, so that room for a single page is not enough.
const PROBE_BYTES: usize = 8 * 1024;

/// A row that cannot be decoded, or content that is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedRow {
    /// The table.
    pub table: String,
    /// The row's key; parts of a key are separated by a slash.
    pub key: String,
    /// Which column, and what is wrong with it. It may quote what is stored.
    pub reason: String,
    /// When it was found.
    pub first_seen_at: DateTime<Utc>,
}

/// Rows in quarantine.
#[async_trait]
pub trait QuarantineStore {
    /// Rows in quarantine, oldest first.
    async fn quarantine_list(&mut self, limit: u32) -> Result<Vec<QuarantinedRow>, Error>;
    /// How many rows are in quarantine.
    async fn quarantine_count(&mut self) -> Result<i64, Error>;
    /// Records a finding that the store cannot make itself, such as a damaged blob; true if it is new.
    async fn quarantine_add(&mut self, table: &str, key: &str, reason: &str)
    -> Result<bool, Error>;
    /// Whether this is in quarantine.
    async fn quarantine_has(&mut self, table: &str, key: &str) -> Result<bool, Error>;
    /// Removes a finding; false if there is none.
    async fn quarantine_remove(&mut self, table: &str, key: &str) -> Result<bool, Error>;
    /// Writes something that changes nothing: fails if the database cannot be written.
    async fn write_probe(&mut self) -> Result<(), Error>;
    /// Decodes every quarantined row again and releases those that were repaired or deleted; how many.
    async fn quarantine_recheck(&mut self) -> Result<u64, Error>;
}

/// What an open store has found and not recorded yet, and what it knows to be recorded.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    found: Mutex<Found>,
    is_pending: AtomicBool,
}

#[derive(Debug, Default)]
struct Found {
    pending: Vec<Finding>,
    known: HashSet<(String, String)>,
}

/// A row that was found and is not recorded.
#[derive(Debug)]
pub(crate) struct Finding {
    table: &'static str,
    key: String,
    reason: String,
}

impl Finding {
    pub(crate) fn place(&self) -> (String, String) {
        (self.table.to_owned(), self.key.clone())
    }
}

impl Quarantine {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a row, unless it is known.
    fn note(&self, table: &'static str, key: String, reason: String) {
        let mut found = self.found();
        let place = (table.to_owned(), key.clone());
        if found.known.len() >= MAX_RECORDED || !found.known.insert(place) {
            return;
        }
        found.pending.push(Finding { table, key, reason });
        self.is_pending.store(true, Ordering::Release);
    }

    /// Whether rows were found that are not recorded.
    pub(crate) fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Acquire)
    }

    /// What was found and is not recorded.
    pub(crate) fn take(&self) -> Vec<Finding> {
        let mut found = self.found();
        self.is_pending.store(false, Ordering::Release);
        std::mem::take(&mut found.pending)
    }

    /// Forgets findings that could not be recorded, so that they are noted when they are found again.
    pub(crate) fn forget(&self, found: &[(String, String)]) {
        let mut known = self.found();
        for place in found {
            known.known.remove(place);
        }
    }

    /// Keeps in mind only what is recorded: what another process released is reported again if it is
    /// found again.
    fn retain(&self, recorded: &HashSet<(String, String)>) {
        let mut found = self.found();
        let pending: HashSet<_> = found.pending.iter().map(Finding::place).collect();
        found.known.retain(|place| recorded.contains(place) || pending.contains(place));
    }
}

/// A condition that holds for rows that are not in quarantine. `key` is the column of an id.
pub(crate) fn not_quarantined(table: &str, key: &str) -> String {
    format!(
        "NOT EXISTS (SELECT 1 FROM quarantined_rows quarantined
         WHERE quarantined.table_name = '{table}' AND quarantined.row_key = CAST({key} AS text))"
    )
}

impl Tx {
    /// Every row that can be decoded.
    pub(crate) async fn list<T>(
        &mut self,
        table: &'static Table,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let rows = self.rows(sql, params).await?;
        Ok(self.readable(table, &rows, decode))
    }

    /// As [`Tx::list`], for a statement whose last parameter is its limit: rows that are skipped make a
    /// page no shorter, since a short page means that no other follows.
    pub(crate) async fn page<T>(
        &mut self,
        table: &'static Table,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let rows = self.rows(sql, params).await?;
        let mut page = self.readable(table, &rows, &decode);
        let Some((Param::Int(wanted), others)) = params.split_last() else { return Ok(page) };
        let (mut fetched, mut limit) = (rows.len(), *wanted);
        while page.len() < fetched && is_full(fetched, limit) && !is_full(page.len(), *wanted) {
            limit = limit.saturating_mul(2);
            let mut params = others.to_vec();
            params.push(limit.into());
            let rows = self.rows(sql, &params).await?;
            fetched = rows.len();
            page = self.readable(table, &rows, &decode);
        }
        page.truncate(usize::try_from(*wanted).unwrap_or(0));
        Ok(page)
    }

    /// The first row of the answer. One that cannot be decoded is [`Error::Quarantined`].
    pub(crate) async fn one<T>(
        &mut self,
        table: &'static Table,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let row = self.row(sql, params).await?;
        row.map(|row| self.decode(table, &row, &decode)).transpose()
    }

    /// Every row, for callers that decide by all of them: one that cannot be decoded is
    /// [`Error::Quarantined`].
    pub(crate) async fn all<T>(
        &mut self,
        table: &'static Table,
        sql: &str,
        params: &[Param],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let rows = self.rows(sql, params).await?;
        rows.iter().map(|row| self.decode(table, row, &decode)).collect()
    }

    /// Records the row of a failed decoding in this transaction, so that its next statements leave the
    /// row out. Any other error is given back.
    pub(crate) async fn quarantine_now(&mut self, error: Error) -> Result<(), Error> {
        let Error::Quarantined { table, key, column, reason } = error else { return Err(error) };
        self.quarantine_add(&table, &key, &reason_of(&column, &reason)).await.map(drop)
    }

    /// Records what was found since the last time.
    pub(crate) async fn record_quarantine(&mut self, found: Vec<Finding>) -> Result<(), Error> {
        for Finding { table, key, reason } in found {
            self.quarantine_add(table, &key, &reason).await?;
        }
        Ok(())
    }

    pub(crate) fn readable<T>(
        &self,
        table: &'static Table,
        rows: &[Row],
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Vec<T> {
        rows.iter().filter_map(|row| self.decode(table, row, &decode).ok()).collect()
    }

    /// Decodes a row; one that cannot be is noted.
    pub(crate) fn decode<T>(
        &self,
        table: &'static Table,
        row: &Row,
        decode: impl Fn(&Row) -> Result<T, Error>,
    ) -> Result<T, Error> {
        decode(row).map_err(|error| {
            let Error::Unreadable { column, reason } = error else { return error };
            let key = table.key_of(row);
            self.quarantine().note(table.name, key.clone(), reason_of(&column, &reason));
            Error::Quarantined { table: table.name.to_owned(), key, column, reason }
        })
    }
}

/// What is wrong, as it is kept.
fn reason_of(column: &str, reason: &str) -> String {
    let text = format!("column {column}: {reason}");
    text.chars().filter(|c| *c != '\0').take(MAX_REASON_CHARS).collect()
}

fn is_full(rows: usize, limit: i64) -> bool {
    i64::try_from(rows).unwrap_or(i64::MAX) >= limit
}

#[async_trait]
impl QuarantineStore for Tx {
    async fn quarantine_list(&mut self, limit: u32) -> Result<Vec<QuarantinedRow>, Error> {
        let sql = "SELECT * FROM quarantined_rows ORDER BY first_seen_at, table_name, row_key
                   LIMIT $1";
        self.rows(sql, params![limit]).await?.iter().map(quarantined).collect()
    }

    async fn quarantine_count(&mut self) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS number FROM quarantined_rows";
        self.row(sql, &[]).await?.map_or(Ok(0), |row| row.get("number"))
    }

    async fn quarantine_add(
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

    async fn quarantine_has(&mut self, table: &str, key: &str) -> Result<bool, Error> {
        let sql = "SELECT row_key FROM quarantined_rows WHERE table_name = $1 AND row_key = $2";
        Ok(self.row(sql, params![table, key]).await?.is_some())
    }

    async fn quarantine_remove(&mut self, table: &str, key: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM quarantined_rows WHERE table_name = $1 AND row_key = $2";
        let is_removed = self.execute(sql, params![table, key]).await? == 1;
        if is_removed {
            tracing::info!(table, row.key = key, "row released from quarantine");
        }
        Ok(is_removed)
    }

    async fn write_probe(&mut self) -> Result<(), Error> {
        let sql = "UPDATE write_probe SET checked_at = cynode_now(), padding = $1 WHERE id = 1";
        self.execute(sql, params![vec![0_u8; PROBE_BYTES]]).await.map(drop)
    }

    async fn quarantine_recheck(&mut self) -> Result<u64, Error> {
        let limit = u32::try_from(MAX_RECORDED).unwrap_or(u32::MAX);
        let (mut released, mut left) = (0, HashSet::new());
        for QuarantinedRow { table: name, key, .. } in self.quarantine_list(limit).await? {
            let table = tables::find(&name);
            let is_bad = match table {
                Some(table) => match self.row(&table.select(), &table.params(&key)).await? {
                    Some(row) => (table.check)(&row).is_err(),
                    None => false,
                },
                // Found by somebody else, who also removes it.
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
