//! The one writer of a chain: records that arrive while a commit waits for the disk share the next.
//!
//! A record is answered when it is durable, and refused when it is not known to be. Each call gets at
//! most one outcome; a call whose caller went away gets `error` / `interrupted`.
//!
//! Start at [`AuditLane::call`]. There is one [`Writer`], and it is in one place: it rests, or it is
//! on its way through the store. Whoever has a record for it and finds it at rest sends it on its
//! way; whatever arrives meanwhile it finds when it comes back. So no task stands between a caller
//! and the thread that commits.

mod writer;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CallId, ChainId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use self::writer::{Waiting, Writer};
use super::chain::ChainHead;
use super::{AuditCall, AuditOutcome, AuditRecord, sql};
use crate::operation::{Operation, Queued};
use crate::{Error, Store, Tx};

/// Waiting records; more than this and callers wait for room.
const QUEUE: usize = 1024;
/// How often outcomes nobody waits for are tried again while the database is away.
const RETRY: Duration = Duration::from_secs(1);

/// Tells the time of outcomes that the writer makes itself.
pub type Now = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The writing end of a chain. Cheap to clone.
#[derive(Clone)]
pub struct AuditLane(Arc<Lane>);

struct Lane {
    chain: ChainId,
    store: Store,
    queue: mpsc::Sender<Waiting>,
    /// Calls that nobody will report the end of. As many as there are calls going on at most.
    abandoned: mpsc::UnboundedSender<CallId>,
    /// The writer, while it rests.
    resting: Mutex<Option<Box<Writer>>>,
    runtime: Handle,
}

impl AuditLane {
    /// Takes a chain over where its last writer left it, or begins it. Calls that were going on then
    /// get their outcome. A chain whose newest records are not what its writer left is not gone
    /// on with: it stays as it is, as evidence, and a chain with the id `instead` is begun.
    pub async fn open(
        store: &Store,
        chain: ChainId,
        instead: ChainId,
        now: Now,
    ) -> Result<Self, Error> {
        let (head, open) = if let Some(left) = take_over(store, chain).await? {
            left
        } else {
            error!(chain.id = %chain, "audit chain {chain} was changed by somebody else: see `audit verify`");
            take_over(store, instead).await?.ok_or(Error::Closed)?
        };
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (abandoned, orphans) = mpsc::unbounded_channel();
        let (chain, is_left_open) = (head.chain, !open.is_empty());
        let mut writer = Writer::new(head, now, (waiting, orphans));
        writer.adopt(&open);
        let lane = Self(Arc::new(Lane {
            chain,
            store: store.clone(),
            queue,
            abandoned,
            resting: Mutex::new(Some(Box::new(writer))),
            runtime: Handle::current(),
        }));
        if is_left_open {
            lane.record(None).await?;
        }
        Ok(lane)
    }

    /// The chain that is written to.
    pub fn chain(&self) -> ChainId {
        self.0.chain
    }

    /// Records that a call was decided. A caller that goes away before it is answered is taken to
    /// have abandoned the call.
    pub async fn call(&self, call: AuditCall) -> Result<(), Error> {
        self.record(Some(AuditRecord::Call(Box::new(call)))).await
    }

    /// Records what came of a call; [`Error::Duplicate`] if that is known already.
    pub async fn outcome(&self, outcome: AuditOutcome) -> Result<(), Error> {
        self.record(Some(AuditRecord::Outcome(outcome))).await
    }

    /// Says that nobody will report the end of this call.
    pub fn abandon(&self, call: CallId) {
        // Without a writer the next start finds the call and closes it.
        let _ = self.0.abandoned.send(call);
        let lane = Arc::clone(&self.0);
        self.0.runtime.spawn(async move { lane.wake().await });
    }

    async fn record(&self, record: Option<AuditRecord>) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let waiting = Waiting { record, reply };
        self.0.queue.send(waiting).await.map_err(|_| Error::Closed)?;
        self.0.wake().await;
        answer.await.map_err(|_| Error::Closed)?
    }
}

