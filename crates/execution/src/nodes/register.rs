//! Node registration and authentication by node token.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::{IncarnationId, NodeId};
use cynode_domain::image_name::{MAX_NODE_IMAGES, check_image_name};
use cynode_domain::name::Slug;
use cynode_domain::node_labels::{NodeLabels, check_given};
use cynode_domain::status::NodeStatus;
use cynode_store::{Node, Tx};
use cynode_wire::nodes::{
    Capabilities, Incarnation, NodeKeyProof, RegisterNode, RegisteredView, registration_message,
};
use secrecy::ExposeSecret;
use serde_json::json;

use super::join_tokens::{JoinCredential, JoinPermission};
use super::{NodeError, NodeService, incarnation};
use cynode_resources::NodeCaller;
use cynode_resources::{tokens, tokens::OpaqueToken, tokens::TokenKind};

const MAX_CONCURRENCY: u32 = 256;
const MAX_VERSION_BYTES: usize = 64;

impl NodeService {
    /// Registers a node, or issues a new token to the node with that name and key; older tokens are revoked. Fails
    /// while another live process uses the name. A name is bound to the key that registered it first: a join token
    /// registers new names, never those of others.
    pub async fn register(
        &self,
        request: RegisterNode,
        credential: JoinCredential,
    ) -> Result<RegisteredView, NodeError> {
        validate_registration(&request)?;
        incarnation::validate_incarnation(&request.incarnation)?;
        let public_key = verify_proof(&request)?;
        let token = OpaqueToken::generate(TokenKind::Node)?;
        let node = Node {
            id: NodeId::generate(),
            slug: request.node_slug.clone(),
            status: NodeStatus::Registered,
            token_hash: token.hash(),
            public_key: Some(public_key),
            is_key_revoked: false,
            capabilities: json!(request.capabilities),
            sandbox_supported: request.capabilities.sandbox.supported,
            max_concurrency: request.capabilities.max_concurrency,
            machine_load: None,
            open_jobs: 0,
            incarnation: None,
            last_seen_at: None,
            created_at: self.clock.now(),
        };
        self.check_credential(&node, &credential).await?;
        let process = request.incarnation;
        let node_id = self
            .store
            .write(move |tx| {
                Box::pin(async move { register_node(tx, &node, &process, &credential).await })
            })
            .await?;
        Ok(RegisteredView { node_id, node_token: token.reveal().expose_secret().to_owned() })
    }

    /// Rejects a registration with neither a known key nor a known token, without a write transaction: any
    /// client that can connect may send one.
    async fn check_credential(
        &self,
        node: &Node,
        credential: &JoinCredential,
    ) -> Result<(), NodeError> {
        let JoinCredential::OneTime(hash) = credential else { return Ok(()) };
        let (hash, slug, key) = (hash.clone(), node.slug.clone(), node.public_key.clone());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    if tx.join_token_is_known(&hash).await? {
                        return Ok(());
                    }
                    let known = tx.node_by_slug(&slug).await?;
                    let is_own = known.is_some_and(|known| known.public_key == key);
                    if is_own { Ok(()) } else { Err(NodeError::BadJoinToken) }
                })
            })
            .await
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

/// Registers the node if its key or the credential allows it.
async fn register_node(
    tx: &mut Tx,
    node: &Node,
    process: &Incarnation,
    credential: &JoinCredential,
) -> Result<NodeId, NodeError> {
    tx.node_registration_lock().await?;
    let known = tx.node_by_slug(&node.slug).await?;
    let permission = match &known {
        Some(Node { public_key: Some(key), .. }) if Some(key) == node.public_key.as_ref() => {
            JoinPermission::OwnKey
        }
        Some(Node { public_key: Some(_), .. }) => {
            // Only a holder of a join token learns that the name is taken.
            credential.permit(tx, &node.slug, false, node.created_at).await?;
            return Err(NodeError::KeyMismatch(node.slug.clone()));
        }
        _ => {
            let is_key_revoked = known.as_ref().is_some_and(|known| known.is_key_revoked);
            credential.permit(tx, &node.slug, is_key_revoked, node.created_at).await?
        }
    };
    let id = tx.node_register(node).await?;
    if let JoinPermission::OneTime(token) = permission {
        tx.join_token_use(token, id, node.created_at).await?;
    }
    incarnation::start_incarnation(tx, id, &node.slug, process).await?;
    Ok(id)
}

/// Verifies the proof of a registration; returns the public key.
fn verify_proof(request: &RegisterNode) -> Result<Vec<u8>, NodeError> {
    let NodeKeyProof { public_key, signature } = &request.proof;
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| NodeError::BadProof);
    let (public_key, signature) = (decode(public_key)?, decode(signature)?);
    let message = registration_message(&request.node_slug, request.incarnation.id);
    UnparsedPublicKey::new(&ED25519, &public_key)
        .verify(message.as_bytes(), &signature)
        .map_err(|_| NodeError::BadProof)?;
    Ok(public_key)
}

/// What is wrong with the settings of a node.
pub(super) fn setting_faults(max_concurrency: u32, labels: &NodeLabels) -> Vec<String> {
    let mut faults = vec![];
    if !(1..=MAX_CONCURRENCY).contains(&max_concurrency) {
        faults.push(format!(
            "max_concurrency is {max_concurrency}; allowed is 1 to {MAX_CONCURRENCY}"
        ));
    }
    if let Err(error) = check_given(labels) {
        faults.push(format!("labels: {error}"));
    }
    faults
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
    let Capabilities { max_concurrency, labels, .. } = &request.capabilities;
    faults.extend(setting_faults(*max_concurrency, labels));
    let images = &request.capabilities.images;
    if images.len() > MAX_NODE_IMAGES {
        faults.push(format!("images has {} entries; allowed are {MAX_NODE_IMAGES}", images.len()));
    }
    faults.extend(images.iter().filter_map(|name| Some(check_image_name(name).err()?.to_string())));
    if request.capabilities.version.len() > MAX_VERSION_BYTES {
        faults.push(format!("version is longer than {MAX_VERSION_BYTES} bytes"));
    }
    if faults.is_empty() { Ok(()) } else { Err(NodeError::Invalid(faults)) }
}
