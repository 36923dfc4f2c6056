//! The one writer of a chain: records that arrive while a commit waits for the disk share the next.
//!
//! A record is answered when it is durable, and refused when it is not known to be. Each call gets at
//! most one outcome; a call whose caller went away gets `error` / `interrupted`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CallId, ChainId};
use cynode_domain::policy::{CallStatus, Effect};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, warn};

use super::chain::{ChainHead, Seal};
use super::{AuditCall, AuditOutcome, AuditRecord, sql};
use crate::{Error, Store};

/// Waiting records; more than this and callers wait for room.
const QUEUE: usize = 1024;
/// Records that share one commit at most.
const BATCH: usize = 256;
/// How often outcomes nobody waits for are tried again while the database is away.
const RETRY: Duration = Duration::from_secs(1);
/// The failure of a call that nobody saw the end of.
const INTERRUPTED: &str = "interrupted";

/// Tells the time of outcomes that the writer makes itself.
pub type Now = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// The writing end of a chain. Cheap to clone; the writer ends when the last clone is dropped.
#[derive(Clone)]
pub struct AuditLane {
    chain: ChainId,
    queue: mpsc::Sender<Waiting>,
    /// Calls that nobody will report the end of. As many as there are calls going on at most.
    abandoned: mpsc::UnboundedSender<CallId>,
}

