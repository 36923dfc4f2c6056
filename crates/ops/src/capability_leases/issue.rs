//! Issues leases.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use cynode_domain::ids::{CapabilityLeaseId, JobId, TaskId};
use cynode_lease::{DEFAULT_LIFETIME, LeaseClaims, LeasePublicKey, MAX_LIFETIME};
use cynode_resources::agents::AgentIdentity;
use cynode_resources::allowed_images::AllowedImages;
use cynode_resources::{Actor, ActorKind};
use cynode_store::{CapabilityLease, Node, Task, Tx};
use cynode_wire::capability_leases::{EDGE_FEATURE, NewCapabilityLeaseView};
use cynode_wire::nodes::Capabilities;

use super::{
    CapabilityLeases, EDGE_TOOLS, LEASE_RETENTION, LeasePolicy, LeaseServiceError,
    MAX_LEASES_OF_NODE, MAX_LEASES_OF_USER, lease_view,
};
use crate::sandboxes::{SandboxError, find_sandbox, job_image, lock_open_task};

/// A request for a lease.
#[derive(Debug, Clone)]
pub struct NewLease {
    pub task: TaskId,
    /// The sandbox, by the job that identifies it.
    pub sandbox: JobId,
    /// All tools that the caller may use there when absent.
    pub tools: Option<BTreeSet<String>>,
    /// In seconds; [`DEFAULT_LIFETIME`] when absent.
    pub lifetime_s: Option<u32>,
    /// The key that may narrow the lease.
    pub holder: Option<LeasePublicKey>,
}

impl CapabilityLeases {
    /// Issues a lease for a sandbox that is ready, to the worker node that has it.
    pub async fn issue(
        &self,
        identity: &AgentIdentity,
        policy: &dyn LeasePolicy,
        request: NewLease,
    ) -> Result<NewCapabilityLeaseView, LeaseServiceError> {
        let now = self.clock.now();
        let lifetime = request.lifetime_s.map_or(DEFAULT_LIFETIME.as_secs(), u64::from);
        if lifetime == 0 || lifetime > MAX_LIFETIME.as_secs() {
            let fault = format!("a lease lasts 1 to {} seconds", MAX_LIFETIME.as_secs());
            return Err(LeaseServiceError::Invalid(fault));
        }
        let (task, node, image) = self.find_sandbox_node(identity, &request).await?;
        let bound = bound_identity(identity, &task);
        let tools = permitted_tools(&bound, policy, request.tools)?;
        let end = now + TimeDelta::seconds(i64::try_from(lifetime).unwrap_or_default());
        let claims = LeaseClaims {
            id: CapabilityLeaseId::generate(),
            node_key: node_key(&node)?,
            caller: identity.agent,
            user: identity.user,
            groups: identity.groups.clone(),
            roles: identity.roles.clone(),
            project: task.spec.project,
            task: task.spec.id,
            sandbox: request.sandbox,
            tools,
            limits: task.spec.options.limits,
            image,
            has_repository: task.spec.options.repository.is_some(),
            issued_at: now,
            // Not longer than the token that asks for it.
            expires_at: identity.expires_at.map_or(end, |limit| limit.min(end)),
            holder: request.holder,
        };
        let invalid = |error: cynode_lease::InvalidLeaseKey| {
            LeaseServiceError::Key(std::io::Error::other(error))
        };
        let token = self.signing_key().await?.sign(&claims).map_err(invalid)?;
        let lease = CapabilityLease {
            id: claims.id,
            node: node.id,
            node_key: claims.node_key.clone(),
            token: identity.token_id,
            user: identity.user,
            claims: serde_json::to_value(&claims).unwrap_or_default(),
            issued_at: claims.issued_at,
            expires_at: claims.expires_at,
            revoked_at: None,
            revoked_reason: None,
        };
        let (row, slug) = (lease.clone(), node.slug.clone());
        let stored = self.store.write(move |tx| {
            Box::pin(async move {
                let (count, own) =
                    tx.capability_lease_count(&row.node_key, row.user, row.issued_at).await?;
                if count >= MAX_LEASES_OF_NODE || own >= MAX_LEASES_OF_USER {
                    return Err(LeaseServiceError::TooMany(slug));
                }
                tx.capability_lease_delete_expired(row.issued_at - LEASE_RETENTION).await?;
                Ok(tx.capability_lease_insert(&row).await?)
            })
        });
        stored.await?;
        Ok(NewCapabilityLeaseView { lease: lease_view(lease, claims, node.slug), token })
    }

