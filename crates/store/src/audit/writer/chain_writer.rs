//! The state of a chain's writer: the head of the chain, and the open calls.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cynode_audit::{
    AuditKeys, AuditOutcome, AuditRecord, ChainHead, RecordSeal, SignedClaim, SignedPosition,
};
use cynode_domain::ids::CallId;
use cynode_domain::policy::{CallStatus, Effect, ErrorKind};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, warn};

use super::NowFn;
use crate::audit::sql;
use crate::{Error, Tx};

/// The most records in one commit, not counting outcomes of abandoned calls.
const BATCH: usize = 256;

/// A caller that waits until its record is durable; without a record, until outcomes of orphans are.
pub(super) struct PendingRecord {
    pub(super) record: Option<AuditRecord>,
    pub(super) reply: RecordReply,
}

type RecordReply = oneshot::Sender<Result<(), Error>>;

pub(super) struct ChainWriter {
    head: ChainHead,
    keys: Arc<AuditKeys>,
    /// The head after the last commit, for readers.
    committed: watch::Sender<ChainHead>,
    now: NowFn,
    pending: mpsc::Receiver<PendingRecord>,
    abandoned_calls: mpsc::UnboundedReceiver<CallId>,
    /// Allowed calls without an outcome, with their positions in the chain.
    open: HashMap<CallId, i64>,
    open_positions: BTreeSet<i64>,
    /// Open calls whose caller will report no outcome.
    orphans: Vec<CallId>,
    /// The callers to reply to after this commit, each with the call that its record starts.
    replies: Vec<(Option<CallId>, RecordReply)>,
    /// A commit with unknown result: it is in progress, or the database did not reply.
    unconfirmed: Option<(ChainHead, Vec<(AuditRecord, RecordSeal)>)>,
}

impl ChainWriter {
    pub(super) fn new(
        committed: watch::Sender<ChainHead>,
        keys: Arc<AuditKeys>,
        now: NowFn,
        pending: mpsc::Receiver<PendingRecord>,
        abandoned_calls: mpsc::UnboundedReceiver<CallId>,
    ) -> Self {
        let head = committed.borrow().clone();
        Self {
            head,
            keys,
            committed,
            now,
            pending,
            abandoned_calls,
            open: HashMap::new(),
            open_positions: BTreeSet::new(),
            orphans: vec![],
            replies: vec![],
            unconfirmed: None,
        }
    }

    /// Adopts calls that were open under the previous writer.
    pub(super) fn adopt_calls(&mut self, calls: &[(i64, CallId)]) {
        for (seq, call) in calls {
            self.open.insert(*call, *seq);
            self.open_positions.insert(*seq);
            self.orphans.push(*call);
        }
    }

