//! The audit log of a node: a chained file, emptied as the orchestrator stores its records.
//!
//! The first line is the position before the first record; each further line is a record with its position and hash. A record
//! is durable before it counts. A line that was cut by a crash never counted, and is removed. A file that was changed in any
//! other way is kept as evidence, and a new chain begins.

mod file;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, SubsecRound as _, Utc};
use cynode_audit::{AuditCall, AuditOutcome, CallRecord};
use cynode_domain::ids::{CallId, ChainId};
use cynode_domain::policy::{CallStatus, Effect, ErrorKind};
use cynode_wire::capability_leases::SyncEdge;
use sha2::{Digest as _, Sha256};

use self::file::ChainFile;

/// The largest file. When it is reached, no call is made until the orchestrator has stored records.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// A file with more stored records than this is rewritten without them.
const COMPACTION_BYTES: u64 = 1024 * 1024;

/// Why a record is not written.
#[derive(Debug, thiserror::Error)]
pub enum EdgeAuditError {
    #[error("the audit log of this node is full: {} bytes wait for the orchestrator", .0)]
    Full(u64),
    #[error("the audit log of this node cannot be written")]
    File(#[from] io::Error),
}

/// The audit log of a node. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EdgeAuditLog {
    inner: Arc<Mutex<AuditFile>>,
    max_bytes: u64,
}

#[derive(Debug)]
struct AuditFile {
    chain: ChainFile,
    /// Allowed calls without an outcome.
    open: BTreeSet<CallId>,
}

/// A call whose start is recorded. Dropping it without [`OpenEdgeCall::finish`] records that it was interrupted.
#[derive(Debug)]
#[must_use = "a recorded call must be finished"]
pub struct OpenEdgeCall {
    log: EdgeAuditLog,
    /// `None` once it is finished.
    call: Option<CallId>,
}

impl EdgeAuditLog {
    /// Opens the log in a directory. Calls that an earlier process left open get an outcome. Blocks.
    ///
    /// The orchestrator accepts a chain only from the node that began it, so each `identity`, the node's name and key, has a file
    /// of its own.
    pub fn open(directory: &Path, identity: &str, now: DateTime<Utc>) -> io::Result<Self> {
        let digest = hex::encode(Sha256::digest(identity));
        let path = directory.join(format!("audit-{}.log", digest.get(..16).unwrap_or_default()));
        Self::open_with_limit(&path, now, MAX_FILE_BYTES)
    }

    fn open_with_limit(path: &Path, now: DateTime<Utc>, max_bytes: u64) -> io::Result<Self> {
        let (mut chain, open) = ChainFile::open(path)?;
        for call in open {
            chain.append(CallRecord::Outcome(interrupted(call, now)))?;
        }
        let inner = AuditFile { chain, open: BTreeSet::new() };
        Ok(Self { inner: Arc::new(Mutex::new(inner)), max_bytes })
    }

    /// Records a decision; it is durable when this returns. Blocks.
    fn record(&self, call: AuditCall) -> Result<(), EdgeAuditError> {
        let mut inner = self.lock();
        let bytes = inner.chain.bytes();
        if bytes >= self.max_bytes {
            return Err(EdgeAuditError::Full(bytes));
        }
        let (id, is_allowed) = (call.id, call.decision == Effect::Allow);
        inner.chain.append(CallRecord::Call(Box::new(call)))?;
        if is_allowed {
            inner.open.insert(id);
        }
        Ok(())
    }

    /// Records an allowed call. Blocks.
    pub fn begin(&self, call: AuditCall) -> Result<OpenEdgeCall, EdgeAuditError> {
        let id = call.id;
        self.record(call)?;
        Ok(OpenEdgeCall { log: self.clone(), call: Some(id) })
    }

    /// Records a denied call. Blocks.
    pub fn record_denial(&self, call: AuditCall) -> Result<(), EdgeAuditError> {
        self.record(call)
    }

