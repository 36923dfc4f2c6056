//! The transaction of an operation, to which each resource adds its methods.

use std::sync::Arc;

use cynode_sql::{Param, Row, Transaction, TransactionStage};
use deadpool_postgres::Object;

use crate::Error;
use crate::quarantine::Quarantine;

/// One transaction. [`crate::Store`] commits it when the operation succeeds, and rolls it back otherwise.
///
/// Statements are sent by this crate only, so it wraps [`Transaction`] instead of dereferencing to it.
pub struct Tx {
    transaction: Transaction,
    /// Collects rows that cannot be decoded.
    quarantine: Arc<Quarantine>,
}

impl Tx {
    pub(crate) fn postgres(client: Object) -> Self {
        Self { transaction: Transaction::postgres(client), quarantine: Arc::default() }
    }

    pub(crate) fn sqlite(connection: rusqlite::Connection) -> Self {
        Self { transaction: Transaction::sqlite(connection), quarantine: Arc::default() }
    }

    /// Collects rows that cannot be decoded in `quarantine`.
    pub(crate) fn with_quarantine(mut self, quarantine: &Arc<Quarantine>) -> Self {
        self.quarantine = Arc::clone(quarantine);
        self
    }

    pub(crate) fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// How many single statements it has sent.
    pub fn statement_count(&self) -> u64 {
        self.transaction.statement_count()
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        self.transaction.is_sqlite()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.transaction.is_lost()
    }

    pub(crate) fn was_rolled_back(&self) -> bool {
        self.transaction.was_rolled_back()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.transaction.has_failed()
    }

    pub(crate) fn clear_failure(&mut self) {
        self.transaction.clear_failure();
    }

    pub(crate) fn set_open(&mut self, is_open: bool) {
        self.transaction.set_open(is_open);
    }

    pub(crate) fn set_stage(&mut self, stage: TransactionStage) {
        self.transaction.set_stage(stage);
    }

    pub(crate) async fn end(&mut self, is_kept: bool) -> Result<(), Error> {
        self.transaction.end(is_kept).await
    }

    pub(crate) fn end_read(&mut self) {
        self.transaction.end_read();
    }

    pub(crate) async fn rows(&mut self, sql: &str, params: &[Param]) -> Result<Vec<Row>, Error> {
        self.transaction.rows(sql, params).await
    }

    pub(crate) async fn row(&mut self, sql: &str, params: &[Param]) -> Result<Option<Row>, Error> {
        self.transaction.row(sql, params).await
    }

    pub(crate) async fn plan(&mut self, sql: &str, params: &[Param]) -> Result<String, Error> {
        self.transaction.plan(sql, params).await
    }

    pub(crate) async fn execute(&mut self, sql: &str, params: &[Param]) -> Result<u64, Error> {
        self.transaction.execute(sql, params).await
    }

    pub(crate) async fn statement(&mut self, sql: &'static str) -> Result<(), Error> {
        self.transaction.statement(sql).await
    }

    pub(crate) async fn execute_all(
        &mut self,
        statements: &[(&str, &[Param])],
    ) -> Result<Vec<u64>, Error> {
        self.transaction.execute_all(statements).await
    }

    pub(crate) async fn commit_all(
        &mut self,
        queries: &[(&'static str, Vec<Param>)],
        inserts: &[(&str, &[Param])],
    ) -> Result<Vec<Vec<Row>>, Error> {
        self.transaction.commit_all(queries, inserts).await
    }

    pub(crate) async fn batch(&mut self, sql: &str) -> Result<(), Error> {
        self.transaction.batch(sql).await
    }
}