impl Lane {
    /// Sends the writer on its way, if it rests. A store that is closed takes the writer with it, so
    /// that everybody who waits is told.
    async fn wake(self: &Arc<Self>) {
        if self.resting().is_some() {
            let visit = || self.resting().take().map(|writer| Visit::of(self, writer));
            let _ = self.store.hand_over(visit).await;
        }
    }

    fn resting(&self) -> MutexGuard<'_, Option<Box<Writer>>> {
        // Nobody panics while holding it.
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks again after a while, for outcomes that nobody asks about.
    fn wake_later(self: &Arc<Self>) {
        let lane: Weak<Self> = Arc::downgrade(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(RETRY).await;
            if let Some(lane) = lane.upgrade() {
                lane.wake().await;
            }
        });
    }
}

/// The writer on its way through the store.
struct Visit {
    lane: Arc<Lane>,
    writer: Box<Writer>,
    result: Option<Result<(), Error>>,
}

impl Visit {
    fn of(lane: &Arc<Lane>, writer: Box<Writer>) -> Queued {
        Box::new(Self { lane: Arc::clone(lane), writer, result: None })
    }
}

impl Operation for Visit {
    fn run<'a>(&'a mut self, tx: &'a mut Tx) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            tx.forget_failure();
            let written = AssertUnwindSafe(self.writer.write(tx)).catch_unwind().await;
            let result = written.unwrap_or_else(|_| Err(Error::misused("it panicked")));
            let keep = result.is_ok();
            self.result = Some(result);
            keep
        })
    }

    fn answer(mut self: Box<Self>, commit: Result<(), Error>) -> Option<Queued> {
        let outcome = match (self.result.take(), commit) {
            (Some(Ok(())), Ok(())) => Ok(()),
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::Closed),
        };
        if let Err(error) = &outcome {
            warn!(error = error as &dyn std::error::Error, "audit records were not written");
        }
        let is_written = outcome.is_ok();
        self.writer.answer(outcome);
        let Self { lane, writer, .. } = *self;
        let mut resting = lane.resting();
        // Looked at under the lock: whoever came too late for this look finds the writer at rest.
        if writer.is_waited_for() || is_written && writer.has_orphans() {
            drop(resting);
            return Some(Visit::of(&lane, writer));
        }
        let is_to_return = writer.has_orphans();
        *resting = Some(writer);
        drop(resting);
        if is_to_return {
            lane.wake_later();
        }
        None
    }
}

/// What a chain's last writer left: its head, and the calls that were going on.
type Left = (ChainHead, Vec<(i64, CallId)>);

/// Reads what the last writer left; nothing if that is not what is there.
async fn take_over(store: &Store, chain: ChainId) -> Result<Option<Left>, Error> {
    store
        .write(move |tx| {
            Box::pin(async move {
                let Some(head) = sql::chain_lock(tx, chain).await? else {
                    let head = ChainHead::new(chain);
                    sql::chain_insert(tx, &head).await?;
                    return Ok(Some((head, vec![])));
                };
                // The newest record, and nothing behind it.
                let last = sql::chain_records(tx, chain, head.seq - 1, 2).await?;
                let is_whole = match last.as_slice() {
                    [] => match sql::chain_anchor(tx, chain).await? {
                        Some((seq, hash)) => seq == head.seq && hash == head.hash,
                        None => head == ChainHead::new(chain),
                    },
                    [only] => {
                        let fits = only.record.as_ref().is_ok_and(|record| only.seal.fits(record));
                        fits && only.seal.seq == head.seq && only.seal.hash == head.hash
                    }
                    _ => false,
                };
                if !is_whole {
                    return Ok(None);
                }
                let open = sql::calls_open(tx, chain, head.open_from).await?;
                Ok(Some((head, open)))
            })
        })
        .await
}
