//! Chains of audit records that worker nodes seal.

use std::collections::BTreeMap;

use cynode_audit::{AuditKeys, AuditRecord, SignedClaim, SignedPosition};
use cynode_domain::ids::{CallId, ChainId};
use cynode_domain::policy::Effect;

use super::sql;
use crate::{Error, Tx};

/// The most calls of a chain without an outcome. A node has far fewer at once.
const MAX_OPEN_CALLS: usize = 1_000;

/// A record with the position and hash that its node gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct EdgeSealedRecord {
    pub seq: i64,
    pub hash: Vec<u8>,
    pub record: AuditRecord,
}

/// The outcome of storing records of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainExtension {
    /// The records up to this position are stored.
    Stored { seq: i64 },
    /// The records do not continue the chain, which is unchanged.
    Refused { reason: String },
}

impl Tx {
    /// Appends records that a node sealed to its chain, and signs the new head. Stored records are skipped, so that a batch
    /// may be repeated.
    ///
    /// Refuses gaps, hashes that the records do not have, and outcomes of calls that are not open in this chain: a node cannot
    /// write about calls of others.
    pub async fn edge_chain_extend(
        &mut self,
        chain: ChainId,
        keys: &AuditKeys,
        records: Vec<EdgeSealedRecord>,
    ) -> Result<ChainExtension, Error> {
        let refuse = |reason: String| Ok(ChainExtension::Refused { reason });
        sql::chain_ensure(self, chain, keys).await?;
        let (old, signature) = sql::chain_lock(self, chain).await?.ok_or(Error::Closed)?;
        let signed = SignedPosition { position: old.position(), signature };
        if !signed.is_signed(SignedClaim::Head, keys) {
            return refuse("the stored chain was modified outside CyNode".to_owned());
        }
        let open = sql::calls_open(self, chain, old.open_from).await?;
        let mut open: BTreeMap<CallId, i64> =
            open.into_iter().map(|(seq, call)| (call, seq)).collect();
        let stored = self.stored_hashes(chain, old.seq, &records).await?;
        let (mut new, mut sealed) = (old.clone(), vec![]);
        for EdgeSealedRecord { seq, hash, record } in records {
            if stored.get(&seq).is_some_and(|stored| *stored != hash) {
                return refuse(format!("record {seq} differs from the stored one"));
            }
            if seq <= old.seq {
                continue;
            }
            if seq != new.seq + 1 {
                return refuse(format!("record {} is missing before {seq}", new.seq + 1));
            }
            if open.len() > MAX_OPEN_CALLS {
                return refuse(format!("more than {MAX_OPEN_CALLS} calls have no outcome"));
            }
            match &record {
                AuditRecord::Call(call) if call.decision == Effect::Allow => {
                    open.insert(call.id, seq);
                }
                AuditRecord::Call(_) => {}
                AuditRecord::Outcome(outcome) if open.remove(&outcome.call).is_some() => {}
                AuditRecord::Outcome(_) | AuditRecord::Log(_) => {
                    return refuse(format!("record {seq} is not about an open call of the chain"));
                }
            }
            let seal = new.seal(&record);
            if seal.hash != hash {
                return refuse(format!("record {seq} does not have its hash"));
            }
            sealed.push((record, seal));
        }
        if !sealed.is_empty() {
            new.open_from = open.values().min().copied().unwrap_or(new.seq + 1);
            let signature = new.sign(keys);
            sql::chain_append(self, &old, &new, &signature, &sealed).await?;
        }
        Ok(ChainExtension::Stored { seq: new.seq })
    }

    /// The hashes of the records that are stored already; those that retention deleted are missing.
    async fn stored_hashes(
        &mut self,
        chain: ChainId,
        head: i64,
        records: &[EdgeSealedRecord],
    ) -> Result<BTreeMap<i64, Vec<u8>>, Error> {
        let first = records.first().map(|record| record.seq).filter(|first| *first <= head);
        let Some(first) = first else { return Ok(BTreeMap::new()) };
        let limit = u32::try_from(records.len()).unwrap_or(u32::MAX);
        let stored = self.chain_records(chain, first, limit).await?;
        Ok(stored.into_iter().map(|record| (record.seal.seq, record.seal.hash)).collect())
    }
}
