//! The file of a node's audit chain.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use cynode_audit::{AuditRecord, CallRecord, ChainHead, ChainPosition};
use cynode_domain::ids::{CallId, ChainId};
use cynode_domain::policy::Effect;
use cynode_runtime::durable_file;
use cynode_wire::capability_leases::EdgeRecord;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// The first line: the position before the first record, and the calls that were open there.
#[derive(Debug, Serialize, Deserialize)]
struct FileHeader {
    /// `chain:seq:hash`
    after: String,
    open: BTreeSet<CallId>,
}

/// An append-only file of sealed records.
#[derive(Debug)]
pub(super) struct ChainFile {
    path: PathBuf,
    file: File,
    head: ChainHead,
    /// Length of all complete lines.
    bytes: u64,
    /// Where the first record begins that the orchestrator has not stored.
    unstored_from: u64,
    stored_seq: i64,
    /// Whether the file may end with a part of a line, because it could not be removed.
    is_broken: bool,
    /// Whether a power cut could bring an earlier file back, because its directory could not be synced.
    is_rename_pending: bool,
}

/// What was found in a file.
struct LoadedChain {
    head: ChainHead,
    /// The position before the first record.
    first: ChainPosition,
    open: BTreeSet<CallId>,
    header_bytes: u64,
    bytes: u64,
}

impl ChainFile {
    /// Opens or creates the file; returns the calls without an outcome.
    pub(super) fn open(path: &Path) -> io::Result<(Self, BTreeSet<CallId>)> {
        if !path.exists() {
            create(path, &ChainHead::new(ChainId::generate()).position(), &BTreeSet::new())?;
        }
        let loaded = if let Some(loaded) = load(path)? {
            loaded
        } else {
            let evidence = evidence_path(path);
            fs::rename(path, &evidence)?;
            tracing::error!(
                path = %evidence.display(),
                "audit log of this node was modified: kept as evidence, a new chain begins"
            );
            create(path, &ChainHead::new(ChainId::generate()).position(), &BTreeSet::new())?;
            load(path)?.ok_or_else(|| io::Error::other("a new audit log cannot be read"))?
        };
        let file = OpenOptions::new().read(true).write(true).mode(0o600).open(path)?;
        // The part of a line that a crash left.
        file.set_len(loaded.bytes)?;
        file.sync_all()?;
        let chain = Self {
            path: path.to_owned(),
            file,
            head: loaded.head,
            bytes: loaded.bytes,
            unstored_from: loaded.header_bytes,
            stored_seq: loaded.first.seq,
            is_broken: false,
            is_rename_pending: false,
        };
        Ok((chain, loaded.open))
    }

    pub(super) fn id(&self) -> ChainId {
        self.head.chain
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of records that the orchestrator has stored.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.unstored_from
    }

    pub(super) fn is_stored(&self) -> bool {
        self.stored_seq >= self.head.seq
    }

    /// Seals a record; it is durable when this returns. After an error nothing was written.
    pub(super) fn append(&mut self, record: CallRecord) -> io::Result<()> {
        if self.is_broken {
            self.truncate()?;
        }
        if self.is_rename_pending {
            self.sync_rename()?;
        }
        let mut head = self.head.clone();
        let value = serde_json::to_value(&record).map_err(io::Error::other)?;
        let seal = head.seal(&AuditRecord::from(record));
        let sealed = EdgeRecord { seq: seal.seq, hash: hex::encode(&seal.hash), record: value };
        let mut line = serde_json::to_vec(&sealed).map_err(io::Error::other)?;
        line.push(b'\n');
        self.is_broken = true;
        let end = self.bytes;
        let written = self.file.seek(SeekFrom::Start(end)).and_then(|_| {
            self.file.write_all(&line)?;
            self.file.sync_data()
        });
        if let Err(error) = written {
            // Otherwise the next append tries again.
            let _ = self.truncate();
            return Err(error);
        }
        self.is_broken = false;
        self.bytes = end + u64::try_from(line.len()).unwrap_or_default();
        self.head = head;
        Ok(())
    }

