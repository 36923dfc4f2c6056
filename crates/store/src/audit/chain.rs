//! How records are chained: each holds the hash of the one before and a hash over both.
//!
//! The encoding is injective: every value is written with its length, and an absent value differs
//! from an empty one. Two records that differ anywhere have different hashes.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ChainId;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{AuditCall, AuditOutcome, AuditRecord};
use crate::Error;

/// The newest record of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainHead {
    /// The chain.
    pub chain: ChainId,
    /// The place of its newest record; 0 when it has none.
    pub seq: i64,
    /// The hash of that.
    pub hash: Vec<u8>,
    /// No call before this place is without an outcome.
    pub open_from: i64,
}

/// Where a record stands in its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// The chain.
    pub chain: ChainId,
    /// The place.
    pub seq: i64,
    /// The hash of the record before.
    pub prev_hash: Vec<u8>,
    /// The hash of this record.
    pub hash: Vec<u8>,
}

/// A record in its place.
#[derive(Debug)]
pub struct Sealed {
    /// The place.
    pub seal: Seal,
    /// The record; an error if its columns hold what no writer wrote.
    pub record: Result<AuditRecord, Error>,
}

impl ChainHead {
    /// The head of a chain without records.
    pub fn new(chain: ChainId) -> Self {
        let mut encoder = Encoder::new("cynode audit chain 1");
        encoder.id(Some(chain));
        Self { chain, seq: 0, hash: encoder.finish(), open_from: 1 }
    }

    /// Puts `record` behind the head, and moves the head there.
    pub(crate) fn seal(&mut self, record: &AuditRecord) -> Seal {
        let (seq, prev_hash) = (self.seq + 1, self.hash.clone());
        let hash = digest(self.chain, seq, &prev_hash, record);
        (self.seq, self.hash) = (seq, hash.clone());
        Seal { chain: self.chain, seq, prev_hash, hash }
    }
}

impl Seal {
    /// Whether `record` is what was sealed here.
    pub fn fits(&self, record: &AuditRecord) -> bool {
        digest(self.chain, self.seq, &self.prev_hash, record) == self.hash
    }
}

fn digest(chain: ChainId, seq: i64, prev_hash: &[u8], record: &AuditRecord) -> Vec<u8> {
    let mut encoder = Encoder::new(match record {
        AuditRecord::Call(_) => "cynode audit call 1",
        AuditRecord::Outcome(_) => "cynode audit outcome 1",
    });
    encoder.id(Some(chain));
    encoder.number(Some(seq));
    encoder.bytes(Some(prev_hash));
    match record {
        AuditRecord::Call(call) => encode_call(&mut encoder, call),
        AuditRecord::Outcome(outcome) => encode_outcome(&mut encoder, outcome),
    }
    encoder.finish()
}

fn encode_call(encoder: &mut Encoder, call: &AuditCall) {
    encoder.id(Some(call.id));
    encoder.time(call.created_at);
    encoder.text(Some(&call.caller.kind));
    encoder.id(call.caller.token);
    encoder.id(call.caller.user);
    encoder.count(call.caller.groups.len());
    call.caller.groups.iter().for_each(|group| encoder.id(Some(*group)));
    encoder.count(call.caller.roles.len());
    call.caller.roles.iter().for_each(|role| encoder.text(Some(role)));
    encoder.id(call.binding.project);
    encoder.id(call.binding.task);
    encoder.id(call.binding.run);
    encoder.id(call.binding.job);
    encoder.text(Some(&call.tool));
    encoder.text(Some(&call.server));
    encoder.text(Some(call.decision.as_str()));
    encoder.text(Some(call.stage.as_str()));
    encoder.text(Some(call.status.as_str()));
    encoder.text(call.error_type.as_deref());
    encoder.number(call.duration_ms);
    encoder.text(Some(&call.origin));
    encoder.text(Some(&call.request_id));
}

fn encode_outcome(encoder: &mut Encoder, outcome: &AuditOutcome) {
    encoder.id(Some(outcome.call));
    encoder.text(Some(outcome.status.as_str()));
    encoder.text(outcome.error_type.as_deref());
    encoder.number(outcome.duration_ms);
    encoder.time(outcome.recorded_at);
}

/// Feeds values to the hash so that no two lists of values look alike.
struct Encoder(Sha256);

impl Encoder {
    fn new(domain: &str) -> Self {
        let mut encoder = Self(Sha256::new());
        encoder.text(Some(domain));
        encoder
    }

    fn bytes(&mut self, value: Option<&[u8]>) {
        // Lengths begin at 1, so that nothing and an empty value differ.
        let length = value.map_or(0, |value| value.len() as u64 + 1);
        self.0.update(length.to_be_bytes());
        self.0.update(value.unwrap_or_default());
    }

    fn text(&mut self, value: Option<&str>) {
        self.bytes(value.map(str::as_bytes));
    }

    fn number(&mut self, value: Option<i64>) {
        self.bytes(value.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice));
    }

    fn count(&mut self, value: usize) {
        self.0.update((value as u64).to_be_bytes());
    }

    fn time(&mut self, value: DateTime<Utc>) {
        self.number(Some(value.timestamp_micros()));
    }

    fn id(&mut self, value: Option<impl Into<Uuid>>) {
        let value: Option<Uuid> = value.map(Into::into);
        self.bytes(value.as_ref().map(|id| id.as_bytes().as_slice()));
    }

    fn finish(self) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

#[cfg(test)]
mod tests;
