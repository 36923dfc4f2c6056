//! Node administration: list, get, drain, enable, rotate the key, remove.

use chrono::{DateTime, Utc};
use cynode_domain::ids::NodeId;
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::NodeStatus;
use cynode_store::{AccessChange, Node, Tx};
use cynode_wire::nodes::{NewJoinTokenView, NodeView};

use super::join_tokens::{ROTATION_MINUTES, new_join_token, require_admin};
use super::{NodeError, NodeService, unassign_silent_jobs};
use cynode_resources::Caller;
use cynode_resources::signals::Topic;
use cynode_resources::{tokens::OpaqueToken, tokens::TokenKind};

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

    /// Revokes key and token of a node, for example because they were read by others, and returns the only join token
    /// that registers its next key. Jobs of its process count as interrupted when their leases expire.
    /// Administrators only.
    pub async fn rotate_key(
        &self,
        caller: &Caller,
        node: &NameOrId<NodeId>,
    ) -> Result<NewJoinTokenView, NodeError> {
        require_admin(caller)?;
        let (node, by, now) = (node.to_owned(), caller.clone(), self.clock.now());
        let view = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    // A registration with the old key must not overlap.
                    tx.node_registration_lock().await?;
                    let node = find_node(tx, &node).await?;
                    let slug = Some(node.slug.clone());
                    let (token, view) = new_join_token(&by, slug, ROTATION_MINUTES, now)?;
                    tx.node_revoke_key(&node, &unusable_hash()?).await?;
                    tx.join_token_insert(&token).await?;
                    record_change(tx, "node.rotate_key", &by, &node, now).await?;
                    Ok::<_, NodeError>(view)
                })
            })
            .await?;
        self.signals.send(Topic::Jobs);
        Ok(view)
    }

    /// Removes a node without open jobs; its key and token are revoked, and its name is free. Administrators only.
    pub async fn remove(&self, caller: &Caller, node: &NameOrId<NodeId>) -> Result<(), NodeError> {
        require_admin(caller)?;
        let (node, by, now) = (node.to_owned(), caller.clone(), self.clock.now());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.node_registration_lock().await?;
                    let id = find_node(tx, &node).await?.id;
                    // Assignments to the node wait for this transaction, or it sees their jobs.
                    tx.node_lock_process(id).await?;
                    let node = find_node(tx, &NameOrId::Id(id)).await?;
                    if node.open_jobs > 0 {
                        let (slug, open_jobs) = (node.slug, node.open_jobs);
                        return Err(NodeError::HasOpenJobs { slug, open_jobs });
                    }
                    tx.node_remove(&node, &unusable_hash()?).await?;
                    record_change(tx, "node.remove", &by, &node, now).await
                })
            })
            .await
    }

    async fn set_status(
        &self,
        caller: &Caller,
        node: &NameOrId<NodeId>,
        status: NodeStatus,
    ) -> Result<NodeView, NodeError> {
        require_admin(caller)?;
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

/// The hash of a token that is not kept.
fn unusable_hash() -> Result<Vec<u8>, NodeError> {
    Ok(OpaqueToken::generate(TokenKind::Node)?.hash())
}

async fn record_change(
    tx: &mut Tx,
    action: &'static str,
    by: &Caller,
    node: &Node,
    at: DateTime<Utc>,
) -> Result<(), NodeError> {
    let change = AccessChange {
        by: Some(by.user),
        action,
        resource_type: "node",
        resource: node.id.to_string(),
        allowed: true,
        reason: Some(format!("node \"{}\"", node.slug)),
        task: None,
        at,
    };
    Ok(tx.access_change_append(&change).await?)
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
        load: node.machine_load.and_then(|load| serde_json::from_value(load).ok()),
        incarnation: node.incarnation,
        last_seen_at: node.last_seen_at,
        created_at: node.created_at,
    })
}
