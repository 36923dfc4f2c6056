//! Writes that share a commit with the writes of concurrent callers.
//!
//! Start at [`Store::batch`]. A [`BatchWrite`] is a fixed list of statements: nothing is read between them, so
//! PostgreSQL receives the statements of many callers in one round trip ([`committer`]), and those with the same text
//! as one statement ([`merged`]). On SQLite the writer thread commits every operation in groups anyway, so a batch
//! write is an operation like any other.
//!
//! Invariant: the failure of one caller's write affects no other caller.

pub(crate) mod committer;
mod merged;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub(crate) use self::merged::one_item;
use crate::store::StoreBackend;
use crate::{Error, Store, Tx};
use cynode_sql::{InsertStatements, Param, Row, check_params};

/// A write that shares its commit. Implemented in this crate only.
pub trait BatchWrite: Send + Sync + 'static {
    /// What the caller learns once the write is durable.
    type Output: Send + 'static;

    /// The statements for PostgreSQL. They wait for no lock: a row that another transaction has locked is skipped.
    #[doc(hidden)]
    fn statements(&self) -> Result<BatchStatements, Error>;

    /// The output, from the row that [`BatchStatements::item`] returned.
    #[doc(hidden)]
    fn output(&self, returned: ReturnedRow) -> Result<Self::Output, Error>;

    /// The same write inside a transaction, on SQLite.
    #[doc(hidden)]
    fn run<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<Self::Output, Error>>;
}

impl<W: BatchWrite> BatchWrite for Arc<W> {
    type Output = W::Output;

    fn statements(&self) -> Result<BatchStatements, Error> {
        W::statements(self)
    }

    fn output(&self, returned: ReturnedRow) -> Result<Self::Output, Error> {
        W::output(self, returned)
    }

    fn run<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<Self::Output, Error>> {
        W::run(self, tx)
    }
}

/// The row that the item of a batch write returned, if any.
#[derive(Default)]
pub struct ReturnedRow(pub(crate) Option<Row>);

/// What a batch write sends to PostgreSQL.
#[derive(Default)]
pub struct BatchStatements {
    /// A statement for any number of items, and the values of this write's item: `$1` is the array of the first
    /// values of all items, and so on. It returns at most one row for each item, with the item's position, from 1,
    /// in the column `item`.
    item: Option<(&'static str, Vec<Param>)>,
    /// Rows to insert; rows for one table are inserted together, whichever callers they come from.
    rows: Vec<(&'static InsertStatements, Vec<Param>)>,
}

impl BatchStatements {
    /// One item of a statement for any number of items.
    pub(crate) fn item(sql: &'static str, values: Vec<Param>) -> Result<Self, Error> {
        check_params(&values)?;
        Ok(Self { item: Some((sql, values)), rows: vec![] })
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

    fn is_empty(&self) -> bool {
        self.item.is_none() && self.rows.is_empty()
    }

    /// The approximate size of the text in it.
    fn bytes(&self) -> usize {
        let item = self.item.iter().flat_map(|(_, values)| values);
        let rows = self.rows.iter().flat_map(|(_, values)| values);
        item.chain(rows).map(Param::text_bytes).sum()
    }

    /// The inserts, as few statements as possible.
    pub(crate) fn inserts(&self, is_sqlite: bool) -> Vec<(&str, &[Param])> {
        self.rows.iter().flat_map(|(table, values)| table.for_values(values, is_sqlite)).collect()
    }
}

impl Store {
    /// Runs a write that shares its commit with those of concurrent callers. A write that was submitted is
    /// committed also if the caller is dropped.
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