    fn truncate(&mut self) -> io::Result<()> {
        self.file.set_len(self.bytes)?;
        self.file.sync_data()?;
        self.is_broken = false;
        Ok(())
    }

    /// Reads the oldest records that are not stored.
    pub(super) fn read_unstored(&self, limit: usize) -> io::Result<Vec<EdgeRecord>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.unstored_from))?;
        let lines = BufReader::new(file.take(self.bytes - self.unstored_from)).lines();
        lines
            .take(limit)
            .map(|line| serde_json::from_str(&line?).map_err(io::Error::other))
            .collect()
    }

    /// The position of the newest record.
    pub(super) fn head_seq(&self) -> i64 {
        self.head.seq
    }

    /// Skips the records up to `seq`.
    pub(super) fn mark_stored(&mut self, seq: i64) -> io::Result<()> {
        let seq = seq.min(self.head.seq);
        let count = usize::try_from(seq - self.stored_seq).unwrap_or(0);
        if count == 0 {
            return Ok(());
        }
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.unstored_from))?;
        let mut lines = BufReader::new(file.take(self.bytes - self.unstored_from));
        let mut line = vec![];
        let mut unstored_from = self.unstored_from;
        for _ in 0..count {
            line.clear();
            let read = lines.read_until(b'\n', &mut line)?;
            unstored_from += u64::try_from(read).unwrap_or_default();
        }
        (self.unstored_from, self.stored_seq) = (unstored_from, seq);
        Ok(())
    }

    /// Rewrites the file without stored records; `open` are the calls without an outcome.
    pub(super) fn compact(&mut self, open: &BTreeSet<CallId>) -> io::Result<()> {
        let after = match self.read_unstored(1)?.first() {
            Some(first) => {
                // The record before the first one that stays.
                self.position_before(first.seq)?
            }
            None => self.head.position(),
        };
        // Calls that began in records that stay are found there.
        let kept = self.read_unstored(usize::MAX)?;
        let begun: BTreeSet<CallId> = kept.iter().filter_map(begun_call).collect();
        let ended: BTreeSet<CallId> = kept.iter().filter_map(ended_call).collect();
        let open_before: BTreeSet<CallId> =
            open.iter().chain(&ended).filter(|call| !begun.contains(call)).copied().collect();
        let mut content = header_line(&after, &open_before)?;
        let header_bytes = u64::try_from(content.len()).unwrap_or_default();
        for record in &kept {
            serde_json::to_writer(&mut content, record).map_err(io::Error::other)?;
            content.push(b'\n');
        }
        let parent = self.path.parent().unwrap_or(Path::new("."));
        let mut new = NamedTempFile::new_in(parent)?;
        new.write_all(&content)?;
        new.as_file().sync_all()?;
        // From here on the path names the new file, whatever else fails.
        self.file = new.persist(&self.path)?;
        self.bytes = u64::try_from(content.len()).unwrap_or_default();
        self.unstored_from = header_bytes;
        self.is_rename_pending = true;
        self.sync_rename()
    }

    fn sync_rename(&mut self) -> io::Result<()> {
        durable_file::sync_parent(&self.path)?;
        self.is_rename_pending = false;
        Ok(())
    }

    /// Keeps the file as evidence and begins a new chain.
    pub(super) fn begin_new_chain(&mut self) -> io::Result<PathBuf> {
        let evidence = evidence_path(&self.path);
        fs::rename(&self.path, &evidence)?;
        (*self, _) = Self::open(&self.path)?;
        Ok(evidence)
    }

    /// The position of the newest stored record.
    fn position_before(&self, seq: i64) -> io::Result<ChainPosition> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(0))?;
        let mut lines = BufReader::new(file.take(self.unstored_from)).lines();
        let header: Option<FileHeader> =
            lines.next().transpose()?.and_then(|line| serde_json::from_str(&line).ok());
        let last = lines.last().transpose()?;
        let last: Option<EdgeRecord> = last.and_then(|line| serde_json::from_str(&line).ok());
        let position = match (last, header) {
            (Some(last), _) => hex::decode(&last.hash).ok().map(|hash| ChainPosition {
                chain: self.head.chain,
                seq: last.seq,
                hash,
            }),
            (None, Some(header)) => header.after.parse().ok(),
            (None, None) => None,
        };
        position
            .filter(|position| position.seq + 1 == seq)
            .ok_or_else(|| io::Error::other("the audit log of this node cannot be compacted"))
    }
}