struct Waiting {
    record: AuditRecord,
    reply: oneshot::Sender<Result<(), Error>>,
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
        let lane = Self { chain: head.chain, queue, abandoned };
        let mut writer = Writer::new(store.clone(), head, now);
        writer.adopt(&open);
        while !writer.open.is_empty() {
            writer.commit(vec![]).await?;
        }
        spawn_writer(writer, waiting, orphans);
        Ok(lane)
    }

    /// The chain that is written to.
    pub fn chain(&self) -> ChainId {
        self.chain
    }

    /// Records that a call was decided. A caller that goes away before it is answered is taken to
    /// have abandoned the call.
    pub async fn call(&self, call: AuditCall) -> Result<(), Error> {
        self.record(AuditRecord::Call(Box::new(call))).await
    }

    /// Records what came of a call; [`Error::Duplicate`] if that is known already.
    pub async fn outcome(&self, outcome: AuditOutcome) -> Result<(), Error> {
        self.record(AuditRecord::Outcome(outcome)).await
    }

    /// Says that nobody will report the end of this call.
    pub fn abandon(&self, call: CallId) {
        // Without a writer the next start finds the call and closes it.
        let _ = self.abandoned.send(call);
    }

    async fn record(&self, record: AuditRecord) -> Result<(), Error> {
        let (reply, answer) = oneshot::channel();
        let waiting = Waiting { record, reply };
        self.queue.send(waiting).await.map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

/// What a chain's last writer left: its head, and the calls that were going on.
type Left = (ChainHead, Vec<(i64, CallId)>);

/// Reads what the last writer left; nothing if that is not what is there.
async fn take_over(store: &Store, chain: ChainId) -> Result<Option<Left>, Error> {
    store
        .write(move |tx| {
            Box::pin(async move {
                let Some(head) = sql::chain_get(tx, chain).await? else {
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

#[expect(clippy::disallowed_methods, reason = "ends by itself when the lane is dropped")]
fn spawn_writer(
    mut writer: Writer,
    mut waiting: mpsc::Receiver<Waiting>,
    mut abandoned: mpsc::UnboundedReceiver<CallId>,
) {
    tokio::spawn(async move {
        loop {
            let mut batch = vec![];
            tokio::select! {
                taken = waiting.recv_many(&mut batch, BATCH) => if taken == 0 { return },
                Some(call) = abandoned.recv() => writer.orphans.push(call),
                () = tokio::time::sleep(RETRY), if !writer.orphans.is_empty() => {}
            }
            while let Ok(call) = abandoned.try_recv() {
                writer.orphans.push(call);
            }
            if let Err(error) = writer.commit(batch).await {
                warn!(error = &error as &dyn std::error::Error, "audit records were not written");
            }
        }
    });
}

/// The state of the one writer.
struct Writer {
    store: Store,
    head: ChainHead,
    now: Now,
    /// Calls that were let through and have no outcome, with their places.
    open: HashMap<CallId, i64>,
    open_places: BTreeSet<i64>,
    /// Open calls that nobody will report the end of.
    orphans: Vec<CallId>,
    /// A commit whose fate is not known: the database did not answer.
    unsure: Option<(ChainHead, Vec<AuditRecord>)>,
}

impl Writer {
    fn new(store: Store, head: ChainHead, now: Now) -> Self {
        let (open, open_places) = (HashMap::new(), BTreeSet::new());
        Self { store, head, now, open, open_places, orphans: vec![], unsure: None }
    }

    /// Takes over calls that were going on under another writer.
    fn adopt(&mut self, calls: &[(i64, CallId)]) {
        for (seq, call) in calls {
            self.open.insert(*call, *seq);
            self.open_places.insert(*seq);
            self.orphans.push(*call);
        }
    }

    /// Writes a batch, and the outcomes of orphans, in one transaction; answers everybody in it.
    async fn commit(&mut self, batch: Vec<Waiting>) -> Result<(), Error> {
        let (records, replies) = self.admit(batch);
        if records.is_empty() {
            return Ok(());
        }
        let outcome = match self.settle().await {
            Ok(()) => self.write(records).await,
            Err(error) => Err(error),
        };
        let failure = outcome.err().map(Arc::new);
        for (call, reply) in replies {
            let answer = match &failure {
                Some(failure) => Err(Error::unavailable(Arc::clone(failure))),
                None => Ok(()),
            };
            let is_begun = answer.is_ok();
            // A caller that went away will not make the call, nor report its end.
            if let (Err(_), true, Some(call)) = (reply.send(answer), is_begun, call) {
                self.orphans.push(call);
            }
        }
        match failure {
            Some(failure) => Err(Error::unavailable(failure)),
            None => Ok(()),
        }
    }

    /// Refuses second outcomes, and adds those of orphans.
    fn admit(&mut self, batch: Vec<Waiting>) -> (Vec<AuditRecord>, Vec<Reply>) {
        let (mut records, mut replies, mut ended) = (vec![], vec![], BTreeSet::new());
        for Waiting { record, reply } in batch {
            let begun = match &record {
                AuditRecord::Call(call) => (call.decision == Effect::Allow).then_some(call.id),
                AuditRecord::Outcome(outcome) => {
                    if !self.open.contains_key(&outcome.call) || !ended.insert(outcome.call) {
                        let constraint = "one outcome for each call".to_owned();
                        let _ = reply.send(Err(Error::Duplicate { constraint }));
                        continue;
                    }
                    None
                }
            };
            records.push(record);
            replies.push((begun, reply));
        }
        self.orphans.retain(|call| self.open.contains_key(call));
        let room = BATCH.saturating_sub(records.len()).max(1);
        for call in self.orphans.iter().take(room) {
            if ended.insert(*call) {
                records.push(AuditRecord::Outcome(AuditOutcome {
                    call: *call,
                    status: CallStatus::Error,
                    error_type: Some(INTERRUPTED.to_owned()),
                    duration_ms: None,
                    recorded_at: (self.now)(),
                }));
            }
        }
        (records, replies)
    }

    async fn write(&mut self, records: Vec<AuditRecord>) -> Result<(), Error> {
        let (old, mut new) = (self.head.clone(), self.head.clone());
        let sealed: Vec<(AuditRecord, Seal)> =
            records.iter().map(|record| (record.clone(), new.seal(record))).collect();
        for (record, seal) in &sealed {
            if let AuditRecord::Call(call) = record
                && call.decision == Effect::Allow
            {
                self.open.insert(call.id, seal.seq);
                self.open_places.insert(seal.seq);
            }
        }
        // Calls that end in this batch still count: the next one moves on.
        new.open_from = self.open_places.first().copied().unwrap_or(new.seq + 1);
        self.unsure = Some((new.clone(), records));
        self.store
            .write(move |tx| {
                Box::pin(async move { sql::chain_append(tx, &old, &new, &sealed).await })
            })
            .await?;
        self.conclude();
        Ok(())
    }

    /// The last commit happened.
    fn conclude(&mut self) {
        let Some((head, records)) = self.unsure.take() else {
            return;
        };
        self.head = head;
        for record in records {
            if let AuditRecord::Outcome(outcome) = record
                && let Some(seq) = self.open.remove(&outcome.call)
            {
                self.open_places.remove(&seq);
            }
        }
    }

    /// Finds out what became of a commit that was not answered.
    async fn settle(&mut self) -> Result<(), Error> {
        let Some((attempted, records)) = &self.unsure else {
            return Ok(());
        };
        let chain = self.head.chain;
        let found = self
            .store
            .read(move |tx| Box::pin(async move { sql::chain_get(tx, chain).await }))
            .await?
            .ok_or(Error::Closed)?;
        let begun: Vec<CallId> = records.iter().filter_map(begun).collect();
        if found.seq == attempted.seq && found.hash == attempted.hash {
            // Its callers were told that it failed, so none of its calls was made.
            self.conclude();
            self.orphans.extend(begun);
            return Ok(());
        }
        self.unsure = None;
        for call in begun {
            if let Some(seq) = self.open.remove(&call) {
                self.open_places.remove(&seq);
            }
        }
        if found.seq != self.head.seq || found.hash != self.head.hash {
            warn!(chain.id = %chain, "audit chain {chain} has another writer; going on behind it");
            self.head = found;
        }
        Ok(())
    }
}

/// Who waits, and for which call to begin.
type Reply = (Option<CallId>, oneshot::Sender<Result<(), Error>>);

fn begun(record: &AuditRecord) -> Option<CallId> {
    match record {
        AuditRecord::Call(call) => (call.decision == Effect::Allow).then_some(call.id),
        AuditRecord::Outcome(_) => None,
    }
}
