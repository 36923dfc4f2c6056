//! Node registration and authentication by node token.

use cynode_domain::ids::{IncarnationId, NodeId};
use cynode_domain::name::Slug;
use cynode_domain::status::NodeStatus;
use cynode_store::Node;
use cynode_wire::nodes::{RegisterNode, RegisteredView};
use secrecy::ExposeSecret;
use serde_json::json;

use super::{NodeError, NodeService, incarnation};
use cynode_resources::NodeCaller;
use cynode_resources::{tokens, tokens::OpaqueToken, tokens::TokenKind};

const MAX_CONCURRENCY: u32 = 256;

impl NodeService {
    /// Registers a node, or issues a new token to the node with that name; older tokens are revoked. Fails while
    /// another live process uses the name.
    pub async fn register(&self, request: RegisterNode) -> Result<RegisteredView, NodeError> {
        validate_registration(&request)?;
        incarnation::validate_incarnation(&request.incarnation)?;
        let token = OpaqueToken::generate(TokenKind::Node)?;
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
                    incarnation::start_incarnation(
                        tx,
                        id,
                        &request.node_slug,
                        &request.incarnation,
                    )
                    .await?;
                    Ok::<_, NodeError>(id)
                })
            })
            .await?;
        Ok(RegisteredView { node_id, node_token: token.reveal().expose_secret().to_owned() })
    }

    /// Authenticates a node by its token, for the given incarnation.
    pub async fn authenticate(
        &self,
        token: &str,
        incarnation: IncarnationId,
    ) -> Result<NodeCaller, NodeError> {
        let hash = tokens::hash_token(token);
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

fn validate_registration(request: &RegisterNode) -> Result<(), NodeError> {
    let mut faults = vec![];
    let slug = &request.node_slug;
    if !Slug::normalise(slug).is_ok_and(|normal| normal.as_str() == slug) {
        faults.push("node_slug may contain lowercase letters, digits and single dashes".to_owned());
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
