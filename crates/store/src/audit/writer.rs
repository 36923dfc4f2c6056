//! The writer of a chain: records that arrive during a commit share the next commit.
//!
//! A record is acknowledged when it is durable, and rejected if it is not known to be. Each call gets at most
//! one outcome; a call whose caller disconnected gets `error` / `interrupted`.
//!
//! Start at [`AuditWriter::call`]. There is one [`ChainWriter`] per chain: it is either idle in [`AuditWriterInner`], or queued in
//! the store as an operation. A caller that finds it idle enqueues it; records that arrive meanwhile wait in
//! its queue and are written when it completes. So no task runs between a caller and the thread that commits.

mod chain_writer;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_audit::{
    AuditCall, AuditKeys, AuditOutcome, AuditRecord, ChainHead, ChainPosition, SignedClaim,
    SignedPosition,
};
use cynode_domain::ids::{CallId, ChainId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, warn};

use self::chain_writer::{ChainWriter, PendingRecord};
use super::sql;
use crate::operation::{Operation, Queued};
use crate::{Error, Store, Tx};

/// Capacity of the queue; further callers wait.
const QUEUE: usize = 1024;
/// The retry interval for outcomes of abandoned calls while the database is unavailable.
const RETRY: Duration = Duration::from_secs(1);

/// The clock for outcomes that the writer creates itself.
pub type NowFn = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// A handle to the writer of a chain. Cheap to clone.
#[derive(Clone)]
pub struct AuditWriter(Arc<AuditWriterInner>);

struct AuditWriterInner {
    /// The head after the last commit.
    committed: watch::Receiver<ChainHead>,
    store: Store,
    queue: mpsc::Sender<PendingRecord>,
    /// Calls whose caller will report no outcome; at most as many as there are open calls.
    abandoned_calls: mpsc::UnboundedSender<CallId>,
    /// The writer while it is idle.
    idle_writer: Mutex<Option<Box<ChainWriter>>>,
    runtime: Handle,
}

impl AuditWriter {
    /// Resumes a chain after its previous writer, or creates it. Calls that were open get an outcome. A chain
    /// whose newest records do not match its head, whose head is not signed, or that does not contain the `known`
    /// position is not extended: it is kept as evidence, and a chain with the id `instead` is created.
    pub async fn open(
        store: &Store,
        chain: ChainId,
        known: Option<ChainPosition>,
        instead: ChainId,
        keys: Arc<AuditKeys>,
        now: NowFn,
    ) -> Result<Self, Error> {
        let (head, open) = if let Some(left) = resume_chain(store, chain, known, &keys).await? {
            left
        } else {
            error!(chain.id = %chain, "audit chain {chain} was modified outside CyNode: run `audit verify`");
            resume_chain(store, instead, None, &keys).await?.ok_or(Error::Closed)?
        };
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (abandoned, orphans) = mpsc::unbounded_channel();
        let (sender, committed) = watch::channel(head);
        let is_left_open = !open.is_empty();
        let mut writer = ChainWriter::new(sender, keys, now, waiting, orphans);
        writer.adopt_calls(&open);
        let lane = Self(Arc::new(AuditWriterInner {
            committed,
            store: store.clone(),
            queue,
            abandoned_calls: abandoned,
            idle_writer: Mutex::new(Some(Box::new(writer))),
            runtime: Handle::current(),
        }));
        if is_left_open {
            lane.record(None).await?;
        }
        Ok(lane)
    }

    pub fn chain(&self) -> ChainId {
        self.head().chain
    }

    /// The position of the newest record that is durable.
    pub fn head(&self) -> ChainPosition {
        self.0.committed.borrow().position()
    }

    /// Records the decision on a call. If the caller disconnects before the reply, the call counts as
    /// abandoned.
    pub async fn call(&self, call: AuditCall) -> Result<(), Error> {
        self.record(Some(AuditRecord::Call(Box::new(call)))).await
    }

    /// Records the outcome of a call; [`Error::Duplicate`] if it has one.
    pub async fn record_outcome(&self, outcome: AuditOutcome) -> Result<(), Error> {
        self.record(Some(AuditRecord::Outcome(outcome))).await
    }

    /// Marks a call as abandoned: its caller will report no outcome.
    pub fn abandon_call(&self, call: CallId) {
        // If the writer is gone, the next process that opens the chain closes the call.
        let _ = self.0.abandoned_calls.send(call);
        let lane = Arc::clone(&self.0);
        self.0.runtime.spawn(async move { lane.enqueue_if_idle().await });
    }

    async fn record(&self, record: Option<AuditRecord>) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let waiting = PendingRecord { record, reply };
        self.0.queue.send(waiting).await.map_err(|_| Error::Closed)?;
        self.0.enqueue_if_idle().await;
        answer.await.map_err(|_| Error::Closed)?
    }
}

