//! The hash chain: each record stores the hash of its predecessor and a hash over both.
//!
//! The encoding is injective: every value is written with its length, and an absent value differs from an empty
//! one. Records that differ in any field have different hashes.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ChainId;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{AuditCall, AuditOutcome, AuditRecord, LogRow};

/// The newest link of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainHead {
    pub chain: ChainId,
    /// The position of the newest record; 0 if there is none.
    pub seq: i64,
    pub hash: Vec<u8>,
    /// Every call before this position has an outcome.
    pub open_from: i64,
}

/// The position of a record in its chain, with its hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordSeal {
    pub chain: ChainId,
    pub seq: i64,
    pub prev_hash: Vec<u8>,
    pub hash: Vec<u8>,
}

impl ChainHead {
    /// The head of a chain without records.
    pub fn new(chain: ChainId) -> Self {
        let mut encoder = RecordHasher::new("cynode audit chain 1");
        encoder.id(Some(chain));
        Self { chain, seq: 0, hash: encoder.finish(), open_from: 1 }
    }

    /// Appends `record` and advances the head to it.
    pub fn seal(&mut self, record: &AuditRecord) -> RecordSeal {
        let (seq, prev_hash) = (self.seq + 1, self.hash.clone());
        let hash = digest(self.chain, seq, &prev_hash, record);
        (self.seq, self.hash) = (seq, hash.clone());
        RecordSeal { chain: self.chain, seq, prev_hash, hash }
    }
}

impl RecordSeal {
    /// Returns whether `record` is the one that was sealed here.
    pub fn matches(&self, record: &AuditRecord) -> bool {
        digest(self.chain, self.seq, &self.prev_hash, record) == self.hash
    }
}

fn digest(chain: ChainId, seq: i64, prev_hash: &[u8], record: &AuditRecord) -> Vec<u8> {
    let mut encoder = RecordHasher::new(match record {
        AuditRecord::Call(_) => "cynode audit call 1",
        AuditRecord::Outcome(_) => "cynode audit outcome 1",
        AuditRecord::Log(_) => "cynode audit log 1",
    });
    encoder.id(Some(chain));
    encoder.number(Some(seq));
    encoder.bytes(Some(prev_hash));
    match record {
        AuditRecord::Call(call) => encode_call(&mut encoder, call),
        AuditRecord::Outcome(outcome) => encode_outcome(&mut encoder, outcome),
        AuditRecord::Log(row) => encode_log_row(&mut encoder, row),
    }
    encoder.finish()
}

fn encode_call(encoder: &mut RecordHasher, call: &AuditCall) {
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

fn encode_outcome(encoder: &mut RecordHasher, outcome: &AuditOutcome) {
    encoder.id(Some(outcome.call));
    encoder.text(Some(outcome.status.as_str()));
    encoder.text(outcome.error_type.as_deref());
    encoder.number(outcome.duration_ms);
    encoder.time(outcome.recorded_at);
}

fn encode_log_row(encoder: &mut RecordHasher, row: &LogRow) {
    encoder.text(Some(row.log));
    encoder.text(Some(&row.id));
    encoder.time(row.at);
    encoder.count(row.columns.len());
    for (name, value) in &row.columns {
        encoder.text(Some(name));
        encoder.json(value);
    }
}

/// Feeds values to the hash in an injective encoding.
pub(crate) struct RecordHasher(Sha256);

impl RecordHasher {
    pub(crate) fn new(domain: &str) -> Self {
        let mut encoder = Self(Sha256::new());
        encoder.text(Some(domain));
        encoder
    }

    pub(crate) fn bytes(&mut self, value: Option<&[u8]>) {
        // Lengths start at 1, so an absent value and an empty value differ.
        let length = value.map_or(0, |value| value.len() as u64 + 1);
        self.0.update(length.to_be_bytes());
        self.0.update(value.unwrap_or_default());
    }

    fn text(&mut self, value: Option<&str>) {
        self.bytes(value.map(str::as_bytes));
    }

    pub(crate) fn number(&mut self, value: Option<i64>) {
        self.bytes(value.map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice));
    }

    fn count(&mut self, value: usize) {
        self.0.update((value as u64).to_be_bytes());
    }

    fn time(&mut self, value: DateTime<Utc>) {
        self.number(Some(value.timestamp_micros()));
    }

    pub(crate) fn id(&mut self, value: Option<impl Into<Uuid>>) {
        let value: Option<Uuid> = value.map(Into::into);
        self.bytes(value.as_ref().map(|id| id.as_bytes().as_slice()));
    }

    /// Each kind of value has its own first word, and the keys of an object are sorted.
    fn json(&mut self, value: &Value) {
        match value {
            Value::Null => self.text(Some("null")),
            Value::Bool(value) => self.text(Some(if *value { "true" } else { "false" })),
            Value::Number(value) => {
                self.text(Some("number"));
                self.text(Some(&value.to_string()));
            }
            Value::String(value) => {
                self.text(Some("text"));
                self.text(Some(value));
            }
            Value::Array(items) => {
                self.text(Some("array"));
                self.count(items.len());
                for item in items {
                    self.json(item);
                }
            }
            Value::Object(fields) => {
                self.text(Some("object"));
                self.count(fields.len());
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_unstable_by_key(|(key, _)| *key);
                for (key, item) in sorted {
                    self.text(Some(key));
                    self.json(item);
                }
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.0.finalize().to_vec()
    }
}

#[cfg(test)]
mod tests;
