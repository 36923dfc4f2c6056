//! Audit records of tool calls that worker nodes decided.

use cynode_domain::ids::ChainId;
use cynode_store::{ChainExtension, EdgeSealedRecord};

use super::{AuditError, AuditLog};

impl AuditLog {
    /// Stores records of a node, whose chain its key began. The records are durable when this returns.
    pub async fn extend_edge_chain(
        &self,
        chain: ChainId,
        node_slug: &str,
        node_key: &str,
        records: Vec<EdgeSealedRecord>,
    ) -> Result<ChainExtension, AuditError> {
        let (slug, key) = (node_slug.to_owned(), node_key.to_owned());
        let keys = self.keys.clone();
        let extended = self.store.write(move |tx| {
            Box::pin(async move {
                // A chain begins with its first record.
                if records.is_empty() && tx.chain_get(chain).await?.is_none() {
                    return Ok(ChainExtension::Stored { seq: 0 });
                }
                if !tx.edge_chain_bind(chain, &slug, &key).await? {
                    let reason = format!(
                        "chain {chain} belongs to another writer, or the node has begun too many"
                    );
                    return Ok(ChainExtension::Refused { reason });
                }
                tx.edge_chain_extend(chain, &keys, records).await
            })
        });
        Ok(extended.await?)
    }
}
