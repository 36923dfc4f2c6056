//! The server engine: a connection pool, and a committer that lets appends share commits.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Config, ManagerConfig, Pool, PoolConfig, RecyclingMethod, Runtime, Timeouts,
};
use tokio::sync::mpsc;
use tokio_postgres::NoTls;

use crate::ledger::Entry;
use crate::ledger::lane::LedgerLane;
use crate::operation::{Body, Outcome, Queued, run_guarded};
use crate::quarantine::Quarantine;
use crate::tx::Stage;
use crate::workflow::lane::MoveLane;
use crate::{Error, Move, Moved, Notices, Tx};

const CONNECTIONS: usize = 16;
const STEADY_CONNECTIONS: usize = 8;
/// Statements are planned once, and look rows up by their keys: a plan that was made while tables were
/// empty stays good, and none is made anew for each call.
const STEADY: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off \
    -c enable_hashjoin=off -c enable_mergejoin=off -c enable_sort=off -c join_collapse_limit=1 \
    -c jit=off";
/// How long a caller waits for a connection before it is told that the database is busy.
const WAIT: Duration = Duration::from_secs(10);
/// Waiting appends; more than this and callers wait for room.
const QUEUE: usize = 1024;
/// Appends that share one commit at most.
const BATCH: usize = 256;

/// An open PostgreSQL database. The committer ends when the last clone is dropped.
#[derive(Clone)]
pub(crate) struct Postgres {
    url: Arc<str>,
    pool: Pool,
    /// For statements that are made all the time: see [`STEADY`].
    steady: Pool,
    appends: mpsc::Sender<Queued>,
    moves: MoveLane,
    entries: LedgerLane,
    pub(crate) quarantine: Arc<Quarantine>,
}

impl Postgres {
    /// Connects lazily; the first operation shows whether the server answers.
    pub(crate) fn open(url: &str) -> Result<Self, Error> {
        let mut config = Config::new();
        config.url = Some(url.to_owned());
        config.application_name = Some("cynode".to_owned());
        config.manager = Some(ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let timeouts = Timeouts { wait: Some(WAIT), create: Some(WAIT), recycle: Some(WAIT) };
        config.pool = Some(PoolConfig { timeouts, ..PoolConfig::new(CONNECTIONS) });
        let pool = config.create_pool(Some(Runtime::Tokio1), NoTls).map_err(Error::unavailable)?;
        config.options = Some(STEADY.to_owned());
        config.pool = Some(PoolConfig { timeouts, ..PoolConfig::new(STEADY_CONNECTIONS) });
        let steady =
            config.create_pool(Some(Runtime::Tokio1), NoTls).map_err(Error::unavailable)?;
        let (appends, queue) = mpsc::channel(QUEUE);
        spawn_committer(pool.clone(), queue);
        let moves = MoveLane::open(steady.clone());
        let entries = LedgerLane::open(steady.clone());
        let quarantine = Arc::default();
        Ok(Self { url: url.into(), pool, steady, appends, moves, entries, quarantine })
    }

    /// Runs `body` in a transaction of its own, opened by the statement `begin`.
    pub(crate) async fn run(&self, begin: &'static str, body: Body) -> Outcome {
        let client = self.pool.get().await.map_err(Error::from)?;
        let mut tx = Tx::postgres(client).noting_in(&self.quarantine);
        tx.set_open(true);
        tx.batch(begin).await?;
        tx.set_stage(Stage::Begun(begin));
        let outcome = run_guarded(body, &mut tx).await;
        let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = tx.batch(end).await;
        tx.set_open(ended.is_err());
        let value = outcome?;
        ended?;
        Ok(value)
    }

    /// Runs an operation in a transaction of its own, beside the caller; then what it has left to
    /// do.
    #[expect(clippy::disallowed_methods, reason = "ends by itself when the operation has")]
    pub(crate) fn run_beside(&self, operation: Queued) {
        let pool = self.pool.clone();
        tokio::spawn(async move {
            let mut next = Some(operation);
            while let Some(mut operation) = next {
                let done = run_one(&pool, &mut operation).await;
                next = operation.answer(done);
            }
        });
    }

    /// Runs `body`, whose statements are each a transaction of their own and find rows by keys.
    pub(crate) async fn run_bare(&self, body: Body) -> Outcome {
        let client = self.steady.get().await.map_err(Error::from)?;
        let mut tx = Tx::postgres(client).noting_in(&self.quarantine);
        // A caller that goes away in the middle of a statement takes the connection with it.
        tx.set_open(true);
        tx.set_stage(Stage::Bare);
        let outcome = run_guarded(body, &mut tx).await;
        tx.set_open(false);
        outcome
    }

    /// A connection for notices.
    pub(crate) async fn notices(&self) -> Result<Notices, Error> {
        Notices::open(&self.url).await
    }

    /// Writes a move together with others.
    pub(crate) async fn transit(&self, wanted: Arc<Move>) -> Result<Option<Moved>, Error> {
        self.moves.submit(wanted).await
    }

    /// Adds entries together with others.
    pub(crate) async fn enter(&self, entries: Vec<Entry>) -> Result<(), Error> {
        self.entries.submit(entries).await
    }

    pub(crate) async fn append(&self, operation: Queued) -> Result<(), Error> {
        self.appends.send(operation).await.map_err(|_| Error::Closed)
    }
}

#[expect(clippy::disallowed_methods, reason = "ends by itself when the store is dropped")]
fn spawn_committer(pool: Pool, mut queue: mpsc::Receiver<Queued>) {
    tokio::spawn(async move {
        while let Some(first) = queue.recv().await {
            commit_batch(&pool, first, &mut queue).await;
        }
    });
}

async fn commit_batch(pool: &Pool, first: Queued, queue: &mut mpsc::Receiver<Queued>) {
    let mut batch = vec![first];
    while batch.len() < BATCH
        && let Ok(next) = queue.try_recv()
    {
        batch.push(next);
    }
    let failure = run_batch(pool, &mut batch).await.err().map(Arc::new);
    for operation in batch {
        // Appends have nothing left to do.
        let _ = operation.answer(match &failure {
            Some(failure) => Err(Error::unavailable(Arc::clone(failure))),
            None => Ok(()),
        });
    }
}

async fn run_one(pool: &Pool, operation: &mut Queued) -> Result<(), Error> {
    let mut tx = Tx::postgres(pool.get().await?);
    tx.set_open(true);
    tx.batch("BEGIN").await?;
    let end = if operation.run(&mut tx).await { "COMMIT" } else { "ROLLBACK" };
    tx.batch(end).await?;
    tx.set_open(false);
    Ok(())
}

/// Each operation runs behind its own savepoint, so that its failure undoes nobody else's work.
async fn run_batch(pool: &Pool, batch: &mut [Queued]) -> Result<(), Error> {
    let mut tx = Tx::postgres(pool.get().await?);
    tx.set_open(true);
    tx.batch("BEGIN").await?;
    for operation in batch {
        tx.batch("SAVEPOINT operation").await?;
        let end = if operation.run(&mut tx).await {
            "RELEASE operation"
        } else {
            "ROLLBACK TO operation; RELEASE operation"
        };
        tx.batch(end).await?;
    }
    tx.batch("COMMIT").await?;
    tx.set_open(false);
    Ok(())
}
