//! Verification of a chain, page by page.

use cynode_domain::ids::ChainId;
use cynode_store::{
    AuditKeys, ChainPosition, ChainReport, ChainVerifier, Error, KnownPosition, SealedRecord,
    SignedPosition, Store, Tx,
};

/// Records per page: short reads do not block writers for long.
const PAGE: u32 = 2000;

/// A part of a chain, from one snapshot: the head belongs to the records that are read with it.
struct ChainPage {
    anchor: Option<SignedPosition>,
    records: Vec<SealedRecord>,
    is_last: bool,
    head: Option<SignedPosition>,
}

/// Verifies a chain, which must contain the `known` positions.
pub async fn verify_chain(
    store: &Store,
    chain: ChainId,
    known: Vec<KnownPosition>,
    keys: &AuditKeys,
) -> Result<ChainReport, Error> {
    // Records before the anchor should be deleted; reading from the start detects leftovers.
    let mut page = read_store_page(store, chain, i64::MIN).await?;
    let first = ChainPosition::start(chain);
    let mut verifier = ChainVerifier::after_anchor(first, page.anchor.as_ref(), known, keys);
    loop {
        for SealedRecord { seal, record } in &page.records {
            verifier.check_record(seal, record.as_ref().map_err(ToString::to_string));
        }
        if page.is_last {
            return Ok(verifier.finish(page.head.as_ref(), keys));
        }
        page = read_store_page(store, chain, verifier.position().seq + 1).await?;
        if let Some(anchor) = &page.anchor {
            // Retention may have deleted records meanwhile.
            verifier.skip_to(anchor, keys);
        }
    }
}

async fn read_store_page(store: &Store, chain: ChainId, from: i64) -> Result<ChainPage, Error> {
    store.read(move |tx| Box::pin(async move { read_page(tx, chain, from).await })).await
}

async fn read_page(tx: &mut Tx, chain: ChainId, from: i64) -> Result<ChainPage, Error> {
    let anchor = tx.chain_anchor(chain).await?;
    let records = tx.chain_records(chain, from, PAGE).await?;
    let head = tx.chain_get(chain).await?;
    let head =
        head.map(|(head, signature)| SignedPosition { position: head.position(), signature });
    Ok(ChainPage { anchor, is_last: records.len() < PAGE as usize, records, head })
}
