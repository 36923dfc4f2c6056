//! Writes that share a commit with the writes of concurrent callers.
//!
//! Start at [`Store::batch`]. A [`BatchWrite`] is a fixed list of statements: nothing is read between them, so
//! PostgreSQL receives the statements of many callers in one round trip ([`committer`]). On SQLite the writer
//! thread commits every operation in groups anyway, so a batch write is an operation like any other.
//!
//! Invariant: the failure of one caller's write affects no other caller.

pub(crate) mod committer;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::column::Row;
use crate::multi_insert::InsertStatements;
use crate::param::Param;
use crate::store::StoreBackend;
use crate::tx::check_params;
use crate::{Error, Store, Tx};

/// A write that shares its commit. Implemented in this crate only.
pub trait BatchWrite: Send + Sync + 'static {
    /// What the caller learns once the write is durable.
    type Output: Send + 'static;

    /// The statements for PostgreSQL. They wait for no lock: a row that another transaction has locked is skipped.
    #[doc(hidden)]
    fn statements(&self) -> Result<BatchStatements, Error>;

    /// The output, from the rows that each statement of [`BatchStatements::queries`] returned.
    #[doc(hidden)]
    fn output(&self, returned: BatchRows) -> Result<Self::Output, Error>;

    /// The same write inside a transaction, on SQLite.
    #[doc(hidden)]
    fn run<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<Self::Output, Error>>;
}

impl<W: BatchWrite> BatchWrite for Arc<W> {
    type Output = W::Output;

    fn statements(&self) -> Result<BatchStatements, Error> {
        W::statements(self)
    }

    fn output(&self, returned: BatchRows) -> Result<Self::Output, Error> {
        W::output(self, returned)
    }

    fn run<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<Self::Output, Error>> {
        W::run(self, tx)
    }
}

/// The rows that each query of a batch write returned.
#[derive(Default)]
pub struct BatchRows(pub(crate) Vec<Vec<Row>>);

impl BatchRows {
    /// The first row of the first query.
    pub(crate) fn first(&self) -> Option<&Row> {
        self.0.first()?.first()
    }
}

/// What a batch write sends to PostgreSQL.
#[derive(Default)]
pub struct BatchStatements {
    /// Statements whose rows the caller reads.
    queries: Vec<(&'static str, Vec<Param>)>,
    /// Rows to insert; rows for one table are inserted together, whichever callers they come from.
    rows: Vec<(&'static InsertStatements, Vec<Param>)>,
}

impl BatchStatements {
    /// One statement whose rows the caller reads.
    pub(crate) fn query(sql: &'static str, params: Vec<Param>) -> Result<Self, Error> {
        check_params(&params)?;
        Ok(Self { queries: vec![(sql, params)], rows: vec![] })
    }

    pub(crate) fn insert(
        &mut self,
        table: &'static InsertStatements,
        values: impl IntoIterator<Item = Param>,
    ) {
        match self.rows.iter_mut().find(|(known, _)| std::ptr::eq(*known, table)) {
            Some((_, all)) => all.extend(values),
            None => self.rows.push((table, values.into_iter().collect())),
        }
    }

    /// Fails if a value is one that PostgreSQL cannot store.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        self.rows.iter().try_for_each(|(_, values)| check_params(values))?;
        Ok(self)
    }

    /// Adds the rows of another write, and returns the number of its queries.
    fn merge(&mut self, other: &Self) -> usize {
        self.queries.extend(other.queries.iter().cloned());
        for (table, values) in &other.rows {
            self.insert(table, values.iter().cloned());
        }
        other.queries.len()
    }

    fn is_empty(&self) -> bool {
        self.queries.is_empty() && self.rows.is_empty()
    }

    /// The approximate size of the text in it.
    fn bytes(&self) -> usize {
        let queries = self.queries.iter().flat_map(|(_, params)| params);
        let rows = self.rows.iter().flat_map(|(_, values)| values);
        queries.chain(rows).map(Param::text_bytes).sum()
    }

    /// The inserts, as few statements as possible.
    pub(crate) fn inserts(&self, is_sqlite: bool) -> Vec<(&str, &[Param])> {
        self.rows.iter().flat_map(|(table, values)| table.for_values(values, is_sqlite)).collect()
    }
}

impl Store {
    /// Runs a write that shares its commit with those of concurrent callers. A write that was submitted is
    /// committed also if the caller goes away.
    pub async fn batch<W: BatchWrite>(&self, write: W) -> Result<W::Output, Error> {
        match &self.0 {
            StoreBackend::Postgres(postgres) => {
                let returned = postgres.submit(write.statements()?).await?;
                write.output(returned)
            }
            StoreBackend::Sqlite(_) => {
                self.write(move |tx| Box::pin(async move { write.run(tx).await })).await
            }
        }
    }
}
