//! Verification of one chain: its records in order, then its head.
//!
//! Detects records that were edited, deleted, moved or inserted, and a chain that was shortened at either end: its head
//! and the anchor of retention are signed, and it must contain every position that is known from elsewhere.

use crate::{AuditKeys, AuditRecord, ChainHead, ChainPosition, RecordSeal, SignedClaim};

/// The most faults reported per chain.
const MAX_FAULTS: usize = 100;

/// A position with the signature of a claim about it, as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPosition {
    pub position: ChainPosition,
    /// `None` if an earlier version wrote it, or if it was removed.
    pub signature: Option<Vec<u8>>,
}

/// Where a position is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionSource {
    /// The process that writes the chain.
    Writer,
    /// The file in which an orchestrator notes the heads that it has seen.
    HeadFile,
    /// The caller, who kept it elsewhere.
    Caller,
}

/// A position that a chain must contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPosition {
    pub position: ChainPosition,
    pub source: PositionSource,
}

/// The result of verifying one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// The newest record that was found.
    pub head: ChainPosition,
    /// Records checked.
    pub records: u64,
    /// The faults, in the order of the chain.
    pub faults: Vec<String>,
}

/// A pass over one chain.
pub struct ChainVerifier {
    head: ChainPosition,
    known: Vec<KnownPosition>,
    records: u64,
    faults: Vec<String>,
}

impl PositionSource {
    const fn describe(self) -> &'static str {
        match self {
            Self::Writer => "the running writer",
            Self::HeadFile => "the file audit-heads.json",
            Self::Caller => "the given head",
        }
    }
}

impl SignedPosition {
    /// Whether a trusted key signed it.
    pub fn is_signed(&self, claim: SignedClaim, keys: &AuditKeys) -> bool {
        self.signature.as_ref().is_some_and(|bytes| keys.verify(claim, &self.position, bytes))
    }
}

impl ChainVerifier {
    /// Starts after `start`, which the caller vouches for.
    pub fn new(start: ChainPosition, known: Vec<KnownPosition>) -> Self {
        let mut verifier = Self { head: start, known, records: 0, faults: vec![] };
        verifier.check_known();
        verifier
    }

    /// Starts after the anchor of retention; without one, with the first record.
    pub fn after_anchor(
        start: ChainPosition,
        anchor: Option<&SignedPosition>,
        known: Vec<KnownPosition>,
        keys: &AuditKeys,
    ) -> Self {
        let first = anchor.map_or(start, |anchor| anchor.position.clone());
        let mut verifier = Self::new(first, known);
        if anchor.is_some_and(|anchor| !anchor.is_signed(SignedClaim::Anchor, keys)) {
            let seq = verifier.head.seq;
            verifier.add_fault(format!(
                "records 1 to {seq} are missing: no trusted key signed the anchor that says they expired"
            ));
        }
        verifier
    }

    /// Continues after an anchor that retention moved during the pass.
    pub fn skip_to(&mut self, anchor: &SignedPosition, keys: &AuditKeys) {
        if anchor.position.seq > self.head.seq && anchor.is_signed(SignedClaim::Anchor, keys) {
            self.head = anchor.position.clone();
            self.check_known();
        }
    }

    /// The position after which the next record is expected.
    pub fn position(&self) -> &ChainPosition {
        &self.head
    }

    /// Whether no fault was found so far.
    pub fn is_intact(&self) -> bool {
        self.faults.is_empty()
    }

    /// Checks the next record; an error says why its columns cannot be decoded.
    pub fn check_record(&mut self, seal: &RecordSeal, record: Result<&AuditRecord, String>) {
        self.records += 1;
        let is_next = seal.seq == self.head.seq + 1;
        if seal.seq <= self.head.seq {
            self.add_fault(format!("record {} was inserted: its position was taken", seal.seq));
        } else if !is_next {
            self.add_missing(seal.seq - 1);
        }
        match record {
            Err(error) => self.add_fault(format!("record {} was edited: {error}", seal.seq)),
            Ok(record) if !seal.matches(record) && !cynode_fault::fault!("X-02") => {
                self.add_fault(format!("record {} was edited: its hash does not fit", seal.seq));
            }
            Ok(_) if is_next && seal.prev_hash != self.head.hash => {
                self.add_fault(format!("record {} does not follow the one before it", seal.seq));
            }
            Ok(_) => {}
        }
        self.head.seq = seal.seq.max(self.head.seq);
        self.head.hash.clone_from(&seal.hash);
        self.check_known();
    }

    /// Compares the stored head with the newest record.
    pub fn finish(mut self, head: Option<&SignedPosition>, keys: &AuditKeys) -> ChainReport {
        match head {
            None => self.add_fault("the head of the chain was removed".to_owned()),
            Some(SignedPosition { position, .. }) if position.seq > self.head.seq => {
                self.add_missing(position.seq);
            }
            Some(SignedPosition { position, .. }) if position.seq < self.head.seq => {
                let (from, to) = (position.seq + 1, self.head.seq);
                self.add_fault(format!("records {from} to {to} were inserted"));
            }
            Some(SignedPosition { position, .. }) if position.hash != self.head.hash => {
                let seq = position.seq;
                self.add_fault(format!("record {seq} is not the last record that was written"));
            }
            Some(signed) if !signed.is_signed(SignedClaim::Head, keys) => {
                let seq = self.head.seq;
                self.add_fault(format!("no trusted key signed the head at record {seq}"));
            }
            Some(_) => {}
        }
        for KnownPosition { position, source } in std::mem::take(&mut self.known) {
            let (from, to, source) = (self.head.seq + 1, position.seq, source.describe());
            self.add_fault(format!("records {from} to {to} are missing: {source} has seen them"));
        }
        ChainReport { head: self.head, records: self.records, faults: self.faults }
    }

    /// Compares the record at the current position with what is known of it, and forgets positions before it.
    fn check_known(&mut self) {
        let seq = self.head.seq;
        let passed = self.known.extract_if(.., |known| known.position.seq <= seq);
        let passed: Vec<_> = passed.filter(|known| known.position.seq == seq).collect();
        for KnownPosition { position, source } in passed {
            if position.hash != self.head.hash {
                let source = source.describe();
                self.add_fault(format!("record {seq} was replaced: {source} has seen another one"));
            }
        }
    }

    fn add_missing(&mut self, last: i64) {
        self.add_fault(format!("records {} to {last} are missing", self.head.seq + 1));
    }

    fn add_fault(&mut self, fault: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }
}

impl ChainReport {
    /// The report on a chain that is known from elsewhere and is not in the database.
    pub fn of_missing_chain(known: &KnownPosition) -> Self {
        let (seq, source) = (known.position.seq, known.source.describe());
        let fault = format!("the chain and its {seq} records are missing: {source} has seen them");
        Self { head: ChainPosition::start(known.position.chain), records: 0, faults: vec![fault] }
    }

    /// The report on records of a chain that no writer created.
    pub fn of_unregistered_chain(chain: cynode_domain::ids::ChainId) -> Self {
        let faults = vec!["records of a chain that no writer began".to_owned()];
        Self { head: ChainPosition::start(chain), records: 0, faults }
    }
}

/// The head of a chain, signed.
impl ChainHead {
    pub fn sign(&self, keys: &AuditKeys) -> Vec<u8> {
        keys.sign(SignedClaim::Head, &self.position())
    }
}
