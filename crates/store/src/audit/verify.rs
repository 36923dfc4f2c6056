//! Verification of the audit log.
//!
//! Detects records that were edited, deleted, moved, inserted, or truncated at the end. A rewrite of a whole
//! chain including its hashes cannot be detected from the database alone: store the head of a chain elsewhere
//! and compare.

use cynode_audit::ChainHead;
use cynode_domain::ids::ChainId;

use super::{SealedRecord, sql};
use crate::{Error, Store, Tx};

/// Records per page: short reads do not block writers for long.
const PAGE: u32 = 2000;
/// The most faults reported per chain.
const MAX_FAULTS: usize = 100;

/// The result of verifying one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    pub chain: ChainId,
    /// Records checked.
    pub records: u64,
    /// The position of the newest record.
    pub seq: i64,
    pub hash: Vec<u8>,
    /// The faults, in the order of the chain.
    pub faults: Vec<String>,
}

/// Verifies every record of every chain.
pub async fn verify(store: &Store) -> Result<Vec<ChainReport>, Error> {
    let (chains, strays) = store
        .read(|tx| {
            Box::pin(async move {
                let chains = tx.chain_list().await?;
                let strays = tx.chain_list_unregistered().await?;
                Ok::<_, Error>((chains, strays))
            })
        })
        .await?;
    let mut reports = vec![];
    for head in chains {
        reports.push(verify_chain(store, head.chain).await?);
    }
    for chain in strays {
        let faults = vec!["records of a chain that no writer began".to_owned()];
        reports.push(ChainReport { chain, records: 0, seq: 0, hash: vec![], faults });
    }
    Ok(reports)
}

async fn verify_chain(store: &Store, chain: ChainId) -> Result<ChainReport, Error> {
    let mut walk: Option<ChainVerifier> = None;
    loop {
        let from = walk.as_ref().map(|walk| walk.seq);
        // One snapshot, so the head belongs to the records that are read with it.
        let (start, page, head) =
            store.read(move |tx| Box::pin(async move { read_page(tx, chain, from).await })).await?;
        let is_last = page.len() < PAGE as usize;
        let walk = walk.get_or_insert_with(|| ChainVerifier::from(start));
        for record in &page {
            walk.check_record(record);
        }
        if is_last {
            return Ok(walk.finish(chain, head));
        }
    }
}

type ChainStart = (i64, Vec<u8>);

async fn read_page(
    tx: &mut Tx,
    chain: ChainId,
    from: Option<i64>,
) -> Result<(ChainStart, Vec<SealedRecord>, Option<ChainHead>), Error> {
    let anchor = tx.chain_anchor(chain).await?;
    let start = anchor.unwrap_or_else(|| (0, ChainHead::new(chain).hash));
    // Records before the anchor should be deleted; reading from the start detects leftovers.
    let page = tx.chain_records(chain, from.unwrap_or(i64::MIN), PAGE).await?;
    Ok((start, page, sql::chain_get(tx, chain).await?))
}

/// A pass over one chain.
struct ChainVerifier {
    seq: i64,
    hash: Vec<u8>,
    records: u64,
    faults: Vec<String>,
}

impl From<ChainStart> for ChainVerifier {
    fn from((seq, hash): ChainStart) -> Self {
        Self { seq, hash, records: 0, faults: vec![] }
    }
}

impl ChainVerifier {
    fn check_record(&mut self, sealed: &SealedRecord) {
        let seal = &sealed.seal;
        self.records += 1;
        let is_next = seal.seq == self.seq + 1;
        if seal.seq <= self.seq {
            self.add_fault(format!("record {} was inserted: its position was taken", seal.seq));
        } else if !is_next {
            self.add_fault(format!("records {} to {} are missing", self.seq + 1, seal.seq - 1));
        }
        match &sealed.record {
            Err(error) => self.add_fault(format!("record {} was edited: {error}", seal.seq)),
            Ok(record) if !seal.matches(record) => {
                self.add_fault(format!("record {} was edited: its hash does not fit", seal.seq));
            }
            Ok(_) if is_next && seal.prev_hash != self.hash => {
                self.add_fault(format!("record {} does not follow the one before it", seal.seq));
            }
            Ok(_) => {}
        }
        (self.seq, self.hash) = (seal.seq.max(self.seq), seal.hash.clone());
    }

    fn finish(&mut self, chain: ChainId, head: Option<ChainHead>) -> ChainReport {
        match head {
            None => {
                self.add_fault("the chain itself was removed during the verification".to_owned());
            }
            Some(head) if head.seq > self.seq => {
                self.add_fault(format!("records {} to {} are missing", self.seq + 1, head.seq));
            }
            Some(head) if head.seq < self.seq => {
                self.add_fault(format!("records {} to {} were inserted", head.seq + 1, self.seq));
            }
            Some(head) if head.hash != self.hash => {
                self.add_fault(format!(
                    "record {} is not the last record that was written",
                    head.seq
                ));
            }
            Some(_) => {}
        }
        let faults = std::mem::take(&mut self.faults);
        let hash = std::mem::take(&mut self.hash);
        ChainReport { chain, records: self.records, seq: self.seq, hash, faults }
    }

    fn add_fault(&mut self, fault: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }
}
