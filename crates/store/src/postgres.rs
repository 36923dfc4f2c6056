//! PostgreSQL: a connection pool, and a committer for batch writes.

use std::sync::Arc;
use std::time::Duration;

use cynode_sql::{Param, PostgresAddress, Row, TransactionStage};
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};

use crate::batch::committer::{BatchCommitter, WRITERS};
use crate::batch::{BatchStatements, ReturnedRow};
use crate::operation::{OperationBody, OperationResult, Queued, run_guarded};
use crate::quarantine::Quarantine;
use crate::{Error, NotificationChannel, Tx};

const CONNECTIONS: usize = 16;
/// For claims: one runs while another waits for a lock.
const CLAIM_CONNECTIONS: usize = 2;
/// For every connection: statements find rows through indexes, also with a plan that was made while tables were
/// empty.
const USE_INDEXES: &str = "-c enable_seqscan=off -c jit=off";
/// For claims and batches: statements are planned once, and find rows by their keys.
const PLAN_ONCE: &str = "-c plan_cache_mode=force_generic_plan -c enable_hashjoin=off \
    -c enable_mergejoin=off -c enable_sort=off -c join_collapse_limit=1";
/// For batches: a row that another transaction has locked does not delay the writes of other callers.
const SHORT_WAITS: &str = "-c lock_timeout=50ms";
/// How long a caller waits for a connection before the database counts as busy.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
const WRITE: &str = "BEGIN";
/// All statements of a reader see the same snapshot.
const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// An open PostgreSQL database. The committer ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Postgres {
    address: Arc<PostgresAddress>,
    pool: Pool,
    /// Connections that plan each statement once.
    claims: Pool,
    committer: BatchCommitter,
    pub(crate) quarantine: Arc<Quarantine>,
}

impl Postgres {
    /// Connects lazily; the first operation shows whether the server is reachable.
    pub(crate) fn open(url: &str) -> Result<Self, Error> {
        let mut address = PostgresAddress::parse(url)?;
        address.config.application_name("cynode");
        let create_pool = |connections: usize, options: &str| {
            let mut config = address.config.clone();
            config.options(format!("{USE_INDEXES} {options}"));
            let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
            let manager = Manager::from_config(config, address.tls.clone(), manager);
            let pool = Pool::builder(manager)
                .max_size(connections)
                .wait_timeout(Some(CONNECTION_TIMEOUT))
                .create_timeout(Some(CONNECTION_TIMEOUT))
                .recycle_timeout(Some(CONNECTION_TIMEOUT))
                .runtime(Runtime::Tokio1);
            pool.build().map_err(Error::unavailable)
        };
        let pool = create_pool(CONNECTIONS, "")?;
        let claims = create_pool(CLAIM_CONNECTIONS, PLAN_ONCE)?;
        let writers = create_pool(WRITERS, &format!("{PLAN_ONCE} {SHORT_WAITS}"))?;
        let committer = BatchCommitter::start(&writers);
        Ok(Self { address: Arc::new(address), pool, claims, committer, quarantine: Arc::default() })
    }

    /// Runs `body` in a transaction of its own.
    pub(crate) async fn write(&self, body: OperationBody) -> OperationResult {
        self.write_through(&self.pool, body).await
    }

    /// Runs a claim in a transaction of its own.
    pub(crate) async fn claim(&self, body: OperationBody) -> OperationResult {
        self.write_through(&self.claims, body).await
    }

    async fn write_through(&self, pool: &Pool, body: OperationBody) -> OperationResult {
        let mut tx = self.begin(pool, WRITE).await?;
        let outcome = run_guarded(body, &mut tx).await;
        let ended = tx.end(outcome.is_ok()).await;
        let value = outcome?;
        ended?;
        Ok(value)
    }

    /// Runs `body` on one consistent snapshot.
    pub(crate) async fn read(&self, body: OperationBody) -> OperationResult {
        let mut tx = self.begin(&self.pool, READ).await?;
        let outcome = run_guarded(body, &mut tx).await;
        tx.end_read();
        outcome
    }

    async fn begin(&self, pool: &Pool, begin: &'static str) -> Result<Tx, Error> {
        let client = pool.get().await?;
        let mut tx = Tx::postgres(client).with_quarantine(&self.quarantine);
        tx.set_open(true);
        tx.set_stage(TransactionStage::NotBegun(begin));
        Ok(tx)
    }

    /// Spawns an operation in its own transaction, followed by the operations that it returns.
    #[expect(clippy::disallowed_methods, reason = "ends by itself when the operation has")]
    pub(crate) fn spawn_operation(&self, operation: Queued) {
        let pool = self.pool.clone();
        tokio::spawn(async move {
            let mut next = Some(operation);
            while let Some(mut operation) = next {
                let done = run_in_transaction(&pool, &mut operation).await;
                next = operation.reply(done);
            }
        });
    }

    /// Opens a connection for notifications.
    pub(crate) async fn open_notifications(&self) -> Result<NotificationChannel, Error> {
        NotificationChannel::open(&self.address).await
    }

    /// Commits statements together with those of concurrent callers; returns the row of the item.
    pub(crate) async fn submit(&self, statements: BatchStatements) -> Result<ReturnedRow, Error> {
        self.committer.submit(statements).await
    }

    /// Commits statements that may wait for locks, in a transaction of their own and one round trip.
    pub(crate) async fn commit_statements(
        &self,
        queries: &[(&'static str, Vec<Param>)],
    ) -> Result<Vec<Vec<Row>>, Error> {
        let mut tx = Tx::postgres(self.pool.get().await?);
        // If the caller is dropped in the middle, the connection is closed.
        tx.set_open(true);
        let returned = tx.commit_all(queries, &[]).await;
        tx.set_open(false);
        returned
    }
}

async fn run_in_transaction(pool: &Pool, operation: &mut Queued) -> Result<(), Error> {
    let mut tx = Tx::postgres(pool.get().await?);
    tx.set_open(true);
    tx.batch("BEGIN").await?;
    let end = if operation.run(&mut tx).await { "COMMIT" } else { "ROLLBACK" };
    tx.batch(end).await?;
    tx.set_open(false);
    Ok(())
}