    /// The open task, the node that has its sandbox, and the image of the sandbox.
    async fn find_sandbox_node(
        &self,
        identity: &AgentIdentity,
        request: &NewLease,
    ) -> Result<(Task, Node, Option<String>), LeaseServiceError> {
        let (caller, kind) = (identity.caller.clone(), actor_kind(identity));
        let (task, sandbox) = (request.task, request.sandbox);
        let found = self.store.write(move |tx| {
            Box::pin(async move {
                let actor = Actor { caller: &caller, kind };
                let (task, _) = lock_open_task(tx, actor, task).await?;
                let node = open_sandbox_node(tx, &task, sandbox).await?;
                let job = tx.job_get(sandbox).await?;
                let image = job_image(job.as_ref()).map(str::to_owned);
                let allowed = AllowedImages::load(tx).await?.check(tx, image.as_deref()).await?;
                allowed.map_err(|fault| LeaseServiceError::Invalid(fault.to_string()))?;
                Ok::<_, LeaseServiceError>((task, node, image))
            })
        });
        found.await
    }
}

async fn open_sandbox_node(tx: &mut Tx, task: &Task, id: JobId) -> Result<Node, LeaseServiceError> {
    let sandbox = find_sandbox(tx, task.spec.id, id).await?;
    if sandbox.destroyed_at.is_some() {
        return Err(SandboxError::Destroyed.into());
    }
    let node = match sandbox.node {
        Some(node) => tx.node_get(node).await?,
        None => None,
    };
    let node = node.ok_or(LeaseServiceError::NoNode(id))?;
    let capabilities = serde_json::from_value::<Capabilities>(node.capabilities.clone());
    let features = capabilities.map(|found| found.sandbox.features).unwrap_or_default();
    if features.iter().any(|feature| feature == EDGE_FEATURE) {
        Ok(node)
    } else {
        Err(LeaseServiceError::NoEdge(node.slug))
    }
}

pub(super) fn actor_kind(identity: &AgentIdentity) -> ActorKind {
    match identity.agent.agent() {
        Some(_) => ActorKind::Agent,
        None => ActorKind::Person,
    }
}

/// The key of the node, in base64, as the node itself knows it.
pub(super) fn node_key(node: &Node) -> Result<String, LeaseServiceError> {
    use base64::Engine as _;
    let key = node.public_key.as_ref();
    let key = key.ok_or_else(|| LeaseServiceError::NoEdge(node.slug.clone()))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(key))
}

/// The identity as it acts in the task.
pub(super) fn bound_identity(identity: &AgentIdentity, task: &Task) -> AgentIdentity {
    AgentIdentity { project: Some(task.spec.project), task: Some(task.spec.id), ..identity.clone() }
}

/// The requested tools, or all that the policy permits.
fn permitted_tools(
    identity: &AgentIdentity,
    policy: &dyn LeasePolicy,
    requested: Option<BTreeSet<String>>,
) -> Result<BTreeSet<String>, LeaseServiceError> {
    let is_permitted = |tool: &str| EDGE_TOOLS.contains(&tool) && policy.permits(identity, tool);
    let Some(requested) = requested else {
        let all: BTreeSet<_> =
            EDGE_TOOLS.iter().filter(|tool| is_permitted(tool)).map(ToString::to_string).collect();
        return if all.is_empty() {
            Err(LeaseServiceError::NotPermitted(
                EDGE_TOOLS.iter().map(ToString::to_string).collect(),
            ))
        } else {
            Ok(all)
        };
    };
    let refused: Vec<_> = requested.iter().filter(|tool| !is_permitted(tool)).cloned().collect();
    if requested.is_empty() {
        Err(LeaseServiceError::Invalid("name at least one tool".to_owned()))
    } else if refused.is_empty() {
        Ok(requested)
    } else {
        Err(LeaseServiceError::NotPermitted(refused))
    }
}
