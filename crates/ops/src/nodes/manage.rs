//! What people do with nodes: look at them, drain them, put them back to work.

use cynode_domain::ids::NodeId;
use cynode_domain::name::kept_spelling;
use cynode_domain::status::NodeStatus;
use cynode_store::{Node, NodeStore, Tx};
use cynode_wire::nodes::NodeView;

use super::{NodeError, Nodes, take_back};
use crate::Caller;
use crate::signals::Topic;

impl Nodes {
    /// Every node, by name.
    pub async fn list(&self) -> Result<Vec<NodeView>, NodeError> {
        let nodes = self
            .store
            .read(|tx| Box::pin(async move { Ok::<_, NodeError>(tx.node_list().await?) }))
            .await?;
        nodes.into_iter().map(view).collect()
    }

    /// A node, by id or name.
    pub async fn get(&self, node: &str) -> Result<NodeView, NodeError> {
        let node = node.to_owned();
        self.store.read(move |tx| Box::pin(async move { view(find(tx, &node).await?) })).await
    }

    /// How many nodes are polling.
    pub async fn count_active(&self) -> Result<i64, NodeError> {
        let nodes = self.list().await?;
        let active = nodes.iter().filter(|node| node.status == NodeStatus::Active);
        Ok(i64::try_from(active.count()).unwrap_or(i64::MAX))
    }

    /// Lets a node finish what it has and gives it nothing new. Administrators only.
    pub async fn drain(&self, caller: &Caller, node: &str) -> Result<NodeView, NodeError> {
        self.set_status(caller, node, NodeStatus::Drained).await
    }

    /// Puts a node back to work. Administrators only.
    pub async fn enable(&self, caller: &Caller, node: &str) -> Result<NodeView, NodeError> {
        self.set_status(caller, node, NodeStatus::Active).await
    }

    async fn set_status(
        &self,
        caller: &Caller,
        node: &str,
        status: NodeStatus,
    ) -> Result<NodeView, NodeError> {
        if !caller.is_admin {
            return Err(NodeError::NotAdmin);
        }
        let (node, placing) = (node.to_owned(), self.placer.placing());
        let (changed, asked) = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let node = find(tx, &node).await?;
                    let mut asked = vec![];
                    if node.status != status {
                        let status = node.status.advance(status)?;
                        tx.node_set_status(node.id, status).await?;
                        // What a drained node has not begun goes to another.
                        take_back(tx).await?;
                        asked = placing.assign(tx).await?.asked;
                    }
                    Ok::<_, NodeError>((view(Node { status, ..node })?, asked))
                })
            })
            .await?;
        self.placer.ask(asked);
        self.signals.send(Topic::Jobs);
        Ok(changed)
    }
}

async fn find(tx: &mut Tx, wanted: &str) -> Result<Node, NodeError> {
    let found = match wanted.parse::<NodeId>() {
        Ok(id) => tx.node_get(id).await?,
        Err(_) => tx.node_by_slug(&kept_spelling(wanted)).await?,
    };
    found.ok_or_else(|| NodeError::NotFound(wanted.chars().take(100).collect()))
}

fn view(node: Node) -> Result<NodeView, NodeError> {
    let capabilities = serde_json::from_value(node.capabilities).map_err(|error| {
        let (column, reason) = ("capabilities".to_owned(), error.to_string());
        cynode_store::Error::Unreadable { column, reason }
    })?;
    Ok(NodeView {
        id: node.id,
        node_slug: node.slug,
        status: node.status,
        capabilities,
        running_jobs: node.open_jobs,
        incarnation: node.incarnation,
        last_seen_at: node.last_seen_at,
        created_at: node.created_at,
    })
}
