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
        if records.is_empty() {
            return self.find_edge_chain(chain, node_key).await;
        }
        let (slug, key) = (node_slug.to_owned(), node_key.to_owned());
        let keys = self.keys.clone();
        let extended = self.store.write(move |tx| {
            Box::pin(async move {
                if !tx.edge_chain_bind(chain, &slug, &key).await? {
                    return Ok(refuse_chain(chain));
                }
                tx.edge_chain_extend(chain, &keys, records).await
            })
        });
        Ok(extended.await?)
    }

    /// What is stored of a chain. One that has no record yet does not exist.
    async fn find_edge_chain(
        &self,
        chain: ChainId,
        node_key: &str,
    ) -> Result<ChainExtension, AuditError> {
        let key = node_key.to_owned();
        let found = self.store.read(move |tx| {
            Box::pin(async move {
                let Some((head, _)) = tx.chain_get(chain).await? else {
                    return Ok(ChainExtension::Stored { seq: 0 });
                };
                let is_own = tx.edge_chain_is_bound(chain, &key).await?;
                Ok::<_, cynode_store::Error>(if is_own {
                    ChainExtension::Stored { seq: head.seq }
                } else {
                    refuse_chain(chain)
                })
            })
        });
        Ok(found.await?)
    }
}

fn refuse_chain(chain: ChainId) -> ChainExtension {
    let reason = format!("chain {chain} belongs to another writer, or the node has begun too many");
    ChainExtension::Refused { reason }
}