    /// Whether a caller waits for a reply, or abandoned calls are unprocessed.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty() || !self.abandoned_calls.is_empty()
    }

    /// Whether there are open calls whose caller will report no outcome.
    pub(super) fn has_orphans(&self) -> bool {
        !self.orphans.is_empty()
    }

    /// Writes queued records and the outcomes of orphans in `tx`.
    pub(super) async fn write_pending(&mut self, tx: &mut Tx) -> Result<(), Error> {
        let records = self.take_pending();
        self.resolve_unconfirmed(tx).await?;
        let records = self.append_orphan_outcomes(records);
        if records.is_empty() {
            return Ok(());
        }
        let mut new = self.head.clone();
        let sealed = self.seal_records(&mut new, records);
        // Calls that end in this batch still count as open; the next batch advances `open_from`.
        new.open_from = self.open_positions.first().copied().unwrap_or(new.seq + 1);
        let (new, sealed) = &*self.unconfirmed.insert((new, sealed));
        sql::chain_append(tx, &self.head, new, &new.sign(&self.keys), sealed).await
    }

    /// Takes records from the queue; rejects second outcomes.
    fn take_pending(&mut self) -> Vec<AuditRecord> {
        let (mut records, mut ended) = (vec![], BTreeSet::new());
        while records.len() < BATCH
            && let Ok(PendingRecord { record, reply }) = self.pending.try_recv()
        {
            if let Some(AuditRecord::Outcome(outcome)) = &record
                && (!self.open.contains_key(&outcome.call) || !ended.insert(outcome.call))
            {
                let constraint = "one outcome for each call".to_owned();
                let _ = reply.send(Err(Error::Duplicate { constraint }));
                continue;
            }
            self.replies.push((record.as_ref().and_then(started_call), reply));
            records.extend(record);
        }
        records
    }

    /// Adds outcomes for orphaned calls.
    fn append_orphan_outcomes(&mut self, mut records: Vec<AuditRecord>) -> Vec<AuditRecord> {
        while let Ok(call) = self.abandoned_calls.try_recv() {
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

    fn seal_records(
        &mut self,
        head: &mut ChainHead,
        records: Vec<AuditRecord>,
    ) -> Vec<(AuditRecord, RecordSeal)> {
        let sealed = records.into_iter().map(|record| {
            let seal = head.seal(&record);
            if let Some(call) = started_call(&record) {
                self.open.insert(call, seal.seq);
                self.open_positions.insert(seal.seq);
            }
            (record, seal)
        });
        sealed.collect()
    }

    /// Replies to all callers of this commit.
    pub(super) fn reply_all(&mut self, outcome: Result<(), Error>) {
        let failure = outcome.err().map(Arc::new);
        if failure.is_none() {
            self.apply_commit();
        }
        for (call, reply) in std::mem::take(&mut self.replies) {
            let answer = match &failure {
                Some(failure) => Err(Error::unavailable(Arc::clone(failure))),
                None => Ok(()),
            };
            let is_begun = answer.is_ok();
            // A caller that disconnected will neither make the call nor report its outcome.
            if let (Err(_), true, Some(call)) = (reply.send(answer), is_begun, call) {
                self.orphans.push(call);
            }
        }
        // If the database was not reachable, the queue was not read: fail the waiting callers too.
        while let Some(failure) = &failure
            && let Ok(PendingRecord { reply, .. }) = self.pending.try_recv()
        {
            let _ = reply.send(Err(Error::unavailable(Arc::clone(failure))));
        }
    }

    /// Applies the last commit to the state in memory.
    fn apply_commit(&mut self) {
        let Some((head, records)) = self.unconfirmed.take() else {
            return;
        };
        self.committed.send_replace(head.clone());
        self.head = head;
        for (record, _) in records {
            if let AuditRecord::Outcome(outcome) = record
                && let Some(seq) = self.open.remove(&outcome.call)
            {
                self.open_positions.remove(&seq);
            }
        }
        self.orphans.retain(|call| self.open.contains_key(call));
    }

    /// Finds out whether a commit without a reply was applied.
    async fn resolve_unconfirmed(&mut self, tx: &mut Tx) -> Result<(), Error> {
        let Some((attempted, records)) = &self.unconfirmed else {
            return Ok(());
        };
        let chain = self.head.chain;
        // The lock waits for a commit that is still in progress.
        let (found, signature) = sql::chain_lock(tx, chain).await?.ok_or(Error::Closed)?;
        let begun: Vec<CallId> =
            records.iter().filter_map(|(record, _)| started_call(record)).collect();
        if found.seq == attempted.seq && found.hash == attempted.hash {
            // Its callers got an error, so none of its calls was made.
            self.apply_commit();
            self.orphans.extend(begun);
            return Ok(());
        }
        self.unconfirmed = None;
        for call in begun {
            if let Some(seq) = self.open.remove(&call) {
                self.open_positions.remove(&seq);
            }
        }
        if found.seq != self.head.seq || found.hash != self.head.hash {
            let signed = SignedPosition { position: found.position(), signature };
            if found.seq <= self.head.seq || !signed.is_signed(SignedClaim::Head, &self.keys) {
                // Not another writer: the chain was changed. No record can be appended, so no call is made.
                error!(chain.id = %chain, "audit chain {chain} was modified outside CyNode: restart to begin a new chain");
                return Err(Error::Closed);
            }
            warn!(chain.id = %chain, "audit chain {chain} has another writer; appending after its records");
            self.committed.send_replace(found.clone());
            self.head = found;
        }
        Ok(())
    }
}

/// The call that a record starts.
fn started_call(record: &AuditRecord) -> Option<CallId> {
    match record {
        AuditRecord::Call(call) => (call.decision == Effect::Allow).then_some(call.id),
        AuditRecord::Outcome(_) | AuditRecord::Log(_) => None,
    }
}