    /// The oldest records that the orchestrator has not stored, at most `limit`. Blocks.
    pub fn next_report(&self, limit: usize) -> io::Result<SyncEdge> {
        let inner = self.lock();
        Ok(SyncEdge { chain: inner.chain.id(), records: inner.chain.read_unstored(limit)? })
    }

    /// Notes that the orchestrator has stored the records of a chain up to `seq`. Blocks.
    ///
    /// If it has more than there are, this directory was restored from a copy: a new chain begins.
    pub fn mark_stored(&self, stored: ChainId, seq: i64) -> io::Result<()> {
        let mut inner = self.lock();
        let AuditFile { chain, open } = &mut *inner;
        if chain.id() != stored {
            return Ok(());
        }
        if seq > chain.head_seq() {
            return inner.begin_new_chain("the orchestrator has records that are missing here");
        }
        chain.mark_stored(seq)?;
        if chain.stored_bytes() >= COMPACTION_BYTES {
            chain.compact(open)?;
        }
        Ok(())
    }

    /// Begins a new chain after the orchestrator refused records of this one, which are kept as evidence. Blocks.
    pub fn abandon_chain(&self, refused: ChainId, reason: &str) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.chain.id() == refused { inner.begin_new_chain(reason) } else { Ok(()) }
    }

    /// Whether the records that wait for the orchestrator fill less than this part of the log.
    pub fn is_below(&self, part: u64) -> bool {
        self.lock().chain.bytes() < self.max_bytes / part
    }

    /// Whether every record is stored.
    pub fn is_stored(&self) -> bool {
        self.lock().chain.is_stored()
    }

    fn finish(&self, outcome: AuditOutcome) -> Result<(), EdgeAuditError> {
        let mut inner = self.lock();
        let call = outcome.call;
        if !inner.open.contains(&call) {
            tracing::error!(call.id = %call, "outcome not recorded: its call is in a chain that was refused");
            return Ok(());
        }
        // Outcomes are written beyond the limit: a call that was made has one.
        inner.chain.append(CallRecord::Outcome(outcome))?;
        inner.open.remove(&call);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, AuditFile> {
        // No code panics while holding the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AuditFile {
    fn begin_new_chain(&mut self, reason: &str) -> io::Result<()> {
        let evidence = self.chain.begin_new_chain()?;
        tracing::error!(reason, path = %evidence.display(), "audit chain of this node kept as evidence, a new one begins");
        // Their outcomes would be about calls of another chain.
        self.open.clear();
        Ok(())
    }
}

impl OpenEdgeCall {
    /// Records the outcome; it is durable when this returns. Blocks.
    pub fn finish(
        mut self,
        error: Option<ErrorKind>,
        duration_ms: i64,
        now: DateTime<Utc>,
    ) -> Result<(), EdgeAuditError> {
        let Some(call) = self.call.take() else { return Ok(()) };
        self.log.finish(AuditOutcome {
            call,
            status: if error.is_some() { CallStatus::Error } else { CallStatus::Success },
            error_type: error.map(|kind| kind.to_string()),
            duration_ms: Some(duration_ms),
            recorded_at: to_recorded_time(now),
        })
    }
}

impl Drop for OpenEdgeCall {
    fn drop(&mut self) {
        use cynode_runtime::clock::{Clock as _, SystemClock};
        if let Some(call) = self.call.take()
            && let Err(error) = self.log.finish(interrupted(call, SystemClock.now()))
        {
            tracing::error!(%error, call.id = %call, "outcome of an interrupted call was not recorded");
        }
    }
}

fn interrupted(call: CallId, now: DateTime<Utc>) -> AuditOutcome {
    AuditOutcome {
        call,
        status: CallStatus::Error,
        error_type: Some(ErrorKind::Interrupted.to_string()),
        duration_ms: None,
        recorded_at: to_recorded_time(now),
    }
}

/// A time in whole microseconds, as the database stores it.
pub(crate) fn to_recorded_time(at: DateTime<Utc>) -> DateTime<Utc> {
    at.trunc_subsecs(6)
}

#[cfg(test)]
mod tests;
