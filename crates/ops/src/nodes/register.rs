//! A node joins, and presents its token from then on.

use cynode_domain::ids::{IncarnationId, NodeId};
use cynode_domain::name::Slug;
use cynode_domain::status::NodeStatus;
use cynode_store::{Node, NodeStore};
use cynode_wire::nodes::{RegisterNode, RegisteredView};
use secrecy::ExposeSecret;
use serde_json::json;

use super::{NodeError, Nodes, tenure};
use crate::NodeCaller;
use crate::tokens::{self, Token, TokenKind};

const MAX_CONCURRENCY: u32 = 256;

impl Nodes {
    /// Adds a node, or gives the node with that name a new token; older tokens end. Rejected while
    /// another process works under that name.
    pub async fn register(&self, request: RegisterNode) -> Result<RegisteredView, NodeError> {
        check(&request)?;
        tenure::check(&request.incarnation)?;
        let token = Token::generate(TokenKind::Node)?;
        let node = Node {
            id: NodeId::generate(),
            slug: request.node_slug.clone(),
            status: NodeStatus::Registered,
            token_hash: token.hash(),
            capabilities: json!(request.capabilities),
            sandbox_supported: request.capabilities.sandbox.supported,
            max_concurrency: request.capabilities.max_concurrency,
            open_jobs: 0,
            incarnation: None,
            last_seen_at: None,
            created_at: self.clock.now(),
        };
        let node_id = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let id = tx.node_register(&node).await?;
                    tenure::begin(tx, (id, &request.node_slug), &request.incarnation).await?;
                    Ok::<_, NodeError>(id)
                })
            })
            .await?;
        Ok(RegisteredView { node_id, node_token: token.reveal().expose_secret().to_owned() })
    }

    /// Which node presents this token, in which of its processes.
    pub async fn authenticate(
        &self,
        token: &str,
        incarnation: IncarnationId,
    ) -> Result<NodeCaller, NodeError> {
        let hash = tokens::hash(token);
        let node = self
            .store
            .read(move |tx| {
                Box::pin(async move { Ok::<_, NodeError>(tx.node_by_token(&hash).await?) })
            })
            .await?;
        let node = node.ok_or(NodeError::BadToken)?;
        Ok(NodeCaller { node: node.id, slug: node.slug, incarnation })
    }
}

fn check(request: &RegisterNode) -> Result<(), NodeError> {
    let mut faults = vec![];
    let slug = &request.node_slug;
    if !Slug::normalise(slug).is_ok_and(|normal| normal.as_str() == slug) {
        faults.push("node_slug may hold lowercase letters, digits and single dashes".to_owned());
    }
    if slug.parse::<NodeId>().is_ok() {
        faults.push("node_slug looks like an id: choose a name".to_owned());
    }
    let concurrency = request.capabilities.max_concurrency;
    if !(1..=MAX_CONCURRENCY).contains(&concurrency) {
        faults.push(format!("max_concurrency is {concurrency}; allowed is 1 to {MAX_CONCURRENCY}"));
    }
    if faults.is_empty() { Ok(()) } else { Err(NodeError::Invalid(faults)) }
}