fn create(path: &Path, after: &ChainPosition, open: &BTreeSet<CallId>) -> io::Result<()> {
    durable_file::create(path, &header_line(after, open)?)
}

fn header_line(after: &ChainPosition, open: &BTreeSet<CallId>) -> io::Result<Vec<u8>> {
    let header = FileHeader { after: after.to_string(), open: open.clone() };
    let mut line = serde_json::to_vec(&header).map_err(io::Error::other)?;
    line.push(b'\n');
    Ok(line)
}

/// A name that is not used yet, next to the file.
fn evidence_path(path: &Path) -> PathBuf {
    let stamp = uuid::Uuid::now_v7();
    path.with_extension(format!("modified-{stamp}"))
}

/// Reads and verifies a file; `None` if it was modified.
fn load(path: &Path) -> io::Result<Option<LoadedChain>> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = vec![];
    let header_bytes = reader.read_until(b'\n', &mut line)?;
    let header: Option<FileHeader> = serde_json::from_slice(&line).ok();
    let first = header.as_ref().and_then(|header| header.after.parse::<ChainPosition>().ok());
    let (Some(header), Some(first), true) = (header, first, line.ends_with(b"\n")) else {
        return Ok(None);
    };
    let header_bytes = u64::try_from(header_bytes).unwrap_or_default();
    let mut head =
        ChainHead { hash: first.hash.clone(), seq: first.seq, ..ChainHead::new(first.chain) };
    let (mut bytes, mut open) = (header_bytes, header.open);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 || !line.ends_with(b"\n") {
            // The end, or a line that a crash cut.
            return Ok(Some(LoadedChain { head, first, open, header_bytes, bytes }));
        }
        let Some((sealed, record)) = parse_line(&line) else { return Ok(None) };
        match &record {
            CallRecord::Call(call) if call.decision == Effect::Allow => {
                open.insert(call.id);
            }
            CallRecord::Call(_) => {}
            CallRecord::Outcome(outcome) => {
                open.remove(&outcome.call);
            }
        }
        let seal = head.seal(&AuditRecord::from(record));
        if seal.seq != sealed.seq || hex::encode(&seal.hash) != sealed.hash {
            return Ok(None);
        }
        bytes += u64::try_from(read).unwrap_or_default();
    }
}

fn parse_line(line: &[u8]) -> Option<(EdgeRecord, CallRecord)> {
    let sealed: EdgeRecord = serde_json::from_slice(line).ok()?;
    let record = serde_json::from_value(sealed.record.clone()).ok()?;
    Some((sealed, record))
}

fn begun_call(sealed: &EdgeRecord) -> Option<CallId> {
    match serde_json::from_value(sealed.record.clone()).ok()? {
        CallRecord::Call(call) => (call.decision == Effect::Allow).then_some(call.id),
        CallRecord::Outcome(_) => None,
    }
}

fn ended_call(sealed: &EdgeRecord) -> Option<CallId> {
    match serde_json::from_value(sealed.record.clone()).ok()? {
        CallRecord::Call(_) => None,
        CallRecord::Outcome(outcome) => Some(outcome.call),
    }
}
