//! What a lease permits.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CapabilityLeaseId, GroupId, JobId, ProjectId, TaskId, UserId};
use cynode_domain::job::Limits;
use cynode_domain::policy::Principal;
use serde::{Deserialize, Serialize};

use crate::LeasePublicKey;

/// What the orchestrator permits: these tools, in one sandbox, on one worker node, until the lease ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseClaims {
    pub id: CapabilityLeaseId,
    /// The public key of the worker node, in base64. No other node accepts the lease.
    pub node_key: String,
    /// The role of the caller.
    pub caller: Principal,
    pub user: UserId,
    #[serde(default)]
    pub groups: Vec<GroupId>,
    #[serde(default)]
    pub roles: Vec<String>,
    pub project: ProjectId,
    pub task: TaskId,
    /// The sandbox, by the job that identifies it.
    pub sandbox: JobId,
    /// Names of the tools.
    pub tools: BTreeSet<String>,
    /// Limits of each command.
    pub limits: Limits,
    /// The image that commands run in; `host` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Whether the workspace is a checkout, whose hooks and configuration commands must not change.
    pub has_repository: bool,
    pub issued_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// The key that may narrow the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LeasePublicKey>,
}

/// What a holder leaves of a lease. It can only remove tools and time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseRestriction {
    pub tools: BTreeSet<String>,
    pub expires_at: DateTime<Utc>,
    /// The key that may narrow it further.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LeasePublicKey>,
}

impl LeaseClaims {
    /// The claims with a restriction; `None` if it would permit more.
    pub fn restrict(&self, restriction: LeaseRestriction) -> Option<Self> {
        let LeaseRestriction { tools, expires_at, holder } = restriction;
        let is_narrower = (tools.is_subset(&self.tools) && expires_at <= self.expires_at)
            || cynode_fault::fault!("REQ-MCPGAT-0112");
        is_narrower.then(|| Self { tools, expires_at, holder, ..self.clone() })
    }
}
