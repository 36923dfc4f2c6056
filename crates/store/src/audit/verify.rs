//! Whether the audit log is what its writers wrote.
//!
//! Finds a record that was edited, removed, moved, put in, or cut off at the end. Somebody who can
//! rewrite a whole chain with all its hashes cannot be found out from the database alone: for that,
//! keep a chain's head somewhere else and compare.

use cynode_domain::ids::ChainId;

use super::chain::{ChainHead, Sealed};
use super::{AuditStore, sql};
use crate::{Error, Store, Tx};

/// Records read at a time: a verification never holds up writers for long.
const PAGE: u32 = 2000;
/// Faults told for one chain; more add nothing.
const MAX_FAULTS: usize = 100;

/// What a verification found in one chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// The chain.
    pub chain: ChainId,
    /// Records looked at.
    pub records: u64,
    /// The place of the newest record.
    pub seq: i64,
    /// The hash of the newest record.
    pub hash: Vec<u8>,
    /// What is wrong, in the order of the chain.
    pub faults: Vec<String>,
}

/// Looks at every record of every chain.
pub async fn verify(store: &Store) -> Result<Vec<ChainReport>, Error> {
    let (chains, strays) = store
        .read(|tx| {
            Box::pin(async move {
                let chains = tx.chain_list().await?;
                let strays = tx.chain_strays().await?;
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
    let mut walk: Option<Walk> = None;
    loop {
        let from = walk.as_ref().map(|walk| walk.seq);
        // One view of the data, so that the head belongs to the records that are read with it.
        let (start, page, head) =
            store.read(move |tx| Box::pin(async move { read_page(tx, chain, from).await })).await?;
        let is_last = page.len() < PAGE as usize;
        let walk = walk.get_or_insert_with(|| Walk::from(start));
        for record in &page {
            walk.step(record);
        }
        if is_last {
            return Ok(walk.end(chain, head));
        }
    }
}

type Start = (i64, Vec<u8>);

async fn read_page(
    tx: &mut Tx,
    chain: ChainId,
    from: Option<i64>,
) -> Result<(Start, Vec<Sealed>, Option<ChainHead>), Error> {
    let anchor = tx.chain_anchor(chain).await?;
    let start = anchor.unwrap_or_else(|| (0, ChainHead::new(chain).hash));
    // Records before the anchor ought to be gone; reading from the beginning finds them.
    let page = tx.chain_records(chain, from.unwrap_or(i64::MIN), PAGE).await?;
    Ok((start, page, sql::chain_get(tx, chain).await?))
}

/// A way along one chain.
struct Walk {
    seq: i64,
    hash: Vec<u8>,
    records: u64,
    faults: Vec<String>,
}

impl From<Start> for Walk {
    fn from((seq, hash): Start) -> Self {
        Self { seq, hash, records: 0, faults: vec![] }
    }
}

impl Walk {
    fn step(&mut self, sealed: &Sealed) {
        let seal = &sealed.seal;
        self.records += 1;
        let is_next = seal.seq == self.seq + 1;
        if seal.seq <= self.seq {
            self.fault(format!("record {} was put in: that place was taken", seal.seq));
        } else if !is_next {
            self.fault(format!("records {} to {} are missing", self.seq + 1, seal.seq - 1));
        }
        match &sealed.record {
            Err(error) => self.fault(format!("record {} was edited: {error}", seal.seq)),
            Ok(record) if !seal.fits(record) => {
                self.fault(format!("record {} was edited: its hash does not fit", seal.seq));
            }
            Ok(_) if is_next && seal.prev_hash != self.hash => {
                self.fault(format!("record {} does not follow the one before it", seal.seq));
            }
            Ok(_) => {}
        }
        (self.seq, self.hash) = (seal.seq.max(self.seq), seal.hash.clone());
    }

    fn end(&mut self, chain: ChainId, head: Option<ChainHead>) -> ChainReport {
        match head {
            None => self.fault("the chain itself was removed during the verification".to_owned()),
            Some(head) if head.seq > self.seq => {
                self.fault(format!("records {} to {} are missing", self.seq + 1, head.seq));
            }
            Some(head) if head.seq < self.seq => {
                self.fault(format!("records {} to {} were put in", head.seq + 1, self.seq));
            }
            Some(head) if head.hash != self.hash => {
                self.fault(format!("record {} is not the one that was written last", head.seq));
            }
            Some(_) => {}
        }
        let faults = std::mem::take(&mut self.faults);
        let hash = std::mem::take(&mut self.hash);
        ChainReport { chain, records: self.records, seq: self.seq, hash, faults }
    }

    fn fault(&mut self, fault: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        }
    }
}
