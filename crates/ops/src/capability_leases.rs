//! Capability leases: what an agent on the host of a worker node may do there without asking the orchestrator each time.
//!
//! Start at [`CapabilityLeases::issue`]. The policy decides when a lease is issued, and again each time the node reports
//! ([`EdgeSync::sync`]): a lease that the policy, the task, the sandbox or the token no longer permits is revoked, and the node
//! learns it with the reply. The node sends the audit records of its calls with the same request.
//!
//! Invariant: a record of a node is stored only if it is about a lease that was issued for this node, with the caller of that
//! lease. What a node claims about a caller never counts.

mod issue;
mod key_file;
mod manage;
mod records;
mod sync;

use std::path::PathBuf;
use std::sync::Arc;

use chrono::TimeDelta;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::JobId;
use cynode_lease::LeaseClaims;
use cynode_resources::PageError;
use cynode_resources::agents::AgentIdentity;
use cynode_resources::audit::{AuditError, AuditLog};
use cynode_runtime::clock::SharedClock;
use cynode_store::{CapabilityLease, Store};
use cynode_wire::capability_leases::CapabilityLeaseView;

use crate::sandboxes::SandboxError;

pub use issue::NewLease;
pub use sync::EdgeSync;

/// The tools that a node can serve under a lease.
pub use cynode_wire::capability_leases::EDGE_TOOLS;

/// The most leases of a node that have not ended, and of one user among them.
const MAX_LEASES_OF_NODE: i64 = 200;
const MAX_LEASES_OF_USER: i64 = 50;
/// How long a lease is kept after its end, for records that arrive late.
const LEASE_RETENTION: TimeDelta = TimeDelta::days(90);

/// Decides whether a caller may call a tool, without arguments. Implemented by the gateway.
pub trait LeasePolicy: Send + Sync {
    fn permits(&self, identity: &AgentIdentity, tool: &str) -> bool;
}

/// Errors of lease operations.
#[derive(Debug, thiserror::Error)]
pub enum LeaseServiceError {
    #[error("there is no such lease")]
    NotFound,
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error("{0}")]
    Invalid(String),
    #[error("these tools are not permitted: {}", .0.join(", "))]
    NotPermitted(Vec<String>),
    #[error("the sandbox {0} has no worker node yet: wait until it is ready")]
    NoNode(JobId),
    #[error("the worker node \"{0}\" serves no tools under leases: start it with --edge")]
    NoEdge(String),
    #[error("the worker node \"{0}\" has too many leases that have not ended")]
    TooMany(String),
    /// The records of a node do not fit the stored ones.
    #[error("the audit records of this node are refused: {0}")]
    RecordsRefused(String),
    #[error("the key of leases cannot be used: {0}")]
    Key(#[source] std::io::Error),
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error(transparent)]
    Audit(#[from] AuditError),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for LeaseServiceError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound => Classification::new(ErrorClass::NotFound, self),
            Self::NotAdmin | Self::NotPermitted(_) => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::NoNode(_) | Self::NoEdge(_) | Self::TooMany(_) | Self::RecordsRefused(_) => {
                Classification::new(ErrorClass::Conflict, self)
            }
            Self::Key(_) => Classification::internal(),
            Self::Sandbox(error) => error.classify(),
            Self::Audit(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Issues, lists and revokes leases. Cheap to clone.
#[derive(Clone)]
pub struct CapabilityLeases {
    store: Store,
    clock: SharedClock,
    audit: AuditLog,
    key_file: Arc<PathBuf>,
}

/// A stored lease with what it permits; `None` if its claims cannot be read.
fn stored_claims(lease: &CapabilityLease) -> Option<LeaseClaims> {
    let claims = serde_json::from_value(lease.claims.clone());
    if let Err(error) = &claims {
        tracing::warn!(lease.id = %lease.id, %error, "claims of a lease cannot be read");
    }
    claims.ok()
}

fn lease_view(
    lease: CapabilityLease,
    claims: LeaseClaims,
    node_slug: String,
) -> CapabilityLeaseView {
    CapabilityLeaseView {
        id: lease.id,
        node_id: lease.node,
        node_slug,
        caller: claims.caller,
        user_id: lease.user,
        task_id: claims.task,
        job_id: claims.sandbox,
        tools: claims.tools,
        issued_at: lease.issued_at,
        expires_at: lease.expires_at,
        revoked_at: lease.revoked_at,
        revoked_reason: lease.revoked_reason,
    }
}
