//! Node administration: list, get, drain and enable.

use cynode_domain::ids::NodeId;
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::NodeStatus;
use cynode_store::{Node, Tx};
use cynode_wire::nodes::NodeView;

use super::{NodeError, NodeService, unassign_silent_jobs};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;

impl NodeService {
    /// Lists every node, by name.
    pub async fn list(&self) -> Result<Vec<NodeView>, NodeError> {
        let nodes = self
            .store
            .read(|tx| Box::pin(async move { Ok::<_, NodeError>(tx.node_list().await?) }))
            .await?;
        nodes.into_iter().map(node_view).collect()
    }

    /// Returns a node, by id or name.
    pub async fn get(&self, node: &NameOrId<NodeId>) -> Result<NodeView, NodeError> {
        let node = node.to_owned();
        self.store
            .read(move |tx| Box::pin(async move { node_view(find_node(tx, &node).await?) }))
            .await
    }

    /// Counts the active nodes.
    pub async fn count_active(&self) -> Result<i64, NodeError> {
        let nodes = self.list().await?;
        let active = nodes.iter().filter(|node| node.status == NodeStatus::Active);
        Ok(i64::try_from(active.count()).unwrap_or(i64::MAX))
    }

    /// Drains a node: it finishes its jobs and gets no new ones. Administrators only.
    pub async fn drain(
        &self,
        caller: &Caller,
        node: &NameOrId<NodeId>,
    ) -> Result<NodeView, NodeError> {
        self.set_status(caller, node, NodeStatus::Drained).await
    }

    /// Makes a drained node schedulable again. Administrators only.
    pub async fn enable(
        &self,
        caller: &Caller,
        node: &NameOrId<NodeId>,
    ) -> Result<NodeView, NodeError> {
        self.set_status(caller, node, NodeStatus::Active).await
    }

    async fn set_status(
        &self,
        caller: &Caller,
        node: &NameOrId<NodeId>,
        status: NodeStatus,
    ) -> Result<NodeView, NodeError> {
        if !caller.is_admin {
            return Err(NodeError::NotAdmin);
        }
        let (node, placing) = (node.to_owned(), self.placer.assignment_pass());
        let (changed, awaiting_placement) = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let node = find_node(tx, &node).await?;
                    let mut awaiting_placement = vec![];
                    if node.status != status {
                        let status = node.status.advance(status)?;
                        tx.node_set_status(node.id, status).await?;
                        // Jobs that a drained node has not started go to another node.
                        unassign_silent_jobs(tx).await?;
                        awaiting_placement = placing.assign(tx).await?.awaiting_placement;
                    }
                    Ok::<_, NodeError>((node_view(Node { status, ..node })?, awaiting_placement))
                })
            })
            .await?;
        self.placer.ask(awaiting_placement);
        self.signals.send(Topic::Jobs);
        Ok(changed)
    }
}

async fn find_node(tx: &mut Tx, name_or_id: &NameOrId<NodeId>) -> Result<Node, NodeError> {
    let found = match name_or_id {
        NameOrId::Id(id) => tx.node_get(*id).await?,
        NameOrId::Name(name) => tx.node_by_slug(&lookup_name(name)).await?,
    };
    found.ok_or_else(|| NodeError::NotFound(name_or_id.excerpt()))
}

fn node_view(node: Node) -> Result<NodeView, NodeError> {
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