impl AuditWriterInner {
    /// Enqueues the writer if it is idle. A closed store drops the writer, which fails all waiting callers.
    async fn enqueue_if_idle(self: &Arc<Self>) {
        if self.lock_idle_writer().is_some() {
            let visit = || {
                self.lock_idle_writer()
                    .take()
                    .map(|writer| ChainWriteOperation::new_queued(self, writer))
            };
            let _ = self.store.enqueue_operation(visit).await;
        }
    }

    fn lock_idle_writer(&self) -> MutexGuard<'_, Option<Box<ChainWriter>>> {
        // No code panics while holding the lock.
        self.idle_writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retries later to write outcomes of abandoned calls.
    fn retry_later(self: &Arc<Self>) {
        let lane: Weak<Self> = Arc::downgrade(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(RETRY).await;
            if let Some(lane) = lane.upgrade() {
                lane.enqueue_if_idle().await;
            }
        });
    }
}

/// The writer as an operation in the queue of the store.
struct ChainWriteOperation {
    lane: Arc<AuditWriterInner>,
    writer: Box<ChainWriter>,
    result: Option<Result<(), Error>>,
}

impl ChainWriteOperation {
    fn new_queued(lane: &Arc<AuditWriterInner>, writer: Box<ChainWriter>) -> Queued {
        Box::new(Self { lane: Arc::clone(lane), writer, result: None })
    }
}

impl Operation for ChainWriteOperation {
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            tx.clear_failure();
            let written = AssertUnwindSafe(self.writer.write_pending(tx)).catch_unwind().await;
            let result = written.unwrap_or_else(|_| Err(Error::invalid_operation("it panicked")));
            let keep = result.is_ok();
            self.result = Some(result);
            keep
        })
    }

    fn reply(mut self: Box<Self>, commit: Result<(), Error>) -> Option<Queued> {
        let outcome = match (self.result.take(), commit) {
            (Some(Ok(())), Ok(())) => Ok(()),
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::Closed),
        };
        if let Err(error) = &outcome {
            warn!(error = error as &dyn std::error::Error, "audit records were not written");
        }
        let is_written = outcome.is_ok();
        self.writer.reply_all(outcome);
        let Self { lane, writer, .. } = *self;
        let mut resting = lane.lock_idle_writer();
        // Checked under the lock: a caller whose record arrives after this check finds the writer idle.
        if writer.has_pending() || is_written && writer.has_orphans() {
            drop(resting);
            return Some(ChainWriteOperation::new_queued(&lane, writer));
        }
        let is_to_return = writer.has_orphans();
        *resting = Some(writer);
        drop(resting);
        if is_to_return {
            lane.retry_later();
        }
        None
    }
}

/// The head of a chain and its open calls, as the previous writer left them.
type ResumedChain = (ChainHead, Vec<(i64, CallId)>);

/// Locks and reads the chain, which begins here if it is new; `None` if it was changed by something else.
async fn resume_chain(
    store: &Store,
    chain: ChainId,
    known: Option<ChainPosition>,
    keys: &Arc<AuditKeys>,
) -> Result<Option<ResumedChain>, Error> {
    let keys = Arc::clone(keys);
    store
        .write(move |tx| {
            Box::pin(async move {
                sql::chain_ensure(tx, chain, &keys).await?;
                let (head, signature) = sql::chain_lock(tx, chain).await?.ok_or(Error::Closed)?;
                let signed = SignedPosition { position: head.position(), signature };
                if !signed.is_signed(SignedClaim::Head, &keys)
                    || !ends_at_head(tx, &head).await?
                    || !contains(tx, known, &head).await?
                {
                    return Ok(None);
                }
                let open = sql::calls_open(tx, chain, head.open_from).await?;
                Ok(Some((head, open)))
            })
        })
        .await
}

/// Whether the newest record is the head.
async fn ends_at_head(tx: &mut Tx, head: &ChainHead) -> Result<bool, Error> {
    // The newest record, and no record after it.
    let last = tx.chain_records(head.chain, head.seq, 2).await?;
    Ok(match last.as_slice() {
        [] => match tx.chain_anchor(head.chain).await? {
            Some(anchor) => anchor.position == head.position(),
            None => *head == ChainHead::new(head.chain),
        },
        [only] => {
            let fits = only.record.as_ref().is_ok_and(|record| only.seal.matches(record));
            fits && only.seal.seq == head.seq && only.seal.hash == head.hash
        }
        _ => false,
    })
}

/// Whether the chain contains the known position, or has deleted it because of its age.
async fn contains(
    tx: &mut Tx,
    known: Option<ChainPosition>,
    head: &ChainHead,
) -> Result<bool, Error> {
    let Some(known) = known else { return Ok(true) };
    if known.seq >= head.seq {
        return Ok(known == head.position());
    }
    let anchor = tx.chain_anchor(known.chain).await?;
    if anchor.is_some_and(|anchor| anchor.position.seq >= known.seq) || known.seq == 0 {
        return Ok(true);
    }
    let record = tx.chain_records(known.chain, known.seq, 1).await?;
    Ok(record.first().is_some_and(|found| found.seal.hash == known.hash))
}
