//! What the one writer of a chain knows: where the chain ends, and which calls are open.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cynode_domain::ids::CallId;
use cynode_domain::policy::{CallStatus, Effect, ErrorKind};
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::Now;
use crate::audit::chain::{ChainHead, Seal};
use crate::audit::{AuditOutcome, AuditRecord, sql};
use crate::{Error, Tx};

/// Records that share one commit at most, beside outcomes that nobody waits for.
const BATCH: usize = 256;

/// Somebody who waits for a record to be durable; without a record, for outcomes of orphans.
pub(super) struct Waiting {
    pub(super) record: Option<AuditRecord>,
    pub(super) reply: Reply,
}

type Reply = oneshot::Sender<Result<(), Error>>;

/// The state of the one writer.
pub(super) struct Writer {
    head: ChainHead,
    now: Now,
    waiting: mpsc::Receiver<Waiting>,
    abandoned: mpsc::UnboundedReceiver<CallId>,
    /// Calls that were let through and have no outcome, with their places.
    open: HashMap<CallId, i64>,
    open_places: BTreeSet<i64>,
    /// Open calls that nobody will report the end of.
    orphans: Vec<CallId>,
    /// Whom this visit to the database answers, and which call each of them would begin.
    replies: Vec<(Option<CallId>, Reply)>,
    /// A commit whose fate is not known: it is under way, or the database did not answer.
    unsure: Option<(ChainHead, Vec<(AuditRecord, Seal)>)>,
}

impl Writer {
    pub(super) fn new(
        head: ChainHead,
        now: Now,
        (waiting, abandoned): (mpsc::Receiver<Waiting>, mpsc::UnboundedReceiver<CallId>),
    ) -> Self {
        Self {
            head,
            now,
            waiting,
            abandoned,
            open: HashMap::new(),
            open_places: BTreeSet::new(),
            orphans: vec![],
            replies: vec![],
            unsure: None,
        }
    }

    /// Takes over calls that were going on under another writer.
    pub(super) fn adopt(&mut self, calls: &[(i64, CallId)]) {
        for (seq, call) in calls {
            self.open.insert(*call, *seq);
            self.open_places.insert(*seq);
            self.orphans.push(*call);
        }
    }

    /// Whether somebody waits for an answer, or has told of a call that was abandoned.
    pub(super) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty() || !self.abandoned.is_empty()
    }

    /// Whether there are calls whose end nobody will report.
    pub(super) fn has_orphans(&self) -> bool {
        !self.orphans.is_empty()
    }

    /// Writes what waits, and the outcomes of orphans, in the transaction `tx`.
    pub(super) async fn write(&mut self, tx: &mut Tx) -> Result<(), Error> {
        let records = self.admit();
        self.settle(tx).await?;
        let records = self.with_orphans(records);
        if records.is_empty() {
            return Ok(());
        }
        let mut new = self.head.clone();
        let sealed = self.seal(&mut new, records);
        // Calls that end in this batch still count: the next one moves on.
        new.open_from = self.open_places.first().copied().unwrap_or(new.seq + 1);
        let (new, sealed) = &*self.unsure.insert((new, sealed));
        sql::chain_append(tx, &self.head, new, sealed).await
    }

    /// Takes what waits; refuses second outcomes.
    fn admit(&mut self) -> Vec<AuditRecord> {
        let (mut records, mut ended) = (vec![], BTreeSet::new());
        while records.len() < BATCH
            && let Ok(Waiting { record, reply }) = self.waiting.try_recv()
        {
            if let Some(AuditRecord::Outcome(outcome)) = &record
                && (!self.open.contains_key(&outcome.call) || !ended.insert(outcome.call))
            {
                let constraint = "one outcome for each call".to_owned();
                let _ = reply.send(Err(Error::Duplicate { constraint }));
                continue;
            }
            self.replies.push((record.as_ref().and_then(begun), reply));
            records.extend(record);
        }
        records
    }

    /// Adds the outcomes of calls that nobody will report the end of.
    fn with_orphans(&mut self, mut records: Vec<AuditRecord>) -> Vec<AuditRecord> {
        while let Ok(call) = self.abandoned.try_recv() {
            self.orphans.push(call);
        }
        let is_ended = |call: &CallId, records: &[AuditRecord]| {
            records.iter().any(
                |record| matches!(record, AuditRecord::Outcome(outcome) if outcome.call == *call),
            )
        };
        self.orphans.retain(|call| self.open.contains_key(call));
        for call in &self.orphans {
            if !is_ended(call, &records) {
                records.push(AuditRecord::Outcome(AuditOutcome {
                    call: *call,
                    status: CallStatus::Error,
                    error_type: Some(ErrorKind::Interrupted.to_string()),
                    duration_ms: None,
                    recorded_at: (self.now)(),
                }));
            }
        }
        records
    }

    fn seal(
        &mut self,
        head: &mut ChainHead,
        records: Vec<AuditRecord>,
    ) -> Vec<(AuditRecord, Seal)> {
        let sealed = records.into_iter().map(|record| {
            let seal = head.seal(&record);
            if let Some(call) = begun(&record) {
                self.open.insert(call, seal.seq);
                self.open_places.insert(seal.seq);
            }
            (record, seal)
        });
        sealed.collect()
    }

    /// Tells everybody what came of the visit.
    pub(super) fn answer(&mut self, outcome: Result<(), Error>) {
        let failure = outcome.err().map(Arc::new);
        if failure.is_none() {
            self.conclude();
        }
        for (call, reply) in std::mem::take(&mut self.replies) {
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
        // A database that could not even be reached leaves those who wait unread.
        while let Some(failure) = &failure
            && let Ok(Waiting { reply, .. }) = self.waiting.try_recv()
        {
            let _ = reply.send(Err(Error::unavailable(Arc::clone(failure))));
        }
    }

    /// The last commit happened.
    fn conclude(&mut self) {
        let Some((head, records)) = self.unsure.take() else {
            return;
        };
        self.head = head;
        for (record, _) in records {
            if let AuditRecord::Outcome(outcome) = record
                && let Some(seq) = self.open.remove(&outcome.call)
            {
                self.open_places.remove(&seq);
            }
        }
        self.orphans.retain(|call| self.open.contains_key(call));
    }

    /// Finds out what became of a commit that was not answered.
    async fn settle(&mut self, tx: &mut Tx) -> Result<(), Error> {
        let Some((attempted, records)) = &self.unsure else {
            return Ok(());
        };
        let chain = self.head.chain;
        // Behind the commit, if it is still going on.
        let found = sql::chain_lock(tx, chain).await?.ok_or(Error::Closed)?;
        let begun: Vec<CallId> = records.iter().filter_map(|(record, _)| begun(record)).collect();
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

/// The call that a record begins.
fn begun(record: &AuditRecord) -> Option<CallId> {
    match record {
        AuditRecord::Call(call) => (call.decision == Effect::Allow).then_some(call.id),
        AuditRecord::Outcome(_) => None,
    }
}
